"""E52, E62: every line of the contract has its test, and this is the test of that."""

import re
from pathlib import Path


def test_every_numbered_line_has_a_test() -> None:
    """E52: tool, use case, directories, commands, timeouts and cuts are in the files beside this one."""
    text = "\n".join(
        file.read_text()
        for file in Path(__file__).parent.glob("test_*.py")
        if file.name != Path(__file__).name
    )
    found = {int(number) for number in re.findall(r"[eE](\d+)(?=[\b_,:. \"]|$)", text)}
    assert set(range(1, 63)) - found == {52, 62}
