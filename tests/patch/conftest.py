"""Journals of these tests are their own: other tests must not undo what they leave on purpose."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    state = tmp_path_factory.mktemp("state")
    for name in ("XDG_STATE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(state))
    return state
