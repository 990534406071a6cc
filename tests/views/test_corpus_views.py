"""Views of every captured output: nothing that matters is lost, nothing is invented, the budget is kept."""

import pytest

from agent_exec.views.wanted import ENOUGH
from outputs.corpus import Capture, captures
from views.showing import LIMIT, NOTE, invented, view

SMALL = 8_000
GREEN, RED = 0.2, 0.5
VERDICTS = ("passed", "success", "no error", "identical", " ok", "failed", "no tests")


@pytest.mark.parametrize("capture", captures(), ids=lambda one: one.id)
def test_a_view_of_a_captured_output_is_truthful(capture: Capture) -> None:
    data = capture.data
    for limit in (LIMIT, SMALL):
        shown = view(data, exit_code=capture.exit, limit=limit)
        assert len(shown.text.encode()) <= limit
        assert invented(shown, data) == []
        assert view(data, exit_code=capture.exit, limit=limit) == shown
        for note in NOTE.findall(shown.text):
            assert not any(word in note.lower() for word in VERDICTS)
        if limit == LIMIT:
            assert [anchor for anchor in capture.anchors if anchor.decode() not in shown.text] == []


def test_views_are_much_smaller_than_the_outputs() -> None:
    sizes = {"green": [0, 0], "red": [0, 0]}
    for capture in captures():
        data = b"" if capture.is_generated else capture.data
        if len(data) > ENOUGH:
            sizes[capture.verdict][0] += len(data)
            sizes[capture.verdict][1] += len(view(data, exit_code=capture.exit).text.encode())
    for verdict, most in (("green", GREEN), ("red", RED)):
        before, after = sizes[verdict]
        assert after <= before * most
