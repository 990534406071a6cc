"""The kernel's own doors: namespaces, mounts, other processes' memory, odd numbers of calls (cases 49-54)."""

import os
import platform
import signal

import pytest

from agent_exec.sandbox.linux.calls import machine, table
from agent_exec.sandbox.linux.seccomp import REFUSED
from sandbox.attacks.ground import World

HARMLESS = r"""
# Called with arguments that no kernel accepts: who is refused hears EPERM, who is heard anything else.
for name, number in sorted(ARGS["calls"].items()):
    pid = os.fork()
    if pid == 0:
        attempt(name, lambda: syscall(number, -1, -1, -1, -1, -1, -1))
        os._exit(0)
    os.waitpid(pid, 0)
"""
_DIRECT = {"reboot", "umount2", "swapoff", "kexec_load", "iopl", "ioperm", "syslog", "acct", "sethostname"}


def test_calls_that_no_command_needs(world: World) -> None:
    """Case 52: each is refused before the kernel looks at its arguments."""
    numbers = table(machine())
    calls = {name: numbers[name] for name in REFUSED if name in numbers}
    found = world.python(HARMLESS, args={"calls": calls}).results
    assert found.keys() == calls.keys()
    assert {name: word for name, word in found.items() if word != "EPERM"} == {}
    if world.runner.uid == 0:
        tried = {name: number for name, number in calls.items() if name not in _DIRECT}
        free = world.python(HARMLESS, boxed=False, args={"calls": tried}).results
        heard = {name for name, word in free.items() if word != "EPERM"}
        assert {"bpf", "keyctl", "userfaultfd", "io_uring_setup", "mount", "pidfd_getfd", "ptrace"} <= heard


def test_numbers_from_elsewhere(world: World) -> None:
    """Numbers of x32, above the newest, and of calls whose flags a filter cannot see."""
    code = r"""
for name, number in ARGS["calls"].items():
    attempt("x32 " + name, lambda: syscall(0x40000000 | number, -1, -1, -1, -1, -1, -1))
for number in (435, 437, 470, 471, 500, 512, 520, 547, 0x3FFFFFFF, 0x40000000, 0x7FFFFFFF):
    attempt("number %d" % number, lambda: syscall(number, 0, 0, 0, 0, 0, 0))
"""
    numbers = table(machine())
    found = world.python(code, args={"calls": numbers}).results
    assert {name: word for name, word in found.items() if word != "ENOSYS"} == {}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="an instruction of x86")
def test_calls_of_another_architecture(world: World) -> None:
    """A call by int 0x80 has other numbers, and is the end of who makes it."""
    code = r"""
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # getpid
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
pid = os.fork()
if pid == 0:
    os._exit(0 if call() > 0 else 1)
say("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    if world.python(code, boxed=False).results != {"status": "0"}:
        pytest.skip("this kernel has no calls of 32 bits")
    assert world.python(code).results == {"status": str(-signal.SIGSYS)}


NAMESPACES = r"""
def in_child(call):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            call()
            os.write(writer, b"0")
        except OSError as problem:
            os.write(writer, str(problem.errno).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    number = int(os.read(reader, 10) or b"999")
    if number:
        raise OSError(number, "")
for name, flag in (("user", 0x10000000), ("mount", 0x20000), ("net", 0x40000000), ("pid", 0x20000000), ("ipc", 0x8000000),
                   ("uts", 0x4000000), ("cgroup", 0x2000000), ("user and mount", 0x10020000)):
    attempt("unshare " + name, lambda: in_child(lambda: checked(libc.unshare(flag))))
def cloned(flags):
    pid = syscall(ARGS["clone"], flags | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
attempt("clone user", lambda: cloned(0x10000000))
attempt("clone user, high bits", lambda: cloned(0x7F00000000 | 0x10000000))
def cloned3():
    data = struct.pack("11Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
    pid = syscall(435, data, len(data))
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
attempt("clone3 user", cloned3)
attempt("setns", lambda: in_child(lambda: checked(libc.setns(os.open("/proc/self/ns/uts", os.O_RDONLY), 0))))
"""


def test_no_namespaces_below(world: World) -> None:
    """Case 51: nobody gets capabilities back where the kernel thinks they are harmless."""
    args = {"clone": table(machine())["clone"]}
    free = world.python(NAMESPACES, boxed=False, args=args).made
    assert {"unshare user", "clone user", "clone3 user"} <= free.keys()
    assert not world.python(NAMESPACES, args=args).made


def test_mounts_stay(world: World) -> None:
    """Case 51: no mount, no change of one, no other root, no file by its handle."""
    code = r"""
def mount(source, target, kind, flags, data=None):
    checked(libc.mount(source, target, kind, ctypes.c_ulong(flags), data))
os.mkdir(ROOT + "/m")
target, root = (ROOT + "/m").encode(), ROOT.encode()
attempt("bind", lambda: mount(b"/", target, None, 4096))
attempt("remount /", lambda: mount(None, b"/", None, 32 | 4096))
attempt("remount /proc", lambda: mount(None, b"/proc", None, 32 | 4096))
attempt("tmpfs", lambda: mount(b"x", target, b"tmpfs", 0))
attempt("proc", lambda: mount(b"x", target, b"proc", 0))
attempt("overlay", lambda: mount(b"x", target, b"overlay", 0, b"lowerdir=/,upperdir=/tmp/u,workdir=/tmp/w"))
attempt("umount /proc", lambda: checked(libc.umount2(b"/proc", 2)))
attempt("umount /tmp", lambda: checked(libc.umount2(b"/tmp", 2)))
attempt("umount the root", lambda: checked(libc.umount2(root, 2)))
attempt("umount protected", lambda: checked(libc.umount2(root + b"/.git", 2)))
attempt("chroot", lambda: os.chroot(ROOT))
attempt("pivot_root", lambda: checked(libc.pivot_root(root, target)))
def by_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii128x", 128, 0))
    number = ctypes.c_int()
    checked(libc.name_to_handle_at(-100, (OUT + "/v01").encode(), handle, ctypes.byref(number), 0))
    at = os.open(OUT, os.O_RDONLY)
    os.close(checked(libc.open_by_handle_at(at, handle, os.O_RDONLY)))
attempt("handle", by_handle)
"""
    (world.root / ".git").mkdir()
    world.own()
    assert not world.python(code).made
    if world.runner.uid == 0:
        control = code[code.index("def by_handle") :]
        assert world.python(control, boxed=False).made


def test_no_rights_anywhere(world: World) -> None:
    """Case 54: no capability, no new privilege, a filter, in every descendant; set-id programs gain nothing."""
    code = r"""
def status(path):
    with open(path) as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
found = status("/proc/self/status")
import subprocess
below = subprocess.run(["/bin/sh", "-c", "setsid -w cat /proc/self/status"], capture_output=True, text=True).stdout
other = dict(line.split(":\t", 1) for line in below.splitlines() if ":\t" in line)
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"):
    say(name, found[name] + " " + other[name])
say("pid 1", " ".join(status("/proc/1/status")[name] for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp")))
uid = os.getuid()
attempt("setuid", lambda: os.setuid(1234))
attempt("setgroups", lambda: os.setgroups([0]))
attempt("setresuid", lambda: os.setresuid(uid, 1, 1))
spill(ROOT + "/tool", "#!/bin/sh")
for mode in (0o4755, 0o2755, 0o6755, 0o1004755):
    attempt("chmod %o" % mode, lambda: os.chmod(ROOT + "/tool", mode))
attempt("fchmod", lambda: os.fchmod(os.open(ROOT + "/tool", os.O_RDONLY), 0o4755))
attempt("fchmodat2", lambda: syscall(452, -100, (ROOT + "/tool").encode(), 0o4755, 0))
attempt("open", lambda: os.close(os.open(ROOT + "/tool2", os.O_CREAT | os.O_WRONLY, 0o4755)))
attempt("open tmpfile", lambda: os.close(os.open(ROOT, os.O_TMPFILE | os.O_WRONLY, 0o4755)))
attempt("mkdir", lambda: syscall(ARGS["mkdirat"], -100, (ROOT + "/d").encode(), 0o2755))
attempt("file capability", lambda: os.setxattr(ROOT + "/tool", b"security.capability", struct.pack("<IIIII", 0x2000001, 1, 0, 0, 0)))
attempt("keep capabilities", lambda: checked(libc.prctl(8, 1, 0, 0, 0)))
attempt("ambient", lambda: checked(libc.prctl(47, 2, 21, 0, 0)))
attempt("personality", lambda: checked(libc.personality(0x0040000)))
"""
    found = world.python(code, args={"mkdirat": table(machine())["mkdirat"]}).results
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert found.pop(name) == "0000000000000000 0000000000000000", name
    assert found.pop("NoNewPrivs") == "1 1"
    assert {int(word) for word in found.pop("Seccomp").split()} == {2}
    assert found.pop("pid 1") == "0000000000000000 0000000000000000 0000000000000000 1 2"
    # bubblewrap does not lock the bits; without a capability to keep, keeping means nothing.
    harmless = {"keep capabilities"} if world.runner.backend == "bwrap" else set()
    assert {name for name, word in found.items() if word == "ok"} <= harmless
    assert (world.root / "tool").stat().st_mode & 0o7000 == 0


REACHING = r"""
target = ARGS.get("target") or os.getpid()
child = 0
if ARGS["own child"]:
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    target = child
address = ctypes.create_string_buffer(b"precious")
def vector():
    return struct.pack("QQ", ctypes.addressof(address), 8)
attempt("process_vm_readv", lambda: syscall(ARGS["calls"]["process_vm_readv"], target, vector(), 1, vector(), 1, 0))
attempt("process_vm_writev", lambda: syscall(ARGS["calls"]["process_vm_writev"], target, vector(), 1, vector(), 1, 0))
attempt("ptrace seize", lambda: syscall(ARGS["calls"]["ptrace"], 0x4206, target, 0, 0))
def stolen():
    fd = syscall(434, target, 0)
    os.close(syscall(ARGS["calls"]["pidfd_getfd"], fd, 0, 0))
attempt("pidfd_getfd", stolen)
attempt("kcmp", lambda: syscall(ARGS["calls"]["kcmp"], os.getpid(), target, 0, 0, 0))
new = struct.pack("QQ", 100, 100)
attempt("prlimit", lambda: syscall(ARGS["calls"]["prlimit64"], target, 7, new, 0))
if child:
    os.kill(child, 9)
"""


def _reaching() -> dict[str, int]:
    wanted = ("process_vm_readv", "process_vm_writev", "ptrace", "pidfd_getfd", "kcmp", "prlimit64")
    return {name: number for name, number in table(machine()).items() if name in wanted}


def test_no_reaching_into_other_processes(world: World) -> None:
    """Case 49: not even into one's own children, and not into the first process of the box."""
    if world.runner.uid == 0:
        free = world.python(REACHING, boxed=False, args={"calls": _reaching(), "own child": True})
        assert {name for name, word in free.results.items() if word != "ok"} == set()
    assert not world.python(REACHING, args={"calls": _reaching(), "own child": True}).made
    assert not world.python(REACHING, args={"calls": _reaching(), "own child": False, "target": 1}).made


def test_the_first_process_keeps_its_secrets(world: World) -> None:
    """Case 49: its memory, descriptors, environment and places are closed; it has the control socket."""
    code = r"""
def reads(path):
    with open(path, "rb") as file:
        if not file.read(100):
            raise OSError(errno.EACCES, "nothing there")
P = "/proc/%d/" % ARGS["target"]
for name in ("environ", "mem", "maps", "smaps", "auxv", "stack", "syscall", "io"):
    attempt(name, lambda: reads(P + name))
for name in ("root", "cwd", "exe", "fd/0", "fd/3", "ns/net", "ns/user", "ns/mnt"):
    attempt(name, lambda: os.readlink(P + name))
for number in range(3, 30):
    attempt("fd %d" % number, lambda: os.close(os.open(P + "fd/%d" % number, os.O_RDWR)))
attempt("task mem", lambda: reads(P + "task/%d/mem" % ARGS["target"]))
attempt("task environ", lambda: reads(P + "task/%d/environ" % ARGS["target"]))
attempt("map_files", lambda: os.listdir(P + "map_files"))
attempt("through root", lambda: os.listdir(P + "root/"))
attempt("through cwd", lambda: os.listdir(P + "cwd/"))
"""
    free = world.python(code, boxed=False, args={"target": world.runner.process.pid}).made
    assert {"environ", "maps", "root", "fd/0"} <= free.keys()
    assert not world.python(code, args={"target": 1}).made


def test_secrets_of_the_caller_are_nowhere(world: World) -> None:
    """Nothing in the box holds what the caller has in its environment and its scrubbed names."""
    code = r"""
found = [name for name, value in os.environ.items() if "secret-of-the-caller" in value]
for name in os.listdir("/proc"):
    if name.isdigit():
        for file in ("environ", "cmdline"):
            try:
                with open("/proc/%s/%s" % (name, file), "rb") as opened:
                    if b"-of-the-caller" in opened.read() and int(name) != os.getpid():
                        found.append(name + file)
            except OSError:
                pass
say("found", found)
say("pids", sorted(int(name) for name in os.listdir("/proc") if name.isdigit()))
"""
    free = world.python(code, boxed=False).results
    assert "AGENT_EXEC_TEST_SECRET" in free["found"]
    found = world.python(code).results
    assert found["found"] == "[]"
    pids = found["pids"].strip("[]").split(", ")
    assert len(pids) == 2
    assert pids[0] == "1"


def test_only_three_descriptors(world: World) -> None:
    """Case 55: nothing of the helper's is open in a command, least of all its control socket."""
    code = r"""
say("fds", {name: os.readlink("/proc/self/fd/" + name).split(":")[0] for name in sorted(os.listdir("/proc/self/fd"))[:-1]})
"""
    found = world.python(code).results["fds"]
    assert found == "{'0': '/dev/null', '1': 'pipe', '2': 'pipe'}"
    on_terminal = world.python(code, tty=True).out
    assert "'0': '/dev/pts/" in on_terminal
    assert "socket" not in on_terminal
    assert "'3'" not in on_terminal


def test_terminals_of_others(world: World) -> None:
    """Another terminal of the same user is not there, and nothing can be typed into one's own."""
    master, slave = os.openpty()
    try:
        name = os.ttyname(slave)
        os.chown(name, world.runner.uid, -1)
        os.set_blocking(master, False)
        code = r"""
def visible():
    with open(ARGS["tty"], "w") as file:
        file.write("evil")
attempt("write", visible)
"""
        assert world.python(code, boxed=False, args={"tty": name}).made
        assert os.read(master, 100) == b"evil"
        assert not world.python(code, args={"tty": name}).made
        with pytest.raises(BlockingIOError):
            os.read(master, 100)
    finally:
        os.close(master)
        os.close(slave)
    typing = r"""
for name, number in (("TIOCSTI", 0x5412), ("TIOCLINUX", 0x541C), ("TIOCSETD", 0x5423), ("TIOCSTI high", 0x100005412)):
    attempt(name, lambda: checked(libc.ioctl(0, ctypes.c_ulong(number), b"\x01")))
"""
    found = world.python(typing, tty=True)
    assert "TIOCSTI\tEPERM" in found.out
    assert "\tok" not in found.out
