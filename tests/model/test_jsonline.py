"""JSON on one line, as the standard library would read and write it."""

import json
import random
from typing import Any

import pytest

from agent_exec.model.jsonline import dump, load

VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2**70,
    1.5,
    -1e-9,
    1e300,
    "",
    "text",
    'a "quoted" \\ text',
    "\0\x01\x1f\x7f\x80\x85\xa0",
    "\n\r\t\b\f\v",
    "\u2028\u2029",
    "日本語 é 😀",
    "\ud83d",
    "\udcff half",
    [],
    [1, [2, [3]]],
    {},
    {"a": {"b": [None, True, {"c": "d"}]}, "": 0, "é\n": "\u2028"},
]


@pytest.mark.parametrize("value", VALUES, ids=ascii)
def test_what_is_written_is_json_on_one_line(value: object) -> None:
    line = dump(value)
    assert json.loads(line) == value
    assert load(line) == value
    assert line.splitlines() == [line]
    assert line.encode()  # no half characters
    assert "\x7f" not in line


@pytest.mark.parametrize("value", VALUES, ids=ascii)
def test_what_the_standard_library_writes_is_read(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value, indent=1)):
        assert load(text) == value


HARMFUL = "".join(
    map(
        chr,
        (
            *range(0x20),
            *range(0x7F, 0xA0),
            0x61C,
            0x200E,
            0x200F,
            *range(0x202A, 0x202F),
            *range(0x2066, 0x206A),
        ),
    )
)


@pytest.mark.parametrize("more", ["", "é", "日本"])
def test_nothing_in_a_line_is_obeyed_by_a_terminal(more: str) -> None:
    for one in HARMFUL:
        line = dump({f"k{one}{more}": [f"{more}a{one}b"]})
        assert one not in line
        assert json.loads(line) == {f"k{one}{more}": [f"{more}a{one}b"]}
    assert not set(HARMFUL) & set(dump(HARMFUL + more))


def test_it_is_compact() -> None:
    value = {"a": [1, 2.5, "x"], "b": {"c": None}}
    assert dump(value) == json.dumps(value, separators=(",", ":"))
    assert dump((1, 2)) == "[1,2]"


def test_text_is_written_as_it_is() -> None:
    assert dump("日本 é 😀") == '"日本 é 😀"'


@pytest.mark.parametrize("value", [b"bytes", object(), {1}, 1j, [b""], {"a": object()}])
def test_what_json_has_not_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        dump(value)


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", '{"a"', '{"a":1', "[1,", '"open', "nul", "{'a':1}", "1 2", "{} {}", '{"a":1}x', "]"],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        load(text)


def test_every_cut_of_a_line_is_refused() -> None:
    line = dump({"job_id": "01", "tags": ["é", "\u2028"], "exit_code": None, "n": 12})
    for size in range(len(line)):
        with pytest.raises(ValueError):  # noqa: PT011
            load(line[:size])


def test_any_text_comes_back() -> None:
    chance = random.Random(4)
    for _ in range(500):
        text = "".join(
            chr(chance.choice((chance.randrange(256), chance.randrange(0x110000)))) for _ in range(20)
        )
        line = dump(text)
        assert json.loads(line) == load(line)
        assert line.splitlines() == [line]
        assert line.encode()
        if not any(0xD800 <= ord(letter) < 0xE000 for letter in text):
            assert load(line) == text
