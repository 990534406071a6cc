"""The file of input of the tool `run`: the one that was allowed, whatever is swapped meanwhile."""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import agent_exec
from agent_exec.faces.jobtools.tools import JobTools
from agent_exec.model.cancel import Cancel
from cli import Cli

_EXCHANGE = 2
_HERE = -100
ROUNDS = 300


@contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Exchange two names in a loop, as a command in the workspace can."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            libc.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_swapped_folder_gives_no_secret_away(cli: Cli, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "id_rsa").write_text("the secret")
    (cli.cwd / "a").mkdir()
    (cli.cwd / "a" / "id_rsa").write_text("harmless")
    (cli.cwd / "l").symlink_to(secrets)
    tools = JobTools(agent_exec.open_jobs(str(cli.root)), [str(cli.cwd)], longest=50)
    read = opened = 0
    with swapping(cli.cwd / "a", cli.cwd / "l"):
        for number in range(ROUNDS):
            told: Any = tools.call("run", {"command": ["cat"], "stdin_file": "a/id_rsa"}, Cancel()).structured
            assert "the secret" not in str(told), f"round {number}"
            opened += told.get("stdout") == "harmless"
            read += 1
    assert read == ROUNDS
    assert opened, "it was never read at all, and so nothing was tried"


def test_the_environment_of_the_server_is_no_input(cli: Cli) -> None:
    (cli.cwd / "l").symlink_to("/proc/self")
    tools = JobTools(agent_exec.open_jobs(str(cli.root)), [str(cli.cwd)], longest=50)
    told: Any = tools.call("run", {"command": ["cat"], "stdin_file": "l/environ"}, Cancel()).structured
    assert told["error"]["code"] == "invalid_argument"
