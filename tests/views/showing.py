"""Helpers of the tests of views: a view of bytes, and whether it only holds what the log holds."""

import re

from agent_exec.views.reader import Source, of_bytes
from agent_exec.views.show import Shown, show
from agent_exec.views.wanted import AUTO, View

LIMIT = 40_000
NOTE = re.compile(r"\[…[^\n]* …\]|\[\d+ (?:of \d+ lines|bytes) left out; [^\n]*\]")


def view(data: bytes, asked: View = AUTO, *, exit_code: int | None = 1, limit: int = LIMIT) -> Shown:
    """Return a view of bytes."""
    source = Source(of_bytes(data), 0, len(data))
    return show(source, asked, limit=limit, exit_code=exit_code, more="read range={start}-{end}")


def invented(shown: Shown, data: bytes) -> list[str]:
    """Return the lines of a view that are neither notes nor in the log, in the order in which it shows them."""
    text = data.decode(errors="replace")
    found, at = [], 0
    for part in NOTE.split(shown.text):
        for line in part.replace("\r", "\n").split("\n"):
            place = text.find(line, at)
            if place < 0:
                found.append(line)
            else:
                at = place + len(line)
    return found
