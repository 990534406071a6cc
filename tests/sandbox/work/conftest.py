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
def asked_for() -> None:
    """These depend on what is installed and where, and not all are steady yet: they run when asked for."""
    if not os.environ.get("AGENT_EXEC_TEST_WORK"):
        pytest.skip("set AGENT_EXEC_TEST_WORK=1 to run real work in boxes")
    if os.path.realpath(agent_exec.__file__).startswith(("/tmp/", "/var/tmp/")):
        pytest.skip("this checkout lies in /tmp, which a box has for itself")
