"""The ways by which an event leaves: a file, a shell line, a webhook, the desktop."""

import os
import stat

from agent_exec.model.jsonline import dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store
    from agent_exec.model.command import Outcome

    Result = tuple[str | None, bool]

_TAIL_LINES, _TAIL_BYTES = 50, 8192
_DESKTOP = 10.0
_COMMAND = 30_000
"""Milliseconds that a command may take."""


class Delivery:
    """One event of a job on its way; each method returns None, or what went wrong, and whether to try again.

    `path` is the file in the job's folder in which such events are kept.
    """

    def __init__(self, store: "Store", job: "Record", payload: "dict[str, Any]", path: str) -> None:
        from agent_exec.jobs.events.notification import FACT

        self._store = store
        self._job = job
        self._config: dict[str, Any] = job.facts.get(FACT, {})
        self._payload = payload
        self._path = path

    def by(self, kind: str, target: str) -> "Result":
        """Deliver it by a sink that is not a command."""
        if kind == "file":
            return self._by_file(target)
        if kind == "webhook":
            return self._by_webhook(target)
        return self._by_desktop(target)

    def _by_file(self, path: str) -> "Result":
        """Append it as a line to a file, which is made with its folder if it is not there."""
        from agent_exec.places import make_folder

        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
            flags |= getattr(os, name, 0)
        try:
            make_folder(os.path.dirname(path))
            fd = os.open(path, flags, 0o600)
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    return f"{path} is not a regular file", False
                line = dump(self._payload).encode() + b"\n"
                if os.write(fd, line) != len(line):
                    return f"the disk of {path} is full", True
            finally:
                os.close(fd)
        except OSError as error:
            return f"{error.strerror} ({path})", False
        return None, False

    def _by_webhook(self, url: str) -> "Result":
        """Post it; without output, unless that is asked for."""
        from agent_exec.jobs.events.notification import secret_of
        from agent_exec.jobs.events.webhook import post
        from agent_exec.model.errors import InvalidArgument

        try:
            secret = secret_of(self._config)
        except InvalidArgument as error:
            return error.message, True  # another process may have the variable
        payload = {name: value for name, value in self._payload.items() if name != "line"}
        if self._config.get("notify_output"):
            payload = self._payload | self._output()
        body = dump(payload).encode()
        private = bool(self._config.get("allow_private"))
        return post(url, payload["event_id"], body, secret, private=private)

    def _output(self) -> "dict[str, str]":
        from agent_exec.jobs.output import tail

        excerpts = tail(self._job, lines=_TAIL_LINES, size=_TAIL_BYTES)
        return {f"{stream}_tail": excerpt.text for stream, excerpt in excerpts.items()}

    def _by_desktop(self, program: str) -> "Result":
        from agent_exec.jobs.store import short

        payload = self._payload
        title = f"job {short(payload['job_id'])}: {payload.get('state') or payload['event_type']}"
        if payload.get("exit_code"):
            title += f" {payload['exit_code']}"
        text = payload.get("line") or " ".join(payload.get("command", ()))
        problem, _ = self._run([program, "--app-name=agent-exec", "--", title, text[:200]], -1, _DESKTOP, 1.0)
        return problem, False

    def by_command(self, line: str, grace: float) -> "Result":
        """Have a shell run a line with the event on its input; return as well whether it took too long."""
        from agent_exec.host import shell
        from agent_exec.jobs.stdin import from_bytes

        seconds = self._config.get("notify_timeout_ms", _COMMAND) / 1000
        stdin = from_bytes(self._store, dump(self._payload).encode() + b"\n", 1 << 30)
        try:
            return self._run(shell(line), stdin, seconds, grace)
        finally:
            os.close(stdin)

    def _run(self, argv: "Sequence[str]", stdin: int, seconds: float, grace: float) -> "Result":
        """Run a command to its end, output discarded, in this process, which does nothing else."""
        from agent_exec.engine.loop import Loop
        from agent_exec.engine.run import Run
        from agent_exec.host import LocalSpawner, own_environment
        from agent_exec.model.command import Command, Limits
        from agent_exec.model.errors import AgentExecError
        from agent_exec.model.output import Head

        env = own_environment() | {
            b"AGENT_EXEC_EVENT_PATH": os.fsencode(self._path),
            b"AGENT_EXEC_JOB_ID": self._job.id.encode(),
            b"AGENT_EXEC_EVENT_TYPE": self._payload["event_type"].encode(),
        }
        cwd = self._job.facts.get("cwd", "")
        limits = Limits(timeout=seconds, grace=grace)
        command = Command(argv, cwd=cwd if os.path.isdir(cwd) else "/", env=env, limits=limits, keep=Head(0))
        spawner = LocalSpawner(stdin)
        loop = Loop(many=False, wakeable=True)
        try:
            run = Run(command, spawner.prepare(command), loop, spawner, lambda _: None)
            run.launch()
            while not run.done:
                loop.turn()
            return _problem(run.outcome(), seconds)
        except AgentExecError as error:
            return error.message, False
        finally:
            spawner.abandon()
            spawner.close()
            loop.close()


def _problem(outcome: "Outcome", seconds: float) -> "Result":
    if outcome.timed_out:
        return f"it took longer than {seconds:g} s, and was ended", True
    if outcome.signal:
        return f"it was ended by {outcome.signal}", False
    return (None if outcome.exit_code == 0 else f"exit code {outcome.exit_code}"), False
