"""The corpus is what it says: every anchor in its capture, no path of a machine, generated ones always the same."""

import hashlib
import re
from collections import Counter

import pytest

from outputs.corpus import FOLDER, Capture, captures

CAPTURES = captures()
STORED = [one for one in CAPTURES if not one.is_generated]
MAX_BYTES = 6 * 1024 * 1024
MIN_CAPTURES = 60
MIN_TOOLS = 4
MIN_RED = 40
MIN_GREEN = 15
# The tools ran in /srv/project, installed below /srv, /usr and the home folder of an example.
FOREIGN = re.compile(
    rb"(?<![\w.~:/-])/(?!srv/(?:project|venv|node_modules)\b|home/ann\b)"
    rb"(?:root|work|home|Users|mnt|workspace|var|srv|data|opt|private)/[\w.-]+"
)
DOCUMENTATION = {  # which messages of the tools link to; a registry is none
    "docs.astral.sh",
    "docs.pytest.org",
    "mypy.readthedocs.io",
}


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda one: one.id)
def test_every_anchor_is_in_its_capture(capture: Capture) -> None:
    data = capture.data
    assert [anchor for anchor in capture.anchors if anchor not in data] == []
    assert len(set(capture.anchors)) == len(capture.anchors)
    assert capture.verdict in ("green", "red")
    assert bool(capture.anchors) == (capture.verdict == "red"), "a red one has anchors, a green one has none"
    assert capture.exit == 0 or capture.verdict == "red", "a failed command is never green"
    assert capture.command
    assert capture.version


@pytest.mark.parametrize("capture", STORED, ids=lambda one: one.id)
def test_no_capture_names_a_machine(capture: Capture) -> None:
    assert FOREIGN.findall(capture.data) == []
    hosts = set(re.findall(rb"https?://([\w.-]+)", capture.data))
    assert {host.decode() for host in hosts} <= DOCUMENTATION


@pytest.mark.parametrize("capture", [one for one in CAPTURES if one.is_generated], ids=lambda one: one.id)
def test_generated_ones_are_the_same_on_every_run(capture: Capture) -> None:
    assert hashlib.sha256(capture.data).hexdigest() == capture.sha256
    assert len(capture.data) > 1_000_000


def test_the_corpus_is_large_enough_and_small_enough() -> None:
    verdicts = Counter(one.verdict for one in CAPTURES)
    assert len(CAPTURES) >= MIN_CAPTURES
    assert len({one.tool for one in STORED}) >= MIN_TOOLS
    assert verdicts["red"] >= MIN_RED
    assert verdicts["green"] >= MIN_GREEN
    assert sum(file.stat().st_size for file in FOLDER.rglob("*")) <= MAX_BYTES


def test_every_capture_has_one_entry_and_every_entry_a_capture() -> None:
    listed = Counter(one.id for one in STORED)
    there = {f"{file.parent.name}/{file.stem}" for file in FOLDER.glob("*/*.out")}
    assert listed.keys() == there
    assert set(listed.values()) == {1}
