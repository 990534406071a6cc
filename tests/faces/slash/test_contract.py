"""Each line of the contract has a test that bears its number."""

import re
from pathlib import Path

LINES = set(range(1, 42))
INTERFACE = {24, 25, 26}
"""The block in the preview pane, and the keys that open and close the view: tested with the program."""


def test_each_line_of_the_contract_has_a_test() -> None:
    tests = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    names = re.findall(r"def (test_s\w+)", tests)
    found = {int(number) for name in names for number in re.findall(r"(?<=_s)\d+(?=_)", name)}
    wanted = LINES - INTERFACE
    assert not wanted - found
    assert not found - LINES
