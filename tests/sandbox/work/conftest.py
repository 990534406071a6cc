"""Workspaces: below /tmp, which is private in a box, and elsewhere; our own, and an ordinary user's."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox.work.boxes import (
    BECOME_NOBODY,
    SPACES,
    Space,
    User,
    copy_package,
    folder_below_tmp,
    folder_elsewhere,
    give,
    interpreter,
    need,
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if sys.platform != "linux":
        for item in items:
            if "sandbox/work" in str(item.path):
                item.add_marker(pytest.mark.skip(reason="boxes are made of what Linux has"))


def _need_namespaces(become: list[str], whose: str) -> None:
    need("unshare", *become[:1])
    tried = subprocess.run(
        [*become, "unshare", "--user", "--mount", "true"], cwd="/", capture_output=True, check=False
    )
    if tried.returncode:
        pytest.skip(f"there are no user namespaces for {whose} here")


@pytest.fixture(scope="session")
def boxes() -> None:
    """Skips where there can be no boxes."""
    _need_namespaces([], "us")
    interpreter()


@pytest.fixture(scope="session")
def site() -> Iterator[Path]:
    """A folder with our package and the driver, where an ordinary user has all that it needs."""
    _need_namespaces(BECOME_NOBODY, "an ordinary user")
    interpreter(nobody=True)
    with folder_elsewhere() as folder:
        copy_package(folder)
        shutil.copy(Path(__file__).parent / "driver.py", folder)
        give(folder)  # so that what is compiled there is kept
        yield folder


@pytest.fixture(params=SPACES)
def space(request: pytest.FixtureRequest, boxes: None) -> Iterator[Space]:
    """A workspace of either user in either kind of place, one after the other."""
    who, _, where = request.param.rpartition("-")
    with ExitStack() as stack:
        root = stack.enter_context(folder_below_tmp() if where == "tmp" else folder_elsewhere())
        user = None
        if who:
            user = User(request.getfixturevalue("site"))
            stack.callback(user.close)
        yield Space(root, user)


@pytest.fixture
def room(boxes: None) -> Iterator[Space]:
    """A workspace of ours that does not lie below /tmp."""
    with folder_elsewhere() as root:
        yield Space(root)


@pytest.fixture
def hidden() -> Iterator[Path]:
    """A folder that boxes hide, but for roots in it."""
    with folder_below_tmp() as folder:
        yield folder
