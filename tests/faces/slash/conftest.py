"""A folder to work in, and cores whose processes can be found by the fixture that looks for leftovers."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.slash.core import SlashCore
from agent_exec.faces.slash.permission import ShellPermission
from faces.slash.typed import MakeCore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path.resolve() / "work"
    work.mkdir()
    return work


@pytest.fixture
def make_core(nothing_left: str) -> Iterator[MakeCore]:
    made: list[SlashCore] = []

    def make(permission: ShellPermission | None = None, **terms: Any) -> SlashCore:
        name, _, value = nothing_left.partition("=")
        path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
        given = ShellPermission(True, env={"PATH": path, name: value})
        core = SlashCore(given if permission is None else permission, **({"japanese": False} | terms))
        made.append(core)
        return core

    yield make
    for core in made:
        core.close()


@pytest.fixture
def core(make_core: MakeCore) -> SlashCore:
    return make_core()
