"""What every host promises, checked through the front door on the system that runs this.

Needs the standard library and agent_exec alone:
`PYTHONPATH=src:tests python tests/host/contract_checks.py [check ...]`.
"""

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from agent_exec import Command, Engine, Head, Limits, run
from agent_exec.host import FileLock, identify, is_alive, is_locked, send_signal, signal_number
from agent_exec.model import errors
from agent_exec.model.identity import Identity
from host import contract_job_checks
from host.contract_support import (
    PARENT,
    SLEEP,
    SOURCE,
    WINDOWS,
    Skip,
    equal,
    gone,
    handles,
    python,
    raises,
    read_pid,
    wait_until,
    wine,
)

__all__ = ["CHECKS", "Skip"]

AWKWARD = ["", " ", "a b", '"', '\\"', "a\\", "a b\\", "a\\\\b c\\\\", "tab\there"]
AWKWARD += ["%PATH%", "^&|<>()!", "'", "*?", "é☃"]


def check_exit_code(folder: Path) -> None:
    for code in (0, 1, 7, 255):
        outcome = run(python("import sys; sys.exit(int(sys.argv[1]))", code))
        equal((outcome.exit_code, outcome.signal, outcome.cause, outcome.leaked), (code, None, None, False))


def check_streams_apart(folder: Path) -> None:
    outcome = run(python("import os; os.write(1, b'out'); os.write(2, b'err'); os.write(1, b'more')"))
    equal((outcome.stdout, outcome.stderr), (b"outmore", b"err"))
    outcome = run(python("import os; print(os.getpid())"))
    equal(int(outcome.stdout), outcome.pid)


def check_input_arrives_whole(folder: Path) -> None:
    data = bytes(range(256)) * 8192
    code = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
    equal(run(python(code), stdin=data, keep=Head(1 << 24)).stdout, data)


def check_input_reaches_a_grandchild(folder: Path) -> None:
    inner = "import sys; sys.stdout.write(sys.stdin.read().upper())"
    outer = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-IS', '-c', sys.argv[1]]))"
    equal(run(python(outer, inner), stdin=b"through").stdout, b"THROUGH")


def check_input_ends(folder: Path) -> None:
    """None is its end at once; and a command may close it first."""
    equal(run(python("import sys; print(len(sys.stdin.buffer.read()))")).stdout_text.split(), ["0"])
    outcome = run(python("import os; os.close(0); print('done')"), stdin=b"x" * (1 << 22))
    equal((outcome.exit_code, outcome.stdout_text.split()), (0, ["done"]))


def check_words_survive(folder: Path) -> None:
    outcome = run(python("import json, sys; print(json.dumps(sys.argv[1:]))", *AWKWARD))
    equal(json.loads(outcome.stdout), AWKWARD)


def check_environment_is_whole(folder: Path) -> None:
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    os.environ["AGENT_EXEC_CONTRACT"] = "ours"
    try:
        found = json.loads(run(python(code), env={"MINE": "a=b c", "EMPTY": ""}).stdout)
        inherited = json.loads(run(python(code)).stdout)
    finally:
        del os.environ["AGENT_EXEC_CONTRACT"]
    equal(found.get("MINE"), "a=b c")
    assert "AGENT_EXEC_CONTRACT" not in found
    equal(inherited.get("AGENT_EXEC_CONTRACT"), "ours")


def check_much_output(folder: Path) -> None:
    code = (
        "import os\n"
        "for _ in range(512):\n"
        "    left = b'x' * 65536\n"
        "    while left: left = left[os.write(1, left):]\n"
    )
    outcome = run(python(code), keep=Head(1000))
    equal((outcome.stdout_observed, len(outcome.stdout), outcome.exit_code), (512 * 65536, 1000, 0))


def check_slow_taker(folder: Path) -> None:
    """Output waits for who takes it, and none is lost."""
    seen: list[int] = []

    def take(_stream: str, chunk: bytes) -> None:
        seen.append(len(chunk))
        time.sleep(0.002)

    code = "import os\nleft = b'x' * 4000000\nwhile left: left = left[os.write(1, left):]"
    outcome = run(python(code), on_output=take)
    equal((outcome.stdout_observed, sum(seen)), (4000000, 4000000))


def check_raising_taker(folder: Path) -> None:
    code = f"import os, sys\nopen(sys.argv[1], 'w').write(str(os.getpid()))\nprint(1, flush=True)\n{SLEEP}"
    raises(ZeroDivisionError, lambda: run(python(code, folder / "pid"), on_output=lambda *_: 1 / 0))
    assert gone(read_pid(folder / "pid"))


def check_timeout_ends_the_tree(folder: Path) -> None:
    outcome = run(python(PARENT, folder / "pid", "stay"), timeout=4.0, grace=0.3)
    equal(outcome.cause, "timeout")
    assert outcome.exit_code not in (0, None), outcome
    assert gone(read_pid(folder / "pid"))
    assert outcome.pid is not None
    assert gone(outcome.pid)


def check_kill(folder: Path) -> None:
    with Engine() as engine:
        started = engine.start(Command(python(PARENT, folder / "pid", "stay")))
        grandchild = read_pid(folder / "pid")
        assert not gone(grandchild)
        while (identity := started.identity) is None:
            time.sleep(0.01)  # told a moment after it is true
        assert is_alive(identity)
        started.kill()
        outcome = started.outcome()
        equal((outcome.exit_code, outcome.signal, outcome.cause), (137, "SIGKILL", "stopped"))
        assert gone(grandchild)
        assert not is_alive(identity)


def check_close_ends_everything(folder: Path) -> None:
    engine = Engine(slots=2)
    runs = [
        engine.start(Command(python(PARENT, folder / f"pid{at}", "stay"), limits=Limits(grace=0.2)))
        for at in range(2)
    ]
    waiting = engine.start(Command(python(SLEEP)))
    pids = [read_pid(folder / f"pid{at}") for at in range(2)]
    engine.close()
    equal([one.outcome().cause for one in runs], ["stopped", "stopped"])
    equal(waiting.outcome().exit_code, None)
    assert all(map(gone, pids))


def check_leftovers_are_killed_or_left(folder: Path) -> None:
    outcome = run(python(PARENT, folder / "pid", "go"))
    equal((outcome.exit_code, outcome.leaked), (0, True))
    assert gone(read_pid(folder / "pid"))
    outcome = run(python(PARENT, folder / "left", "go"), leftovers="leave")
    equal((outcome.exit_code, outcome.leaked), (0, True))
    grandchild = identify(read_pid(folder / "left"))
    assert grandchild is not None
    assert send_signal(grandchild, 9)
    wait_until(lambda: not is_alive(grandchild))


def check_tree_dies_with_its_owner(folder: Path) -> None:
    code = (
        "import sys, agent_exec\n"
        "agent_exec.Engine().start(agent_exec.Command(sys.argv[1:]))\n"
        "import time; time.sleep(600)\n"
    )
    words = python(PARENT, folder / "pid", "stay")
    owner = subprocess.Popen([sys.executable, "-c", code, *words], env=os.environ | {"PYTHONPATH": SOURCE})
    try:
        grandchild = read_pid(folder / "pid")
        assert not gone(grandchild)
    finally:
        owner.kill()
        owner.wait()
    wait_until(lambda: gone(grandchild))


def check_interrupt(folder: Path) -> None:
    """Ctrl-C ends the wait of a one-shot call, and the tree with it."""
    if threading.current_thread() is not threading.main_thread():
        raise Skip("only the main thread hears Ctrl-C")

    def interrupt() -> None:
        wait_until((folder / "pid").exists)
        if WINDOWS:
            signal.raise_signal(signal.SIGINT)
        else:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        run(python(PARENT, folder / "pid", "stay"), grace=0.2, timeout=60)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("Ctrl-C was not heard")
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert gone(read_pid(folder / "pid"))


def check_polite_stop(folder: Path) -> None:
    name = "SIGBREAK" if WINDOWS else "SIGTERM"
    code = (
        "import pathlib, signal, sys, time\n"
        "def stop(*_): print('polite', flush=True); sys.exit(5)\n"
        f"signal.signal(signal.{name}, stop)\n"
        "pathlib.Path(sys.argv[1]).write_text('1')\n"
        "while True: time.sleep(0.01)\n"
    )
    with Engine() as engine:
        started = engine.start(Command(python(code, folder / "pid"), limits=Limits(grace=10.0)))
        read_pid(folder / "pid")
        started.stop()
        outcome = started.outcome()
    equal(outcome.cause, "stopped")
    if wine() and outcome.exit_code != 5:
        equal(outcome.exit_code, 137)
        raise Skip("Wine's GenerateConsoleCtrlEvent fails on an attached console (error 6); it was killed")
    equal((outcome.exit_code, outcome.stdout_text.split()), (5, ["polite"]))


def check_many_at_once(folder: Path) -> None:
    with Engine(slots=6) as engine:
        runs = [engine.start(Command(python("import sys; print(sys.argv[1])", at))) for at in range(18)]
        equal([int(one.outcome().stdout) for one in runs], list(range(18)))


def check_engine_without_a_thread(folder: Path) -> None:
    with Engine(threaded=False) as engine:
        first = engine.start(Command(python("print(1)")))
        second = engine.start(Command(python(SLEEP), limits=Limits(timeout=0.3, grace=0.1)))
        equal((first.outcome().exit_code, second.outcome().cause), (0, "timeout"))


def check_conversation(folder: Path) -> None:
    heard = threading.Event()
    code = "import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)\nprint('end')"
    command = Command(python(code), interactive=True, on_output=lambda *_: heard.set())
    with Engine() as engine:
        started = engine.start(command)
        for word in (b"one\n", b"two\n"):
            heard.clear()
            started.write(word)
            assert heard.wait(30)
        started.end_input()
        equal(started.outcome().stdout_text.split(), ["ONE", "TWO", "end"])


def check_missing_program(folder: Path) -> None:
    raises(errors.CommandNotFound, lambda: run(["no-such-program-anywhere"]))
    raises(errors.CommandNotFound, lambda: run([str(folder / "no-such-program")]))
    raises(errors.CommandNotFound, lambda: run(["." + os.sep + "nothing"], cwd=folder))
    (folder / "notes.txt").write_text("not a program")
    raises(errors.CommandNotExecutable, lambda: run([str(folder / "notes.txt")]))
    raises(errors.CommandNotExecutable, lambda: run([str(folder)]))
    broken = folder / ("broken.exe" if WINDOWS else "broken")
    broken.write_bytes(b"\0not a program either")
    broken.chmod(0o755)
    raises(errors.CommandNotExecutable, lambda: run([str(broken)]))


def check_directory(folder: Path) -> None:
    (folder / "inner").mkdir()
    found = run(python("import os; print(os.getcwd())"), cwd=folder / "inner").stdout_text.strip()
    assert os.path.samefile(found, folder / "inner"), found
    (folder / "file").write_text("")
    raises(errors.WorkdirNotFound, lambda: run(python(""), cwd=folder / "missing"))
    raises(errors.NotADirectory, lambda: run(python(""), cwd=folder / "file"))


def check_current_directory_is_not_searched(folder: Path) -> None:
    name = "only-here.cmd" if WINDOWS else "only-here"
    (folder / name).write_text("@echo found" if WINDOWS else "#!/bin/sh\necho found\n")
    (folder / name).chmod(0o755)
    raises(errors.CommandNotFound, lambda: run(["only-here"], cwd=folder))
    equal(run(["." + os.sep + "only-here"], cwd=folder).stdout_text.split(), ["found"])


def check_path_of_the_command(folder: Path) -> None:
    name = "mine.CMD" if WINDOWS else "mine"
    (folder / name).write_text("@echo %~1 %2" if WINDOWS else '#!/bin/sh\necho "$1" "$2"\n')
    (folder / name).chmod(0o755)
    env = {"Path" if WINDOWS else "PATH": str(folder)}
    found = run(["mine", "word", "two & words"], env=env).stdout_text
    equal(found.replace('"', "").split(), ["word", "two", "&", "words"])


def check_batch_files_are_not_fooled(folder: Path) -> None:
    if not WINDOWS:
        raise Skip("batch files are a matter of Windows")
    (folder / "safe.cmd").write_text(
        f'@"{sys.executable}" -IS -c "import json,sys;print(json.dumps(sys.argv[1:]))" %*'
    )
    words = ["", "a b", "&calc", "|", "<x>", "^", "(", "!x!", "a,b;c=d", "end\\", "C:\\my dir\\", "'", "é"]
    equal(json.loads(run([str(folder / "safe.cmd"), *words]).stdout), words)
    for word in ('"&calc', "%PATH%", "a\nb", "a\rb"):
        raises(errors.InvalidArgument, functools.partial(run, [str(folder / "safe.cmd"), word]))
    (folder / "code.bat").write_text("@exit /b 9")
    equal(run([str(folder / "code.bat")]).exit_code, 9)


def check_shell_line(folder: Path) -> None:
    shell = ["cmd.exe", "/d", "/c"] if WINDOWS else ["sh", "-c"]
    outcome = run([*shell, 'echo "a  b"&& exit 3'])
    equal((outcome.exit_code, outcome.stdout_text.strip()), (3, '"a  b"' if WINDOWS else "a  b"))


def check_lock_between_processes(folder: Path) -> None:
    path = str(folder / "lock")
    assert not is_locked(path)
    ours = FileLock(path)
    assert [ours.acquire(), ours.acquire(), is_locked(path)] == [True] * 3
    code = (
        "import sys\n"
        "from agent_exec.host import FileLock, is_locked\n"
        "lock = FileLock(sys.argv[1])\n"
        "print(is_locked(sys.argv[1]), lock.acquire(wait=len(sys.argv) > 2), flush=True)\n"
        "sys.stdin.read()\n"
    )
    env = os.environ | {"PYTHONPATH": SOURCE}
    argv = [sys.executable, "-c", code, path]
    equal(
        subprocess.run(
            argv, env=env, capture_output=True, check=False, stdin=subprocess.DEVNULL
        ).stdout.split(),
        [b"True", b"False"],
    )
    with open(path, "a+") as file:
        file.write("readable")
        file.seek(0)
        equal(file.read(), "readable")
    other = subprocess.Popen([*argv, "wait"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdin is not None
    ours.release()
    ours.release()
    assert not ours.held
    equal(other.stdout.readline().split()[-1], b"True")
    assert is_locked(path)
    assert not ours.acquire()
    other.kill()
    other.wait()
    other.stdout.close()
    other.stdin.close()
    wait_until(lambda: not is_locked(path))
    assert ours.acquire()
    ours.release()


def check_identity(folder: Path) -> None:
    me = identify(os.getpid())
    assert me is not None
    equal(me, identify(os.getpid()))
    assert is_alive(me)
    impostor = Identity(me.pid, me.start - 1, me.boot)
    assert not is_alive(impostor)
    assert not send_signal(impostor, 9)
    assert send_signal(me, 0)
    child = subprocess.Popen(python(SLEEP))
    try:
        found = identify(child.pid)
        assert found is not None
        assert found != me
        term = signal_number("TERM")
        assert term is not None
        assert send_signal(found, term)
    finally:
        child.wait(30)
    assert not is_alive(found)
    assert not send_signal(found, term)


def check_nothing_grows(folder: Path) -> None:
    def once() -> None:
        equal(run(python("print(1)"), stdin=b"x").exit_code, 0)

    for _ in range(3):
        once()
    before, threads = handles(), threading.active_count()
    for _ in range(50):
        once()
    assert handles() <= before + 2, f"{before} handles became {handles()}"
    equal(threading.active_count(), threads)
    broken = folder / ("broken.exe" if WINDOWS else "broken")
    broken.write_bytes(b"\0not a program")
    broken.chmod(0o755)
    for _ in range(10):
        raises(errors.CommandNotExecutable, lambda: run([str(broken)]))
    assert handles() <= before + 2, f"{before} handles became {handles()}"


def check_terminal(folder: Path) -> None:
    if wine():
        raises(errors.Unsupported, lambda: run(python(SLEEP), tty=True))
        raise Skip("Wine's pseudo console shows no text; without pywinpty a terminal is refused, as promised")
    outcome = run(python("import os; print(os.isatty(0), os.isatty(1), *os.get_terminal_size())"), tty=True)
    assert "True True 80 24" in outcome.stdout_text, outcome


CHECKS: dict[str, Callable[[Path], None]] = {
    name.removeprefix("check_"): value
    for name, value in (globals() | vars(contract_job_checks)).items()
    if name.startswith("check_")
}


def main(wanted: list[str]) -> int:
    failed = skipped = 0
    for name, check in CHECKS.items():
        if wanted and name not in wanted:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try:
                check(Path(folder))
            except Skip as reason:
                skipped += 1
                print(f"skip {name}: {reason}", flush=True)
            except Exception:
                failed += 1
                print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
            else:
                print(f"ok   {name} ({time.monotonic() - began:.2f} s)", flush=True)
    total = len(wanted or CHECKS)
    print(f"{sys.platform}: {total - failed - skipped} ok, {skipped} skipped, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
