"""A workspace with a folder in it, and a kit that may use every tool."""

from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.oneshot.kit import Toolkit, create_agent_toolkit
from faces.oneshot.seen import ALL, MakeKit


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace = tmp_path.resolve() / "repo"
    (workspace / "src" / "tools").mkdir(parents=True)
    (workspace / "file.txt").write_text("text")
    return workspace


@pytest.fixture
def make_kit(root: Path) -> MakeKit:
    def make(**terms: Any) -> Toolkit:
        given: dict[str, Any] = {"workspace_root": root, "policy": ALL}
        return create_agent_toolkit(**(given | terms))

    return make


@pytest.fixture
def kit(make_kit: MakeKit) -> Toolkit:
    return make_kit()
