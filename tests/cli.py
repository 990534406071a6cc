"""The installed `agent-exec` program, used from outside; every answer is checked against its schema."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

import fastjsonschema

import warmstart
from agent_exec.host import is_locked
from support import wait_until

PROGRAM = Path(sys.executable).parent / "agent-exec"
SCHEMA = Path(__file__).parents[1] / "src" / "agent_exec" / "faces" / "verbs.schema.json"
WARM = frozenset("run create start restart status tail list ps wait kill delete gc policy".split())
"""Verbs that are called as copies of a process that has loaded them."""
ENDING = frozenset("run start restart wait kill".split())
"""Verbs whose answer may tell of a job's end."""
MODULES = """
    apps.main apps.cli.act apps.cli.run faces.policy_verbs jobs.kill jobs.output jobs.removal jobs.start
    jobs.supervise jobs.wait policy.policy engine.run host.posix.keeper.launch host.posix.keeper.tree
    host.posix.process.local
""".split()


@contextmanager
def warmed() -> Iterator[None]:
    """Have calls of WARM verbs be copies of a process that has loaded the program."""
    with warmstart.serving(*(f"agent_exec.{module}" for module in MODULES)) as Cli.warm:
        yield
    Cli.warm = ""


class Answer(dict[str, Any]):
    """The object that a verb printed, with the exit status and what was said on stderr."""

    def __init__(self, fields: Mapping[str, Any], code: int, stderr: str) -> None:
        super().__init__(fields)
        self.code = code
        self.stderr = stderr


@cache
def validator() -> Any:
    """Return the function that refuses what the schema does not allow."""
    return fastjsonschema.compile(json.loads(SCHEMA.read_text()))


def check(text: str) -> dict[str, Any]:
    """Return the object on the one line of an answer, checked against the schema."""
    assert text.endswith("\n"), text
    assert len(text.splitlines()) == 1, text
    fields: dict[str, Any] = json.loads(text)
    validator()(fields)
    return fields


class Cli:
    """The program with a store of its own."""

    warm = ""
    """The name of the process of which calls of `warm_verbs` are copies; see warmstart.py."""
    warm_verbs = WARM

    def __init__(self, root: Path, cwd: Path) -> None:
        self.root = root
        self.cwd = cwd
        rules = ("AGENT_EXEC_RULES", "AGENT_EXEC_APPROVAL_POLICY")
        self.env = {name: value for name, value in os.environ.items() if name not in rules}
        self.env |= {"AGENT_EXEC_ROOT": str(root), "XDG_CONFIG_HOME": str(root.with_name("config"))}
        self.env["XDG_DATA_HOME"] = str(root.with_name("data"))

    def argv(self, *words: object) -> list[str]:
        """Return the whole command line."""
        return [str(PROGRAM), *map(str, words)]

    def raw(
        self,
        *words: object,
        input: bytes | None = None,  # noqa: A002
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: int | IO[bytes] | None = subprocess.DEVNULL,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the program and return what it printed."""
        argv = self.argv(*words)
        plain = argv[0] == str(PROGRAM) and (input, env, stdin) == (None, None, subprocess.DEVNULL)
        if self.warm and plain and argv[1:] and argv[1] in self.warm_verbs:
            told = warmstart.run(self.warm, argv, str(cwd or self.cwd), self.env)
            return subprocess.CompletedProcess(argv, *told)
        feed: dict[str, Any] = {"stdin": stdin} if input is None else {"input": input}
        return subprocess.run(
            argv,
            capture_output=True,
            check=False,
            cwd=cwd or self.cwd,
            env={**self.env, **(env or {})},
            timeout=60,
            **feed,
        )

    def __call__(self, *words: object, **settings: Any) -> Answer:
        """Run a verb and return its answer."""
        out = self.raw(*words, **settings)
        assert out.stdout, out.stderr.decode()
        answer = Answer(check(out.stdout.decode()), out.returncode, out.stderr.decode())
        if words[0] in ENDING and answer.get("state") in ("exited", "failed", "killed"):
            self.wait_for_supervisor(str(answer["job_id"]))
        return answer

    def wait_for_supervisor(self, job_id: str) -> None:
        """Wait until the supervisor of a job that has ended is gone, or not for long: some are stopped by tests.

        It answers before it has all on the disk, and the next call may be
        faster than that.
        """
        lock = str(self.folder(job_id) / "lock")
        wait_until(lambda: not is_locked(lock), seconds=2, fail=False)

    def start(self, *words: object) -> str:
        """Start a job without waiting for it; return its id."""
        answer = self("run", "--no-wait", "--", *words)
        assert answer["ok"], answer
        return str(answer["job_id"])

    def folder(self, job_id: str) -> Path:
        """Return the folder of a job."""
        return self.root / job_id

    def close(self) -> None:
        """End every job, and what is left of those whose supervisor was lost."""
        live = self.root / ".live"
        for job_id in os.listdir(live) if live.is_dir() else ():
            self.raw("kill", job_id, "--signal", "KILL")
