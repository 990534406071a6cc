"""A home and a workspace in it, for the tests of plans."""

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "home"
    place.mkdir()
    return place


@pytest.fixture
def root(home: Path) -> Path:
    place = home / "work"
    place.mkdir()
    return place
