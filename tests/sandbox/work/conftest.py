"""Workspaces: one below /tmp, which is private in a box, and one elsewhere."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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
