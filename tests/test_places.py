"""Folders of ours are for their owner alone, whatever the caller's umask."""

import os
import stat
from pathlib import Path

import pytest

from agent_exec.places import make_folder


@pytest.mark.parametrize("umask", [0, 0o022])
def test_folders_above_are_private_too(tmp_path: Path, umask: int) -> None:
    former = os.umask(umask)
    try:
        make_folder(str(tmp_path / "a" / "b" / "c"))
    finally:
        os.umask(former)
    made = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in made] == [0o700] * 3
    make_folder(str(made[-1]))


def test_a_link_that_leads_nowhere_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere/at/all")
    with pytest.raises(FileNotFoundError):
        make_folder(str(tmp_path / "link" / "folder"))


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_something_else_in_its_place_is_refused(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    place.touch() if kind == "file" else place.symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        make_folder(str(place))
