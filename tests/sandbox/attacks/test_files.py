"""Files outside of the roots: whatever way is tried, they stay as they are (cases 1-17)."""

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.attacks.ground import Runner, World, Worlds, attack, names, snapshot

CHANGES = r"""
attempt("write", lambda: spill(victim()))
attempt("append", lambda: spill(victim(), mode="a"))
attempt("open rw", lambda: os.close(os.open(victim(), os.O_RDWR)))
attempt("truncate on open", lambda: os.close(os.open(victim(), os.O_RDONLY | os.O_TRUNC)))
attempt("truncate", lambda: os.truncate(victim(), 0))
attempt("create", lambda: spill(OUT + "/new"))
attempt("tmpfile", lambda: os.close(os.open(OUT, os.O_TMPFILE | os.O_RDWR)))
attempt("unlink", lambda: os.unlink(victim()))
attempt("mkdir", lambda: os.mkdir(OUT + "/new folder"))
attempt("rmdir", lambda: os.rmdir(OUT + "/empty"))
attempt("symlink", lambda: os.symlink("/", OUT + "/new link"))
attempt("fifo made", lambda: os.mkfifo(OUT + "/new fifo"))
attempt("rename outside", lambda: os.rename(victim(), OUT + "/renamed"))
attempt("rename out to in", lambda: os.rename(victim(), ROOT + "/taken"))
spill(ROOT + "/a"), spill(ROOT + "/b"), spill(ROOT + "/c")
attempt("rename in to out", lambda: os.rename(ROOT + "/a", victim()))
attempt("exchange", lambda: checked(libc.renameat2(-100, (ROOT + "/b").encode(), -100, victim().encode(), 2)))
attempt("link out to in", lambda: os.link(victim(), ROOT + "/linked"))
attempt("link in to out", lambda: os.link(ROOT + "/c", OUT + "/new name"))
def by_descriptor():
    fd = os.open(victim(), os.O_RDONLY)
    checked(libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, (ROOT + "/linked too").encode(), 0x400))
attempt("link a descriptor", by_descriptor)
os.symlink(OUT, ROOT + "/door")
os.symlink(victim(), ROOT + "/window")
attempt("through a link to a folder", lambda: spill(ROOT + "/door/v%02d" % (counter[0] + 1)))
counter[0] += 1
attempt("through a link to a file", lambda: spill(ROOT + "/window"))
attempt("through /proc/self/root", lambda: spill("/proc/self/root" + victim()))
attempt("through /proc/thread-self/root", lambda: spill("/proc/thread-self/root" + victim()))
attempt("through /proc/self/task", lambda: spill("/proc/self/task/%d/root" % os.getpid() + victim()))
def by_cwd():
    os.chdir(ROOT)
    spill("/proc/self/cwd/../out/" + os.path.basename(victim()))
attempt("through /proc/self/cwd", by_cwd)
def reopened():
    fd = os.open(victim(), os.O_RDONLY)
    spill("/proc/self/fd/%d" % fd)
attempt("a descriptor opened again", reopened)
def opened_by_path():
    fd = os.open(victim(), os.O_PATH)
    spill("/dev/fd/%d" % fd)
attempt("a path descriptor opened", opened_by_path)
def below():
    fd = os.open(OUT, os.O_RDONLY)
    os.close(os.open(os.path.basename(victim()), os.O_WRONLY, dir_fd=fd))
attempt("below a descriptor", below)
def upwards():
    fd = os.open(ROOT, os.O_RDONLY)
    os.close(os.open("../out/" + os.path.basename(victim()), os.O_WRONLY, dir_fd=fd))
attempt("up from the root", upwards)
def mapped():
    fd = os.open(victim(), os.O_RDWR)
    mmap.mmap(fd, 4)[:4] = b"evil"
attempt("mapped", mapped)
attempt("chmod", lambda: os.chmod(victim(), 0o777))
def on_reader(call):
    fd = os.open(victim(), os.O_RDONLY)
    call(fd)
attempt("fchmod", lambda: on_reader(lambda fd: os.fchmod(fd, 0o777)))
attempt("chmod by /proc", lambda: on_reader(lambda fd: os.chmod("/proc/self/fd/%d" % fd, 0o777)))
attempt("chown", lambda: os.chown(victim(), os.getuid(), os.getgid()))
attempt("fchown", lambda: on_reader(lambda fd: os.fchown(fd, os.getuid(), os.getgid())))
attempt("utime", lambda: os.utime(victim(), (1, 1)))
attempt("futimens", lambda: on_reader(lambda fd: os.utime(fd, (1, 1))))
attempt("setxattr", lambda: os.setxattr(victim(), b"user.evil", b"1"))
attempt("fsetxattr", lambda: on_reader(lambda fd: os.setxattr(fd, b"user.evil", b"1")))
def set_flags(fd):
    (had,) = struct.unpack("l", fcntl.ioctl(fd, 0x80086601, bytes(8)))
    fcntl.ioctl(fd, 0x40086602, struct.pack("l", had | 0x40))
attempt("set flags", lambda: on_reader(set_flags))
attempt("fifo written", lambda: os.close(os.open(OUT + "/fifo", os.O_RDWR | os.O_NONBLOCK)))
attempt("folder chmod", lambda: os.chmod(OUT + "/folder", 0o777))
attempt("folder renamed", lambda: os.rename(OUT + "/folder", ROOT + "/folder"))
"""


def test_nothing_outside_can_be_changed(worlds: Worlds) -> None:
    """Cases 1-5, and 38 ways to say it."""
    world, _ = attack(worlds, CHANGES)
    assert names(world.root) == {"mine", "a", "b", "c", "door", "window"}
    assert not (world.root / "door").is_file()


def test_the_root_cannot_be_left_behind(worlds: Worlds) -> None:
    """The root itself stays in its place, and what is above it stays as it is."""
    code = r"""
attempt("rename the root", lambda: os.rename(ROOT, ROOT + "2"))
attempt("beside the root", lambda: os.mkdir(os.path.dirname(ROOT) + "/beside"))
attempt("chmod above", lambda: os.chmod(os.path.dirname(ROOT), 0o777))
"""
    world, _ = attack(worlds, code)
    assert sorted(path.name for path in world.base.iterdir()) == ["out", "work"]


def test_read_only_is_read_only(worlds: Worlds) -> None:
    """Case 36: any write, the root's too, is denied; a private /tmp is not."""
    code = r"""
attempt("write in the root", lambda: spill(ROOT + "/mine"))
attempt("create in the root", lambda: spill(ROOT + "/new"))
attempt("chmod in the root", lambda: os.chmod(ROOT + "/mine", 0o777))
attempt("write outside", lambda: spill(victim()))
"""
    world, _ = attack(worlds, code, name="read-only")
    assert (world.root / "mine").read_text() == "mine\n"
    found = world.python("attempt('tmp', lambda: spill('/tmp/x'))", name="read-only")
    assert found.results == {"tmp": "ok"}


def test_devices_are_not_reached(world: World) -> None:
    """Case 8: no device is made, and those of the machine are not there."""
    code = r"""
attempt("make char", lambda: os.mknod(ROOT + "/c", 0o20666, os.makedev(1, 3)))
attempt("make block", lambda: os.mknod(ROOT + "/b", 0o60666, os.makedev(7, 0)))
attempt("make whiteout", lambda: os.mknod(ROOT + "/w", 0o20666, 0))
attempt("make in tmp", lambda: os.mknod("/tmp/c", 0o20666, os.makedev(1, 3)))
for name in ("vda", "sda", "loop0", "mem", "kmsg", "kvm", "fuse", "vsock", "loop-control", "userfaultfd", "net/tun"):
    attempt("/dev/" + name, lambda: os.close(os.open("/dev/" + name, os.O_RDONLY)))
attempt("make in /dev", lambda: spill("/dev/new"))
attempt("remove from /dev", lambda: os.unlink("/dev/null"))
for name in ("null", "zero", "full", "random", "urandom", "tty"):
    attempt("chmod /dev/" + name, lambda: os.chmod("/dev/" + name, os.stat("/dev/" + name).st_mode & 0o777))
"""
    before = {name: os.stat(f"/dev/{name}") for name in ("null", "zero", "full", "random", "urandom", "tty")}
    assert not world.python(code).made
    assert names(world.root) == {"mine"}
    for name, facts in before.items():
        now = os.stat(f"/dev/{name}")
        assert (now.st_mode, now.st_ino, now.st_ctime_ns) == (facts.st_mode, facts.st_ino, facts.st_ctime_ns)


def test_standard_input_leads_to_no_device_of_the_machine(world: World) -> None:
    """What a command has as its input when none is given must not be the machine's own /dev/null."""
    code = r"""
facts = os.fstat(0)
mode = facts.st_mode & 0o777
attempt("fchmod", lambda: os.fchmod(0, mode))
attempt("chmod", lambda: os.chmod("/proc/self/fd/0", mode))
attempt("chown", lambda: os.fchown(0, os.getuid(), os.getgid()))
attempt("utime", lambda: os.utime(0, ns=(facts.st_atime_ns, facts.st_mtime_ns)))
"""
    before = os.stat("/dev/null")
    found = world.python(code)
    assert not found.made, found.made
    now = os.stat("/dev/null")
    assert (now.st_ctime_ns, now.st_mtime_ns) == (before.st_ctime_ns, before.st_mtime_ns)


def test_a_device_that_lies_elsewhere_is_void(world: World) -> None:
    """Raw disks show what deny_read hides, so a node outside of /dev must not work."""
    if os.getuid() != 0:
        pytest.skip("only root makes devices")
    node = world.out / "zero"
    os.mknod(node, 0o20666, os.makedev(1, 5))
    inner = world.root / "zero"
    os.mknod(inner, 0o20666, os.makedev(1, 5))
    world.own()
    code = (
        'attempt("in", lambda: open(ROOT + "/zero", "rb"))\nattempt("out", lambda: open(OUT + "/zero", "rb"))'
    )
    assert world.python(code, boxed=False).results == {"in": "ok", "out": "ok"}
    assert not world.python(code).made


def test_the_kernel_cannot_be_configured(world: World) -> None:
    """Case 9: /proc/sys, /sys and cgroups cannot be written, even by root without capabilities."""
    code = r"""
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/core_uses_pid", "/proc/sys/vm/overcommit_memory",
             "/proc/sys/kernel/pid_max", "/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/ns_last_pid",
             "/proc/sys/net/ipv4/ip_forward", "/proc/sysrq-trigger", "/proc/self/oom_score_adj", "/proc/self/uid_map",
             "/proc/self/comm", "/proc/self/mem", "/proc/1/oom_score_adj", "/proc/self/coredump_filter",
             "/proc/self/timerslack_ns", "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/module/printk/parameters/time"):
    attempt(path, lambda: os.close(os.open(path, os.O_WRONLY)))
for folder, _, files in os.walk("/sys/fs/cgroup"):
    for name in files:
        if name in ("cgroup.procs", "tasks", "release_agent", "notify_on_release", "cgroup.kill"):
            attempt(folder + "/" + name, lambda: os.close(os.open(folder + "/" + name, os.O_WRONLY)))
attempt("new cgroup", lambda: os.mkdir("/sys/fs/cgroup/evil"))
"""
    assert not world.python(code).made


def test_what_may_not_be_read(worlds: Worlds) -> None:
    """Case 12: neither directly, nor by links, copies, descriptors, or /proc."""
    secret = "the secret of the file"

    def prepared() -> World:
        world = worlds()
        (world.out / "folder" / "inner").write_text(secret)
        (world.root / "sub").mkdir()
        (world.root / "sub" / ".env").write_text(secret)
        (world.root / "sub" / "link").symlink_to(world.out / "folder" / "inner")
        world.own()
        return world

    code = r"""
def reads(path):
    with open(path) as file:
        if "secret" not in file.read():
            raise OSError(errno.EACCES, "nothing there")
attempt("directly", lambda: reads(OUT + "/folder/inner"))
attempt("file", lambda: reads(ROOT + "/sub/.env"))
attempt("by a link", lambda: reads(ROOT + "/sub/link"))
attempt("by /proc/self/root", lambda: reads("/proc/self/root" + OUT + "/folder/inner"))
attempt("by ..", lambda: reads(ROOT + "/../out/folder/inner"))
def copied():
    import shutil
    shutil.copytree(OUT, "/tmp/copy%d" % os.getpid(), ignore=lambda *_: ["fifo"])
    reads("/tmp/copy%d/folder/inner" % os.getpid())
attempt("copied", copied)
attempt("listed", lambda: os.listdir(OUT + "/folder"))
attempt("opened", lambda: on_folder())
def on_folder():
    fd = os.open(OUT + "/folder", os.O_PATH)
    os.close(os.open("inner", os.O_RDONLY, dir_fd=fd))
attempt("below a descriptor", on_folder)
def linked():
    os.link(ROOT + "/sub/.env", ROOT + "/alias")
    reads(ROOT + "/alias")
attempt("hard link", linked)
def moved():
    os.rename(ROOT + "/sub/.env", ROOT + "/moved")
    reads(ROOT + "/moved")
attempt("renamed", moved)
"""
    free = prepared()
    found = free.python(code, boxed=False).results
    assert {name for name, word in found.items() if word != "ok"} <= {"opened"}
    world = prepared()
    before = snapshot(world.base)
    denied = world.python(code, deny_read=[str(world.out / "folder"), "sub/.env"])
    assert not denied.made
    assert snapshot(world.base) == before


def test_a_hidden_file_stays_hidden_when_its_folder_is_renamed(
    warm: World, new_runner: Callable[[], Runner]
) -> None:
    """A command must not be able to carry what is hidden to where the next one looks."""
    (warm.root / "sub").mkdir()
    (warm.root / "sub" / ".env").write_text("the secret")
    warm.own()
    first = warm.python(
        "attempt('mv', lambda: os.rename(ROOT + '/sub', ROOT + '/other'))", deny_read=["sub/.env"]
    )
    code = "print(open(ROOT + '/other/.env').read() if os.path.exists(ROOT + '/other/.env') else '')"
    for runner in (warm.runner, new_runner()):  # one that remembers what it hid, and one that does not
        warm.runner = runner
        second = warm.python(code, deny_read=["sub/.env"])
        assert "the secret" not in second.out, first.results


def test_a_hidden_file_stays_hidden_when_the_host_replaces_it(warm: World) -> None:
    """Programs replace credentials by renaming a new file over the old: the warm box must notice."""
    secret = warm.out / "v01"
    secret.write_text("the old secret")
    code = "print(open(OUT + '/v01').read())"
    assert "secret" in warm.python(code, boxed=False).out
    assert "secret" not in warm.python(code, deny_read=[str(secret)]).out
    (warm.out / "new").write_text("the new secret")
    warm.own()
    (warm.out / "new").rename(secret)
    assert "secret" not in warm.python(code, deny_read=[str(secret)]).out


def test_secrets_of_the_home_are_hidden_by_default(world: World) -> None:
    """What people keep in ~/.ssh and the like cannot be read, whoever asks."""
    home = world.runner.home
    for name in (".ssh/id", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".docker/config.json"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("the secret")
        for path in (home / name, (home / name).parent):
            os.chown(path, world.runner.uid, world.runner.uid)
    code = r"""
for name in (".ssh/id", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".docker/config.json"):
    print(open(ARGS["home"] + "/" + name).read() if os.access(ARGS["home"] + "/" + name, os.R_OK) else "-")
"""
    assert world.python(code, boxed=False, args={"home": str(home)}).out.count("the secret") == 5
    assert world.python(code, args={"home": str(home)}).out.count("the secret") == 0


@pytest.mark.skipif(not os.access("/etc/shadow", os.R_OK), reason="it is hidden from us anyway")
def test_the_passwords_of_the_system_are_hidden_by_default(world: World) -> None:
    """Root in a container reads them; root in a box does not."""
    code = """
try:
    print(len(open("/etc/shadow").read()))
except OSError:
    print(0)
"""
    assert world.python(code).out.strip() == "0"


def test_a_hard_link_made_before_is_reported(world: World) -> None:
    """Case 7: no box can see it; so the plan says so."""
    os.link(world.out / "v01", world.root / "alias")
    from agent_exec.sandbox.plan.plan import make_plan
    from agent_exec.sandbox.profile import Profile

    plan = make_plan(Profile("workspace-write", [str(world.root)]), home="/root")
    assert any("alias" in words for words in plan.unenforced)


def test_private_tmp(world: World) -> None:
    """Case 14: nothing of the machine's is seen in it, nothing of the box's gets out, and it is bounded."""
    with (
        tempfile.NamedTemporaryFile(dir="/tmp") as file,
        tempfile.NamedTemporaryFile(dir="/dev/shm") as memory,
    ):
        code = r"""
for path in ("/tmp", "/var/tmp", "/dev/shm"):
    say("seen " + path, os.listdir(path))
    attempt("use " + path, lambda: spill(path + "/attack-mine"))
def fill(path, most):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    os.posix_fallocate(fd, 0, most)
attempt("fill tmp", lambda: fill("/tmp/big", 9 << 20))
attempt("fill var tmp", lambda: fill("/var/tmp/big", 9 << 20))
attempt("fill shm", lambda: fill("/dev/shm/big", 300 << 20))
say("entries", max(os.statvfs(path).f_files for path in ("/tmp", "/var/tmp")))
attempt("fill dev", lambda: fill("/dev/big", 1))
"""
        found = world.python(code, tmp_mb=8).results
        assert Path(file.name).exists()
        assert Path(memory.name).exists()
    assert {found[f"seen {path}"] for path in ("/tmp", "/var/tmp", "/dev/shm")} == {"[]"}
    assert {found[f"use {path}"] for path in ("/tmp", "/var/tmp", "/dev/shm")} == {"ok"}
    assert {found[name] for name in ("fill tmp", "fill var tmp", "fill shm")} == {"ENOSPC"}
    assert found["fill dev"] != "ok"
    for path in ("/tmp", "/var/tmp", "/dev/shm"):
        assert not Path(path, "attack-mine").exists()
    if world.runner.backend == "ns":  # for the other one, this is among what is not enforced
        assert int(found["entries"]) <= 1 << 16, "a million empty files cost memory that no size bounds"


def test_a_workspace_below_tmp(warm: World) -> None:
    """Case 15: it can be written to, is not emptied, and its neighbours are hidden."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        base = Path(name)
        root = base / "deep" / "work"
        (root / "sub").mkdir(parents=True)
        (root / "sub" / "old").write_text("old")
        (base / "neighbour").write_text("secret")
        for path in (base, root, root.parent, root / "sub", root / "sub" / "old", base / "neighbour"):
            os.chown(path, warm.runner.uid, warm.runner.uid)
        profile = {"name": "workspace-write", "roots": [str(root)]}
        code = r"""
attempt("write", lambda: spill(ARGS["work"] + "/new"))
attempt("neighbour", lambda: open(ARGS["work"] + "/../../neighbour"))
spill("/tmp/leftover")
"""
        arguments = {"work": str(root)}
        found = warm.python(code, profile=profile, args=arguments, cwd=str(root)).results
        assert found == {"write": "ok", "neighbour": "ENOENT"}
        again = warm.python("say('tmp', os.listdir('/tmp'))", profile=profile, cwd=str(root)).results
        assert "leftover" not in again["tmp"]
        assert (root / "sub" / "old").read_text() == "old"
        assert (root / "new").read_text() == "evil"
        read = {"name": "read-only", "roots": [str(root)]}
        assert warm.python("print(open('new').read())", profile=read, cwd=str(root)).out == "evil\n"
        # What holds the root in the private /tmp must not be a way to put a fake in its place.
        fake = r"""
attempt("move above", lambda: os.rename(ARGS["base"], "/tmp/elsewhere"))
os.makedirs(ARGS["work"], exist_ok=True)
"""
        warm.python(fake, profile=profile, args={"work": str(root), "base": str(base)}, cwd=str(root))
        after = warm.python("print(open('new').read())", profile=profile, cwd=str(root))
        assert (after.error, after.out) == ("", "evil\n")


def test_what_must_work(world: World) -> None:
    """Cases 16 and 17: a box that hinders honest work would be switched off."""
    subprocess.run(["git", "init", "-q", str(world.root / "nested" / "repo")], check=True)
    world.own()
    code = r"""
os.makedirs(ROOT + "/many/a/b")
for number in range(1000):
    spill(ROOT + "/many/a/%d" % number)
attempt("rename folders", lambda: os.rename(ROOT + "/many/a", ROOT + "/many/c"))
attempt("link across folders", lambda: os.link(ROOT + "/many/c/1", ROOT + "/nested/linked"))
attempt("rename across folders", lambda: os.rename(ROOT + "/many/c/2", ROOT + "/nested/moved"))
attempt("rename up", lambda: os.rename(ROOT + "/nested/moved", ROOT + "/moved"))
attempt("beside a repository", lambda: spill(ROOT + "/nested/repo/file"))
for path in ("/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/null"):
    attempt(path, lambda: spill(path, ""))
attempt("openpty", lambda: os.openpty())
attempt("socketpair", lambda: socket.socketpair())
attempt("chmod", lambda: os.chmod(ROOT + "/mine", 0o755))
attempt("fifo", lambda: os.mkfifo(ROOT + "/fifo"))
attempt("fork", lambda: os.waitpid(os.spawnlp(os.P_NOWAIT, "true", "true"), 0))
import threading
thread = threading.Thread(target=lambda: say("thread", "ok"))
thread.start(); thread.join()
attempt("semaphore", lambda: checked(-1 if libc.sem_open(b"/attack", os.O_CREAT, 0o600, 1) == 0 else 0))
"""
    found = world.python(code).results
    assert {name: word for name, word in found.items() if word != "ok"} == {}
    shell = world.python("attempt('tty', lambda: spill('/dev/tty', 'x'))", tty=True)
    assert "tty\tok" in shell.out
