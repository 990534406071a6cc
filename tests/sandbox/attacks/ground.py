"""Where attacks take place: a user who runs commands, victims outside, a workspace, and what is tried."""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import agent_exec
from support import processes_marked, wait_until

HERE = Path(__file__).parent
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or ""
"""An interpreter that everybody may run; ours may lie in somebody's home."""

NOBODY = 65534
SHARED = "shared"
"""The backend `ns` with boxes that share one loopback."""
VICTIMS = 60

MODULES = "ctypes errno fcntl json mmap os signal socket stat struct sys time".split()
PRELUDE = r"""
libc = ctypes.CDLL(None, use_errno=True)
ARGS = eval(sys.argv[1], {"true": True, "false": False, "null": None})  # the module json costs more than the rest
ROOT, OUT = ARGS["root"], ARGS["out"]
PROXY = os.environ.get("HTTP_PROXY", "")
# A box that shares its loopback listens at another port than 3128 if a neighbour has that one.
WAY_OUT = ("127.0.0.1", int(PROXY.rpartition(":")[2] or 3128))
counter = [0]

def say(name, word):
    print(name + "\t" + str(word), flush=True)

def attempt(name, call):
    try:
        call()
    except OSError as problem:
        word = errno.errorcode.get(problem.errno, str(problem.errno))
    except Exception as problem:
        word = type(problem).__name__ + ": " + str(problem)
    else:
        word = "ok"
    say(name, word)

def checked(result):
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result

def syscall(number, *arguments):
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    ctypes.set_errno(0)
    return checked(libc.syscall(ctypes.c_long(number), *words))

def victim():
    counter[0] += 1
    return OUT + "/v%02d" % counter[0]

def spill(path, text="evil", mode="w"):
    with open(path, mode) as file:
        file.write(text)
"""


def with_prelude(code: str) -> str:
    """Return a program in which code may use the names of PRELUDE and MODULES; it loads those that it names."""
    text = PRELUDE + code
    named = set(re.findall(r"\w+", text))
    return f"import {', '.join(name for name in MODULES if name in named)}\n{text}"


class Answer(NamedTuple):
    """What became of a command."""

    out: str
    err: str
    exit_code: int | None
    signal: str | None
    timed_out: bool
    pid: int | None
    error: str
    message: str
    details: dict[str, str]
    network: list[dict[str, Any]]
    sandbox: dict[str, Any]
    """What is told of the box, if it was asked for by report=True."""

    @property
    def results(self) -> dict[str, str]:
        """The attempts and what they met, as the program printed them."""
        assert not self.error, self.message
        assert self.exit_code == 0, (self.exit_code, self.signal, self.err[-2000:])
        pairs = (line.split("\t", 1) for line in self.out.splitlines() if "\t" in line)
        return dict(pairs)

    @property
    def made(self) -> dict[str, str]:
        """The attempts that were successful."""
        return {name: word for name, word in self.results.items() if word == "ok"}


class Runner:
    """A process of some user's that runs commands for us, confined or not."""

    def __init__(self, user: str, package: Path, home: Path, kind: str = "ns", *, uid: int = NOBODY) -> None:
        self.user = user
        self.kind = kind
        self.backend = "ns" if kind == SHARED else kind
        self.home = home
        self.uid = uid if user == "nobody" else os.getuid()
        self.mark = f"ATTACK_RUN={uuid.uuid4().hex}"
        argv = [PYTHON, "-IS", str(package / "driver.py"), str(package), self.backend]
        argv.append("attacks" if kind == SHARED else "")
        if user == "nobody":
            argv = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--", *argv]
        name, value = self.mark.split("=")
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", name: value}
        env["AGENT_EXEC_TEST_SECRET"] = "the-secret-of-the-caller"
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd="/", text=True
        )

    def ask(self, request: object) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.send(request)
        return json.loads(self.process.stdout.readline())

    def send(self, request: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def run(self, argv: list[str], cwd: str | Path, profile: dict[str, Any] | None, **more: Any) -> Answer:
        return _answer(self.ask(request(argv, cwd, profile, **more)))

    def run_many(self, requests: list[dict[str, Any]]) -> list[Answer]:
        return [_answer(found) for found in self.ask(requests)]

    def do(self, what: str, **more: Any) -> Any:
        """Have it do something else, of the driver's table."""
        return self.ask({"do": what, **more})

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def kill(self) -> None:
        """End it in the worst way."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def request(argv: list[str], cwd: str | Path, profile: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    return {"argv": argv, "cwd": str(cwd), "profile": profile, **more}


def _answer(found: dict[str, Any]) -> Answer:
    return Answer(
        found.get("out", ""),
        found.get("err", ""),
        found.get("exit_code"),
        found.get("signal"),
        found.get("timed_out", False),
        found.get("pid"),
        found.get("error", ""),
        found.get("message", ""),
        found.get("details", {}),
        found.get("network", []),
        found.get("sandbox", {}),
    )


class World:
    """A workspace, and a folder outside of it whose files nobody in a box may change."""

    def __init__(self, base: Path, runner: Runner) -> None:
        self.runner = runner
        self.base = base
        self.root = base / "work"
        self.out = base / "out"
        for folder in (self.root, self.out / "folder", self.out / "empty"):
            folder.mkdir(parents=True)
        for number in range(1, VICTIMS):
            (self.out / f"v{number:02}").write_text("precious\n")
        (self.out / "folder" / "inner").write_text("precious\n")
        os.mkfifo(self.out / "fifo")
        (self.root / "mine").write_text("mine\n")
        self.own()

    def own(self) -> None:
        """Let everything belong to who runs the commands."""
        self._give_to(self.runner.uid)

    def take(self) -> None:
        """Let everything belong to us, for programs that refuse to work on what is another's."""
        self._give_to(os.getuid())

    def _give_to(self, uid: int) -> None:
        if os.getuid() == self.runner.uid:
            return
        os.chown(self.base, uid, uid)
        for folder, folders, files in os.walk(self.base):
            for name in (*folders, *files):
                os.chown(Path(folder, name), uid, uid, follow_symlinks=False)

    def profile(self, name: str = "workspace-write", **fields: Any) -> dict[str, Any]:
        if self.runner.backend == "landlock":
            fields.setdefault("min_strength", "degraded")
        return {"name": name, "roots": [str(self.root)], **fields}

    def python(self, code: str, *, boxed: bool = True, prelude: bool = True, **more: Any) -> Answer:
        """Run a program, which has what `with_prelude` gives it; other arguments are for the profile or the run."""
        kept = {name: more.pop(name) for name in ("timeout", "tty", "env", "cwd", "report") if name in more}
        profile = more.pop("profile", None)
        arguments = {"root": str(self.root), "out": str(self.out), **more.pop("args", {})}
        if boxed and profile is None:
            profile = self.profile(**more)
        argv = [PYTHON, "-IS", "-c", with_prelude(code) if prelude else code, json.dumps(arguments)]
        return self.runner.run(argv, kept.pop("cwd", self.root), profile if boxed else None, **kept)

    def shell(self, script: str, *, boxed: bool = True, **fields: Any) -> Answer:
        profile = self.profile(**fields) if boxed else None
        return self.runner.run(["/bin/sh", "-c", script], self.root, profile)


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return everything that can be known of the files in a folder, but when they were read."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        facts = path.lstat()
        kind = stat.S_IFMT(facts.st_mode)
        content = hashlib.sha256(path.read_bytes()).hexdigest() if kind == stat.S_IFREG else ""
        content = str(path.readlink()) if kind == stat.S_IFLNK else content
        marks = os.listxattr(path, follow_symlinks=False)
        found[str(path.relative_to(folder))] = (
            facts.st_mode,
            facts.st_uid,
            facts.st_gid,
            facts.st_ino,
            facts.st_nlink if kind != stat.S_IFDIR else 0,
            facts.st_size if kind == stat.S_IFREG else 0,
            facts.st_mtime_ns,
            facts.st_ctime_ns,
            content,
            tuple(marks),
        )
    return found


def first_processes(runner: Runner) -> list[int]:
    """Return the pids, as seen here, of the first processes of a runner's boxes.

    Only root may look into these for the mark; all may see from whom they descend.
    """
    found = []
    marked = processes_marked(runner.mark)
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        numbers = _status(pid).get("NSpid", [])
        if len(numbers) < 2 or numbers[-1] != "1":
            continue
        line = [pid]
        for _ in range(3):
            line.append(int(_status(line[-1]).get("PPid", ["0"])[0]))
        if any(one in marked for one in line):
            found.append(pid)
    return found


def _status(pid: int) -> dict[str, list[str]]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}


def ended(mark: str, *others: str) -> bool:
    """True if all processes that bear these marks are gone within a second."""
    return wait_until(lambda: not any(map(processes_marked, (mark, *others))), seconds=1, fail=False)


def names(folder: Path) -> set[str]:
    """Return what is in a folder, at any depth."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


Worlds = Callable[[], World]


def attack(worlds: Worlds, code: str, *, control: bool = True, **fields: Any) -> tuple[World, Answer]:
    """Run attempts unconfined, where all must succeed, and then confined elsewhere, where none may.

    Give the second world and what was met there. Nothing outside has changed
    by then.
    """
    expected: set[str] = set()
    if control:
        free = worlds()
        found = free.python(code, boxed=False, **{key: fields[key] for key in ("args",) if key in fields})
        failed = {name: word for name, word in found.results.items() if word != "ok"}
        assert found.results, found
        expected = set(found.results)
        assert not failed, f"attempts that fail without a sandbox prove nothing: {failed}"
    world = worlds()
    before = snapshot(world.out)
    answer = world.python(code, **fields)
    assert answer.results, answer
    assert not control or answer.results.keys() == expected
    assert not answer.made, f"possible in a box: {answer.made}"
    assert snapshot(world.out) == before, "something outside has changed"
    return world, answer


@contextmanager
def listeners(world: World) -> Iterator[tuple[dict[str, object], Callable[[], list[str]]]]:
    """Listen on the host in every way; return where, and a way to see who has come."""
    opened: dict[str, socket.socket] = {}
    kinds = (
        ("tcp4", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        ("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
        ("udp4", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        ("udp6", socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 0)),
        ("unix", socket.AF_UNIX, socket.SOCK_STREAM, str(world.out / "s")),
        ("unixgram", socket.AF_UNIX, socket.SOCK_DGRAM, str(world.out / "g")),
        ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0attack-{uuid.uuid4().hex}"),
        ("abstractgram", socket.AF_UNIX, socket.SOCK_DGRAM, f"\0attack-{uuid.uuid4().hex}"),
    )
    where: dict[str, object] = {}
    try:
        for name, family, kind, address in kinds:
            opened[name] = sock = socket.socket(family, kind)
            sock.bind(address)
            if kind == socket.SOCK_STREAM:
                sock.listen()
            sock.setblocking(False)
            bound = sock.getsockname()
            where[name] = bound.decode() if isinstance(bound, bytes) else bound
            where[name] = list(bound[:2]) if isinstance(bound, tuple) else where[name]
            if isinstance(address, str) and not address.startswith("\0"):
                os.chown(address, world.runner.uid, world.runner.uid)

        def visitors() -> list[str]:
            found = []
            for name, sock in opened.items():
                try:
                    if sock.type == socket.SOCK_STREAM:
                        sock.accept()[0].close()
                    else:
                        sock.recv(100)
                except BlockingIOError:
                    continue
                found.append(name)
            return found

        yield where, visitors
    finally:
        for sock in opened.values():
            sock.close()


def make_package(where: Path) -> None:
    """Copy our package and the driver, compiled, to where everybody may read them."""
    shutil.copytree(Path(agent_exec.__file__).parent, where / "agent_exec")
    shutil.copy(HERE / "driver.py", where / "driver.py")
    subprocess.run([PYTHON, "-IS", "-m", "compileall", "-q", str(where)], check=True)


@contextmanager
def site() -> Iterator[Path]:
    """Return a folder that a box sees, which /tmp is not, and that other users may enter."""
    for above in (Path("/var/lib"), Path("/opt"), Path("/srv"), Path.home()):
        if os.access(above, os.W_OK | os.X_OK):
            break
    where = Path(tempfile.mkdtemp(prefix="agent-exec-attacks-", dir=above)).resolve()
    where.chmod(0o755)
    try:
        yield where
    finally:
        shutil.rmtree(where, onerror=_force)


def _force(function: Callable[..., object], path: str, _info: object) -> None:
    Path(path).parent.chmod(0o700)
    Path(path).chmod(0o700)
    function(path)
