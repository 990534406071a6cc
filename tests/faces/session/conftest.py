"""Tools of sessions, with a workspace and a folder for their output that are the test's own."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.session.tools import open_tools
from faces.session.calling import Caller


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, of this test alone."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv("TMPDIR", str(place))
    return place


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The workspace."""
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def opened(nothing_left: str, temporary: Path, work: Path) -> Iterator[Callable[..., Caller]]:
    """Opens tools; they are closed in the end."""
    callers: list[Caller] = []

    def open_(**settings: Any) -> Caller:
        callers.append(Caller(open_tools(**{"workspace": str(work), **settings})))
        return callers[-1]

    yield open_
    for caller in callers:
        caller.tools.close()
    assert not list(temporary.glob("agent-exec-sessions-*/*")), "output left behind"


@pytest.fixture
def call(opened: Callable[..., Caller]) -> Caller:
    """The tools as they are usually opened."""
    return opened()
