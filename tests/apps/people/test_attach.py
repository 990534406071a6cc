"""Sessions of other programs: listed, watched, typed into, and handed back to the agent."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Self

import pytest

from cli import Cli
from support import wait_until

SERVER = """
import sys
from agent_exec.sessions import open_tools
with open_tools(share=True) as tools:
    for line in sys.stdin:
        kind, _, text = line.rstrip("\\n").partition(" ")
        if kind == "start":
            told = tools.call("exec_command", {"cmd": text, "tty": True, "login": False, "yield_time_ms": 300})
        else:
            number, _, chars = text.partition(" ")
            told = tools.call("write_stdin", {"session_id": int(number), "chars": chars})
        print(repr(told.text if told.is_error else told.structured), flush=True)
"""


class Agent:
    """A program that has sessions, and shares them."""

    def __init__(self, cli: Cli) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=cli.cwd,
            env=cli.env,
        )

    def ask(self, line: str) -> str:
        """Have it call a tool; return the answer as text."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def start(self, command: str) -> str:
        """Start a session; return its number."""
        found = re.search(r"\'session_id\': (\d+)", self.ask(f"start {command}"))
        assert found
        return found[1]


@pytest.fixture
def agent(cli: Cli) -> Iterator[Agent]:
    found = Agent(cli)
    yield found
    assert found.process.stdin is not None
    found.process.stdin.close()
    found.process.wait()
    assert found.process.stdout is not None
    found.process.stdout.close()


class Terminal:
    """A person's terminal, in which the program runs."""

    def __init__(self, cli: Cli, *words: str) -> None:
        self.ours, theirs = pty.openpty()
        self.seen = b""
        self.process = subprocess.Popen(
            cli.argv(*words), stdin=theirs, stdout=theirs, stderr=theirs, cwd=cli.cwd, env=cli.env
        )
        os.close(theirs)

    def until(self, text: str) -> None:
        """Read until this is seen."""
        while text.encode() not in self.seen:
            self.seen += os.read(self.ours, 65536)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


def test_sessions_of_all_servers_are_listed_and_named(cli: Cli, agent: Agent) -> None:
    assert cli("sessions")["sessions"] == []
    number = agent.start("cat")
    (listed,) = cli("sessions")["sessions"]
    assert (listed["cmd"], listed["running"], str(listed["session_id"])) == ("cat", True, number)
    assert listed["id"].endswith(f".{number}")
    shown = cli.raw("sessions", "--human").stdout.decode()
    assert re.search(rf"● +{listed['id']} .* cat\n +next: agent-exec attach", shown)
    for named in ("99", "ffff.99", "ffff.1000"):
        assert cli("send", named, "x")["error"]["code"] == "missing"
    assert cli.raw("send", number).returncode == 2
    assert cli.raw("attach", number).returncode == 2, "this is no terminal"


def test_a_line_is_typed_and_the_agent_is_told(cli: Cli, agent: Agent) -> None:
    number = agent.start("cat")
    sent = cli("send", number, "hello there")
    assert (sent["session_id"], sent["bytes"]) == (int(number), 12)
    wait_until(lambda: "hello there" in agent.ask(f"write {number} "))


def test_a_person_takes_over_and_hands_back(cli: Cli, agent: Agent) -> None:
    number = agent.start("cat")
    with Terminal(cli, "attach", number) as terminal:
        wait_until(lambda: cli("sessions")["sessions"][0]["writer"])
        os.write(terminal.ours, b"typed by hand\r")
        terminal.until("typed by hand\r\ntyped by hand")
        assert "keyboard" in agent.ask(f"write {number} no")
        assert cli("send", number, "x")["error"]["code"] == "invalid_state"
        os.write(terminal.ours, b"\x1d")
        terminal.until("detached; the session goes on")
        assert terminal.process.wait() == 0
    wait_until(lambda: not cli("sessions")["sessions"][0]["writer"])
    assert "person" in agent.ask(f"write {number} ")
    assert "by the agent" in agent.ask(f"write {number} by the agent")


def test_a_watcher_sees_what_was_there_and_types_nothing(cli: Cli, agent: Agent) -> None:
    number = agent.start("printf 'ready> '; read line; echo got $line; exit 3")
    with Terminal(cli, "attach", number, "--watch") as terminal:
        terminal.until("ready>")
        os.write(terminal.ours, b"ignored\r")
        cli("send", number, "by a line")
        terminal.until("it has ended: exit code 3")
        assert b"got by a line" in terminal.seen
        assert terminal.process.wait() == 0


def test_the_output_of_a_job_is_followed(cli: Cli) -> None:
    job = cli("run", "--", "echo", "hello")["job_id"]
    assert cli.raw("attach", job).stdout == cli.raw("attach", "last").stdout == b"hello\n"
