"""Workspaces: one below /tmp, which is private in a box, and one elsewhere."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent_exec
from sandbox.work.boxes import Space, folder_elsewhere


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if sys.platform != "linux":
        for item in items:
            if "sandbox/work" in str(item.path):
                item.add_marker(pytest.mark.skip(reason="boxes are made of what Linux has"))


@pytest.fixture(params=["tmp", "elsewhere"])
def space(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Space]:
    """A workspace in both kinds of places, one after the other."""
    if request.param == "tmp":
        root = tmp_path / "work"
        root.mkdir()
        yield Space(root)
    else:
        with folder_elsewhere() as root:
            yield Space(root)


@pytest.fixture
def room() -> Iterator[Space]:
    """A workspace that does not lie below /tmp."""
    with folder_elsewhere() as root:
        yield Space(root)


@pytest.fixture(autouse=True)
def in_sight() -> None:
    """What runs in these boxes is the interpreter and the package under test, which a private /tmp hides."""
    if os.path.realpath(agent_exec.__file__).startswith(("/tmp/", "/var/tmp/")):
        pytest.skip("this checkout lies in /tmp, which a box has for itself")
