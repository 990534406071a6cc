"""What the tests of jobs share: gates that jobs wait at, and looks at processes from outside."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from cli import Answer, Cli
from support import exists, python, wait_until

ENDED = ("exited", "killed", "failed")


class Gate:
    """A named pipe that a job waits at until the test opens it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)

    def job(self, before: str = "echo before", after: str = "echo after; exit 7") -> list[str]:
        """Return the argv of a job that says something, waits at the gate, and goes on."""
        return ["sh", "-c", f'{before}; read _ < "$0"; {after}', str(self.path)]

    def open(self) -> None:
        """Let the one who waits there go on."""
        found: list[int] = []

        def reached() -> bool:
            try:
                found.append(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                return False
            return True

        wait_until(reached)
        os.write(found[0], b"\n")
        os.close(found[0])


def stat(pid: int) -> list[str]:
    """Return the fields of a process's stat after its name: state, parent, group, session, terminal, ..."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def start_of(pid: int) -> int:
    """Return when a process was started, in ticks since boot."""
    return int(stat(pid)[19])


def status_line(pid: int, name: str) -> str:
    """Return one line of a process's status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line for line in lines if line.startswith(f"{name}:")).partition(":")[2].strip()


def below(pid: int) -> list[int]:
    """Return a process and all below it."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = int(stat(int(name))[1])
            except OSError:
                continue
    found = [pid]
    for one in found:
        found += [other for other, parent in parents.items() if parent == one]
    return found


def supervisor_of(cli: Cli, job_id: str) -> int:
    """Return the pid of a job's supervisor."""
    return int(cli("status", job_id)["supervisor_pid"])


def lose_supervisor(cli: Cli, job_id: str) -> None:
    """Kill a job's supervisor by force."""
    kill_and_wait(supervisor_of(cli, job_id))


def kill_and_wait(*pids: int) -> None:
    """Kill processes by force, and wait until they are gone."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(exists(pid) for pid in pids))


def printed(cli: Cli, job_id: str) -> str:
    """Return what a job has printed on stdout so far."""
    path = cli.folder(job_id) / "stdout.log"
    return path.read_text(errors="replace") if path.exists() else ""


def pids_of_tree(cli: Cli, job_id: str, count: int) -> list[int]:
    """Wait until a tree.py job is ready, and return the pids of those below it."""
    wait_until(lambda: "ready" in printed(cli, job_id) and printed(cli, job_id).count("\n") == count + 1)
    return [int(word) for word in printed(cli, job_id).split() if word.isdigit()]


def only_job(cli: Cli) -> str:
    """Wait until there is a job whose command runs, and return its id; for a caller that has not told us."""
    found: list[str] = []

    def running() -> bool:
        found[:] = [job["job_id"] for job in cli("ps", "--all")["jobs"]]
        return bool(found)

    wait_until(running)
    (job_id,) = found
    return job_id


def popen(cli: Cli, *words: object, **settings: Any) -> subprocess.Popen[bytes]:
    """Start the program without waiting for it."""
    return subprocess.Popen(
        cli.argv(*words),
        **{
            "cwd": cli.cwd,
            "env": cli.env,
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **settings,
        },
    )


def on_terminal(cli: Cli, slave: int, argv: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, on a terminal."""
    code = "import os, sys; os.login_tty(int(sys.argv[1])); os.execvp(sys.argv[2], sys.argv[2:])"
    return subprocess.Popen(python(code, slave, *argv), pass_fds=[slave], cwd=cli.cwd, env=cli.env)


def at_once(calls: Iterable[Callable[[], Any]], *, width: int = 20) -> list[Any]:
    """Make calls in so many threads, and return what they gave; raise what one of them raised."""
    waiting = list(enumerate(calls))
    waiting.reverse()
    results: dict[int, Any] = {}
    errors: list[BaseException] = []
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if not waiting or errors:
                    return
                index, call = waiting.pop()
            try:
                results[index] = call()
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(width)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[index] for index in sorted(results)]


def views(cli: Cli, job_id: str) -> dict[str, Answer]:
    """Return what every verb that only looks says about one job, under the name of the verb."""
    found = {
        "status": cli("status", job_id),
        "tail": cli("tail", job_id),
        "wait": cli("wait", job_id, "--until", "10ms"),
    }
    for job in cli("list", "--all")["jobs"]:
        if job["job_id"] == job_id:
            found["list"] = Answer(job, 0, "")
    for job in cli("ps", "--all")["jobs"]:
        if job["job_id"] == job_id:
            found["ps"] = Answer(job, 0, "")
    return found


def dead(pids: Sequence[int]) -> bool:
    """True if none of these processes lives."""
    return not any(exists(pid) for pid in pids)


def log_bytes(folder: Path, stream: str = "stdout") -> int:
    """Return how much of a stream is on the disk."""
    return sum(path.stat().st_size for path in folder.glob(f"{stream}.log*"))
