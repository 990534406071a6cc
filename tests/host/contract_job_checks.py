"""What every host promises to whoever runs jobs: processes that outlive their starter, and words with them."""

import functools
import json
import os
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

from agent_exec import run
from agent_exec.engine.loop import Loop
from agent_exec.host import (
    Control,
    Report,
    Watch,
    ask,
    end_orphans,
    identify,
    is_alive,
    is_locked,
    own_environment,
    shell,
    signal_number,
    tell,
)
from agent_exec.model.identity import Identity
from host.contract_support import (
    PARENT,
    SOURCE,
    WINDOWS,
    equal,
    gone,
    handles,
    python,
    read_pid,
    run_script,
    wait_until,
)

# A detached process: takes lock and control, says so, and does one thing when it is asked to.
PROBE = """
import json, os
from agent_exec import run
from agent_exec.engine.loop import Loop
from agent_exec.host import Control, FileLock, tell

def main(fds):
    data, report, nothing = fds
    folder = os.read(data, 999).decode()
    lock = FileLock(os.path.join(folder, "lock"))
    lock.acquire()
    control = Control.create(os.path.join(folder, "control"))
    loop = Loop(many=False, wakeable=True)
    heard = []
    control.listen(loop, heard.append)
    loop.after(60, lambda: os._exit(3))
    tell(report, b"started")
    os.close(report)
    while "end" not in heard:
        loop.turn()
    with open(os.path.join(folder, "part"), "w") as file:
        json.dump([heard, nothing, os.getcwd(), lock.held], file)
    os.rename(os.path.join(folder, "part"), os.path.join(folder, "facts"))
"""

STARTER = """
import os, sys
from agent_exec.host import Report, Spawner, detach
folder, how = sys.argv[1:]
report, spawner = Report(), Spawner()
reader, writer = os.pipe()
start = detach if how == "alone" else spawner.detach
start("probe", [reader, report.fd, -1])
report.listen()
os.write(writer, folder.encode())
print(report.hear(60), report.hear(60), flush=True)
spawner.close()
"""

OWNER = """
import sys
from agent_exec import run
from agent_exec.engine.loop import Loop
from agent_exec.host import Control
loop = Loop(many=False, wakeable=True)
control = Control.create(sys.argv[1])
control.listen(loop, lambda line: print(line, flush=True))
print("listening", flush=True)
while True: loop.turn()
"""

INTERRUPTED = """
import signal, sys, threading, time
from agent_exec.host import Interrupts, Report, Watch
interrupts, report = Interrupts(), Report()
assert report.hear(0.01, interrupts) == b"" and not interrupts.is_set()
began = time.monotonic()
timer = threading.Timer(0.3, lambda: signal.raise_signal(getattr(signal, sys.argv[1])))
timer.start()
assert report.hear(60, interrupts) == b""
assert interrupts.is_set()
timer.join()
watch = Watch(sys.argv[2])
assert not watch.hears
assert watch.wait(60, interrupts)
assert time.monotonic() - began < 30
"""

LOCAL = """
import json, os, sys
from agent_exec import run
from agent_exec.engine.loop import Loop
from agent_exec.host import LocalSpawner, prepare
from agent_exec.model.command import Command

folder, how, name, *argv = sys.argv[1:]

class Sink:
    told, data = [], b""

    def started(self, pid, start):
        assert pid and start
        if sys.platform == "win32":
            import ctypes
            self.told.append(bool(ctypes.WinDLL("kernel32").OpenJobObjectW(4, False, name)))

    def output(self, stream, chunk):
        self.data += chunk
        if how == "end" and b"late" in self.data:
            spawner.current.kill()

    def exited(self, pid, exit_code, signal, *, alone):
        self.told.append((exit_code, signal, alone))
        if how != "stay" and not alone:
            process.leave()
            loop.post(lambda: open(os.path.join(folder, "go"), "w").close())

    def emptied(self, *, leaked):
        self.told.append(("emptied", leaked))

    def failed(self, error):
        raise error

loop, sink = Loop(many=False, wakeable=True), Sink()
loop.after(60, lambda: os._exit(9))
stdin = os.open(os.path.join(folder, "data"), os.O_RDONLY)
spawner = LocalSpawner(stdin, name)
process = spawner.process(prepare(Command(argv)), loop, sink)
process.spawn()
while not spawner.gone:
    loop.turn()
spawner.close()
print(json.dumps([sink.told, sink.data.decode().split()]))
"""

# Leaves a process behind that prints when it may, and stays if it is to.
LEAVER = (
    "import os, pathlib, subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-IS', '-c', sys.argv[1], *sys.argv[2:]])\n"
    "pathlib.Path(sys.argv[2], 'pid').write_text(str(child.pid))\n"
    "print('early', flush=True)\n"
)
LEFT = (
    "import os, sys, time\n"
    "while not os.path.exists(os.path.join(sys.argv[1], 'go')): time.sleep(0.01)\n"
    "print('late', flush=True)\n"
    "if sys.argv[2] == 'end': time.sleep(600)\n"
)


def source_with_probe(folder: Path) -> str:
    """Return a copy of the sources beside which the probe is: all that a detached process can import."""
    source = folder / "source"
    for path in (Path(SOURCE) / "agent_exec").rglob("*.py"):
        copy = source / path.relative_to(SOURCE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    (source / "probe.py").write_text(PROBE)
    return str(source)


def job_name() -> str:
    return f"AgentExec-{uuid.uuid4().hex}"


def is_free(path: str) -> bool:
    return not is_locked(path)


def turn_until(loop: Loop, heard: list[str], wanted: list[str]) -> None:
    timer = loop.after(30, lambda: None)
    deadline = time.monotonic() + 30
    while heard != wanted:
        assert time.monotonic() < deadline, f"heard {heard} instead of {wanted}"
        loop.turn()
    timer.cancel()


def check_detached_outlives_its_starter(folder: Path) -> None:
    source = source_with_probe(folder)
    for how in ("alone", "spawner"):
        # It holds nothing of its starter's, or this would wait for the end of the output.
        equal(run_script(STARTER, folder, how, source=source).strip(), "b'started' None")
        path, control = str(folder / "lock"), str(folder / "control")
        assert is_locked(path)
        watch = Watch(control)
        assert watch.hears
        assert not watch.wait(0.05)
        assert ask(control, "word")
        assert ask(control, "end")
        assert watch.wait(30)
        watch.close()
        heard, nothing, cwd, held = json.loads((folder / "facts").read_text())
        equal((heard, nothing, held), (["word", "end"], -1, True))
        assert how == "spawner" or os.path.samefile(cwd, os.getcwd())
        wait_until(functools.partial(is_free, path))
        for name in ("facts", "lock", *(() if WINDOWS else ("control",))):
            (folder / name).unlink()


def check_detached_bug_is_logged(folder: Path) -> None:
    source, log = source_with_probe(folder), folder / "log"
    log.write_text("before\n")
    code = "import agent_exec.host as host; host.detach('no_such_entry', [])"
    run_script(code, source=source, AGENT_EXEC_HELPER_LOG=str(log))
    wait_until(lambda: "No module named 'no_such_entry'" in log.read_text())
    assert log.read_text().startswith("before\n")


def check_control_hears_and_hangs_up(folder: Path) -> None:
    path = str(folder / "control")
    assert not ask(path, "nobody")
    before, threads = handles(), threading.active_count()
    loop = Loop(many=False, wakeable=True)
    heard: list[str] = []
    control = Control.create(path)
    watch = Watch(path)
    assert watch.hears
    assert ask(path, "line 0")  # before anyone listens
    control.listen(loop, heard.append)
    wanted = [f"line {at}" for at in range(20)]
    for line in wanted[1:]:
        assert ask(path, line)
    turn_until(loop, heard, wanted)
    assert not watch.wait(0.02)
    control.close()
    control.close()
    assert watch.wait(30)
    watch.close()
    watch.close()
    assert not ask(path, "late")
    loop.close()
    equal(threading.active_count(), threads)
    del control, loop, watch
    assert handles() <= before + 2, f"{before} handles became {handles()}"


def check_control_is_heard_by_many(folder: Path) -> None:
    """Callers from many threads come one after the other, and all are heard."""
    path = str(folder / "control")
    loop = Loop(many=False, wakeable=True)
    heard: list[str] = []
    control = Control.create(path)
    control.listen(loop, heard.append)
    threads = [threading.Thread(target=ask, args=(path, f"{at}")) for at in range(8)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 30
    loop.after(30, lambda: None)
    while len(heard) < len(threads):
        assert time.monotonic() < deadline, heard
        loop.turn()
    for thread in threads:
        thread.join()
    equal(sorted(heard), [str(at) for at in range(8)])
    control.close()
    loop.close()


def check_watch_hears_of_a_killed_owner(folder: Path) -> None:
    path = str(folder / "control")
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, path], env=os.environ | {"PYTHONPATH": SOURCE}, stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    try:
        equal(owner.stdout.readline().split(), [b"listening"])
        watches = [Watch(path) for _ in range(2)]
        assert all(watch.hears for watch in watches)
        assert ask(path, "word")
        equal(owner.stdout.readline().split(), [b"word"])
        assert not watches[0].wait(0.02)
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    for watch in watches:
        assert watch.wait(30)
        assert watch.wait(30)
        watch.close()
    wait_until(lambda: not ask(path, "word"))


def check_report(folder: Path) -> None:
    before = handles()
    for _ in range(3):
        report = Report()
        equal(report.hear(0.02), b"")
        equal(report.hear(0), b"")
        tell(report.fd, b"word")
        equal(report.hear(30), b"word")
        timer = threading.Timer(0.05, tell, (report.fd, b"later"))
        timer.start()
        equal(report.hear(None), b"later")
        timer.join()
        tell(report.fd, b"last")
        report.listen()
        equal([report.hear(30), report.hear(30)], [b"last", None])
        report.close()
        report.close()
    report = Report()
    deaf = os.dup(report.fd)
    report.close()
    tell(deaf, b"nobody hears")
    os.close(deaf)
    assert handles() <= before + 2, f"{before} handles became {handles()}"


def check_interrupts_end_a_wait(folder: Path) -> None:
    for name in ("SIGINT", "SIGBREAK" if WINDOWS else "SIGTERM"):
        run_script(INTERRUPTED, name, folder / "nobody")


def check_local_spawner(folder: Path) -> None:
    (folder / "data").write_text("given")
    named = [True] if WINDOWS else []
    upper = "import sys; print(sys.stdin.read().upper()); sys.exit(3)"
    found = json.loads(run_script(LOCAL, folder, "stay", job_name(), *python(upper)))
    equal(found, [[*named, [3, None, True], ["emptied", False]], ["GIVEN"]])
    for how in ("leave", "end"):
        words = python(LEAVER, LEFT, folder, how)
        found = json.loads(run_script(LOCAL, folder, how, job_name(), *words))
        equal(found, [[*named, [0, None, False]], ["early", "late"]])
        assert gone(read_pid(folder / "pid"))
        for leaf in ("go", "pid"):
            (folder / leaf).unlink()


def check_orphans_are_ended(folder: Path) -> None:
    mark = f"AGENT_EXEC_ORPHAN={uuid.uuid4().hex}"
    env = os.environ | dict([mark.split("=")])
    for name in ("KILL", "TERM"):
        number = signal_number(name)
        assert number is not None
        pid = folder / name
        leader = subprocess.Popen(python(PARENT, pid, "stay"), env=env, start_new_session=True)
        try:
            grandchild = read_pid(pid)
            identity = identify(leader.pid)
            assert identity is not None
            impostor = Identity(identity.pid, identity.start - 1, identity.boot)
            assert end_orphans(impostor, "NOBODY=1", number, 0.1)
            assert is_alive(identity)
            assert end_orphans(identity, mark, number, 0.3)
        finally:
            leader.kill()
            leader.wait()
        wait_until(functools.partial(gone, grandchild))
        assert end_orphans(identity, mark, number, 0.3)


def check_surroundings(folder: Path) -> None:
    os.environ["AGENT_EXEC_CONTRACT"] = "é☃"
    try:
        env = own_environment()
    finally:
        del os.environ["AGENT_EXEC_CONTRACT"]
    assert b"" not in env
    code = "import os; os.write(1, os.environ['AGENT_EXEC_CONTRACT'].encode())"
    equal(run(python(code), env=env).stdout.decode(), "é☃")
    outcome = run(shell('echo "a  b"&& exit 3'), env=env)
    equal((outcome.exit_code, outcome.stdout_text.strip()), (3, '"a  b"' if WINDOWS else "a  b"))
