"""TOML with line numbers: every key, table and element is found on the line that it is on."""

from typing import Any

import pytest

from agent_exec.model.document import Document
from agent_exec.model.errors import InvalidSettings

TEXT = '''\
first = 1
deep.key = """several
lines [not.a.table]
x = 1"""

[one.two]  # a comment = with [marks]
list = [
    1,
    "two # no comment",
    { three = 3, four = [
        4.5] },
]
"quoted.key" = 1979-05-27 07:32:00
'literal key' = 'it''

[[many]]
name = "first"
[[many]]
name = "second"
[many.below]
key = true
[[many.inner]]
key = """"quoted""""
'''.replace("'it''", "'it'")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("first",), 1),
        (("deep",), 2),
        (("deep", "key"), 2),
        (("one", "two"), 6),
        (("one", "two", "list"), 7),
        (("one", "two", "list", 1), 9),
        (("one", "two", "list", 2, "three"), 10),
        (("one", "two", "list", 2, "four", 0), 11),
        (("one", "two", "quoted.key"), 13),
        (("one", "two", "literal key"), 14),
        (("many", 0), 16),
        (("many", 1, "name"), 19),
        (("many", 1, "below", "key"), 21),
        (("many", 1, "inner", 0), 22),
        (("many", 1, "inner", 0, "key"), 23),
        (("one", "two", "missing"), 6),
        (("nothing", "at", "all"), 1),
    ],
)
def test_the_line_of_a_path(path: tuple[str | int, ...], line: int) -> None:
    assert Document(TEXT, "file").line(path) == line


def test_every_path_of_the_data_has_a_line() -> None:
    document = Document(TEXT, "file")

    def walk(value: Any, path: tuple[str | int, ...]) -> None:
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, inner in items:
            assert document.line((*path, key)) >= document.line(path) or not path, (*path, key)
            walk(inner, (*path, key))

    walk(document.data, ())


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\nb = \n", 2), ("a = 1\n\nb = [", 3), ("a = 1\na = 2", 2), ("a = " + "[" * 20000, 1)],
)
def test_what_is_no_toml_has_a_line(text: str, line: int) -> None:
    with pytest.raises(InvalidSettings, match=f"file:{line}: this is not TOML") as caught:
        Document(text, "file")
    assert caught.value.details == {"file": "file", "line": line}


KNOWN = {
    "auto": ("flag", "true"),
    "age": ("time", '"7d"'),
    "most": ("count", "10"),
    "words": ("words", '["sh", "-c"]'),
    "names": ("text or texts", '"a"'),
    "line": ("command", '"make"'),
    "port": ("port", '"auto"'),
    "env": ("variables", '{ A = "b" }'),
}


def test_values_come_typed() -> None:
    text = '[s]\nauto = false\nage = "5m"\nmost = 0\nwords = ["a"]\nnames = "x"\nline = ["a", "b"]\nport = 80\nenv = { A = 1 }'
    assert Document(text, "file").fields(("s",), KNOWN) == {
        "auto": False,
        "age": 300.0,
        "most": 0,
        "words": ["a"],
        "names": ["x"],
        "line": ["a", "b"],
        "port": "80",
        "env": {"A": "1"},
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("atuo = true", r"\[s\] has no 'atuo'; did you mean auto\?"),
        ("zzzz = 1", r"\[s\] has no 'zzzz'; it has auto, age, "),
        ("auto = 1", r"\[s\] auto must be true or false; got 1; write auto = true"),
        ('age = "5"', r"\[s\] age must be a time with its unit .*; got '5'; write age = \"7d\""),
        ("age = 5", "age must be a time with its unit"),
        ('age = "5 parsecs"', "age must be a time with its unit"),
        ("most = -1", "most must be a whole number, 0 or more; got -1; write most = 10"),
        ("most = true", "most must be a whole number, 0 or more; got true"),
        ("most = 1.5", "most must be a whole number"),
        ("words = []", r"words must be a list of words, the program first; got \[\]"),
        ('words = ["a", 1]', "words must be a list of words"),
        ("names = [1]", "names must be a text or a list of texts"),
        ('line = ""', "line must be a shell line as a text, or a list of words"),
        ("port = 70000", 'port must be "auto" or a number from 1 to 65535; got 70000'),
        ("env = { A = [] }", "env must be a table of variables"),
        ('env = { "A=B" = "x" }', "env must be a table of variables"),
    ],
)
def test_a_mistake_has_a_line_and_what_to_write(line: str, message: str) -> None:
    document = Document(f"[s]\n\n{line}\n", "file.toml")
    with pytest.raises(InvalidSettings, match=rf"^file\.toml:3: .*{message}") as caught:
        document.fields(("s",), KNOWN)
    assert caught.value.code == "config_error"


def test_a_value_in_place_of_a_table_is_refused() -> None:
    with pytest.raises(InvalidSettings, match=r"f:1: \[s\] must be a table of keys; got 1"):
        Document("s = 1", "f").fields(("s",), KNOWN)
