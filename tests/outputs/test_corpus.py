"""The corpus is what it says: every anchor in its capture, no path of a machine, generated ones always the same."""

import hashlib
import re
from collections import Counter

import pytest

from outputs.corpus import FOLDER, captures

CAPTURES = captures()
STORED = [one for one in CAPTURES if not one.is_generated]
MAX_BYTES = 6 * 1024 * 1024
MIN_CAPTURES = 400
MIN_TOOLS = 50
MIN_RED = 250
MIN_GREEN = 120
# The tools ran in /srv/project, installed below /srv, /usr and the home folder of an example.
FOREIGN = re.compile(
    rb"(?<![\w.~:/-])/(?!srv/(?:project|venv|node_modules)\b|home/ann\b)"
    rb"(?:root|work|home|Users|mnt|workspace|var|srv|data|opt|private)/[\w.-]+"
)
DOCUMENTATION = set(  # which messages of the tools link to; a registry is none
    """
    cwiki.apache.org doc.rust-lang.org docs.astral.sh docs.pytest.org eslint.org eslint.style gcc.gnu.org
    github.com jestjs.io mypy.readthedocs.io peps.python.org pip.pypa.io rust-lang.github.io sqlalche.me
    webpack.js.org www.shellcheck.net yarnpkg.com
    """.split()
)


@pytest.mark.parametrize("tool", sorted({one.tool for one in CAPTURES}))
def test_every_anchor_is_in_its_capture(tool: str) -> None:
    for one in (one for one in CAPTURES if one.tool == tool):
        data = one.data
        assert [anchor for anchor in one.anchors if anchor not in data] == [], one.id
        assert len(set(one.anchors)) == len(one.anchors), one.id
        assert all(len(anchor) >= 3 for anchor in one.anchors), f"{one.id}: shorter ones are found anywhere"
        if one.verdict == "red":
            assert one.anchors or (one.exit and not data), (
                f"{one.id}: only a failure of no bytes has no anchor"
            )
        else:
            assert (one.verdict, one.exit, one.anchors) == ("green", 0, ()), one.id
        assert one.command, one.id
        assert one.version, one.id


def test_no_capture_names_a_machine() -> None:
    for one in STORED:
        data = one.data
        assert FOREIGN.findall(data) == [], one.id
        hosts = {host.decode() for host in re.findall(rb"https?://([\w.-]+)", data)}
        assert hosts <= DOCUMENTATION, one.id


def test_paths_of_machines_are_recognised() -> None:
    for path in (b"/home/me/x", b"at /work/shop/x.py:3", b'"/root/.cargo/bin"', b"(/srv/other/x.js:1)"):
        assert FOREIGN.search(path), path
    for path in (
        b"/srv/project/x.py",
        b"/home/ann/.npm",
        b"/usr/lib/python3.11/json",
        b"src/work/x",
        b"/rooted",
    ):
        assert not FOREIGN.search(path), path


@pytest.mark.parametrize("name", [one.name for one in CAPTURES if one.is_generated])
def test_generated_ones_are_the_same_on_every_run(name: str) -> None:
    one = next(one for one in CAPTURES if one.is_generated and one.name == name)
    data = one.data
    assert hashlib.sha256(data).hexdigest() == one.sha256
    assert len(data) > 1_000_000


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
