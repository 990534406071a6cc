"""Shared sessions whose socket is in a folder of the test's own."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.session.tools import SessionTools, open_tools
from sessions.sharing.talking import Person, own_server

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for data of this user, and another for temporary files."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / "data"


@pytest.fixture
def tools(nothing_left: str, data: Path, tmp_path: Path) -> Iterator[SessionTools]:
    """Tools whose sessions are shared."""
    with open_tools(share=True, rules=None, workspace=str(tmp_path)) as tools:
        yield tools
    assert not list((data / "agent-exec" / "servers").glob("*")), "a socket left behind"


@pytest.fixture
def watch(tools: SessionTools) -> Iterator[Callable[..., Person]]:
    """Lets a person watch a session; the connection is closed in the end."""
    people: list[Person] = []

    def begin(session: int, **given: Any) -> Person:
        people.append(Person(own_server(), session, **given))
        return people[-1]

    yield begin
    for person in people:
        person.close()
