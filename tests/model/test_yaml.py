"""YAML: another implementation reads back exactly what was written."""

import math
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.model.yaml import dump_yaml

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
LINES = st.lists(
    st.sampled_from(["", "a", " b", "\tc", "d ", "- e", "# f", "g: h", "---", "...", "%", "é"])
).map("\n".join)
VALUES = st.recursive(
    SCALARS | LINES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6
)


def read(text: str) -> Any:
    return yaml.load(text, Loader=yaml.SafeLoader)


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(st.text(), VALUES, min_size=1, max_size=2))
def test_whatever_was_written_is_read_back(value: dict[str, Any]) -> None:
    assert read(dump_yaml(value)) == value


@pytest.mark.parametrize(
    "text",
    ["", "no", "null", "~", "1", "0x1f", "1_000", "12:30:45", "1e3", ".inf", "2026-11-16", "=", "<<", "\x00\x1b[0m", "\x85", "\u2028a\nb", "\ufeff", "\uffff", "a\r\nb", "\n", "\n\n", " a\nb", "a\nb ", "a\n\n\nb\n\n", "\U0001f600\n\udc80"],
)  # fmt: skip
def test_a_text_stays_that_text_as_key_and_as_value(text: str) -> None:
    assert read(dump_yaml({text: text, "list": [text, [text]]})) == {text: text, "list": [text, [text]]}


def test_numbers_stay_numbers() -> None:
    found = read(
        dump_yaml({"small": 1e-7, "large": 1e300, "whole": 2.0, "least": -math.inf, "none": math.nan})
    )
    assert math.isnan(found.pop("none"))
    assert found == {"small": 1e-7, "large": 1e300, "whole": 2.0, "least": -math.inf}
    assert all(isinstance(number, float) for number in found.values())


def test_text_of_several_lines_is_readable() -> None:
    assert dump_yaml({"stdout": "one\n  two\n"}) == "stdout: |2\n  one\n    two\n"
    assert dump_yaml({"jobs": [{"a": 1, "b": []}]}) == "jobs:\n  - a: 1\n    b: []\n"
