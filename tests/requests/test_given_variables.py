"""The environment of a command, as it is asked for by options."""

import os
from pathlib import Path

import pytest

from agent_exec.model.errors import InvalidArgument
from agent_exec.requests.given_variables import Environment

BASE = {b"PATH": b"/bin", b"X": b"base", b"RAW": b"\xff"}


def file(folder: Path, text: str) -> str:
    path = folder / f"env{len(list(folder.iterdir()))}"
    path.write_text(text)
    return str(path)


def test_the_base_is_inherited_and_stays_as_it_is() -> None:
    found = Environment(BASE, given=["X=given"])
    assert found.values == BASE | {b"X": b"given"}
    assert BASE[b"X"] == b"base"
    assert Environment(BASE).values == BASE


def test_without_the_base_there_is_only_what_is_given() -> None:
    found = Environment(BASE, inherit=False, given=["A=1"])
    assert found.values == {b"A": b"1"}
    assert Environment(BASE, inherit=False).values == {}


def test_files_come_in_order_and_before_what_is_given(tmp_path: Path) -> None:
    files = [file(tmp_path, "A=1\nB=1\nC=1\n"), file(tmp_path, "B=2\nC=2\n")]
    found = Environment({}, files=files, given=["C=3", "D=3"])
    assert found.values == {b"A": b"1", b"B": b"2", b"C": b"3", b"D": b"3"}
    assert found.given == ["A", "B", "C", "D"]
    assert found.shown == ["C=3", "D=3"]


def test_a_file_is_lines_of_name_and_value(tmp_path: Path) -> None:
    text = "# comment\n\n  A = 1 2 \r\nB=a=b#c\nC=\n  # indented\nD='q'\nÉ=é"
    found = Environment({}, files=[file(tmp_path, text)])
    assert found.values == {
        b"A": b"1 2",
        b"B": b"a=b#c",
        b"C": b"",
        b"D": b"'q'",
        "É".encode(): "é".encode(),
    }


@pytest.mark.parametrize("text", ["nonsense", "A=1\n=value", "  =", "A=1\nB"])
def test_a_line_that_is_none_is_refused_with_its_number_and_without_its_text(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(InvalidArgument, match=f"line {text.count(chr(10)) + 1}: write NAME=VALUE") as error:
        Environment({}, files=[file(tmp_path, text)])
    assert "nonsense" not in error.value.message


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="cannot be read: No such file") as error:
        Environment({}, files=[str(tmp_path / "missing")])
    assert error.value.details == {"path": str(tmp_path / "missing")}
    with pytest.raises(InvalidArgument, match="cannot be read: Is a directory"):
        Environment({}, files=[str(tmp_path)])


def test_a_name_alone_is_taken_from_the_base() -> None:
    found = Environment(BASE, inherit=False, given=["X", "RAW"])
    assert found.values == {b"X": b"base", b"RAW": b"\xff"}
    assert found.shown == ["X=***", "RAW=***"]
    with pytest.raises(InvalidArgument, match="--env MISSING=VALUE"):
        Environment(BASE, given=["MISSING"])


@pytest.mark.parametrize("word", ["", "=", "=value", "A\0=x", "A=\0"])
def test_what_is_no_variable_is_refused(word: str) -> None:
    with pytest.raises(InvalidArgument):
        Environment(BASE, given=[word])


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("PLAIN", False),
        ("MASKED", True),
        ("masked", False),
        ("API_KEY", True),
        ("my_secret", True),
        ("GithubToken", True),
        ("PGPASSWORD", True),
    ],
)
def test_secrets_are_not_shown(name: str, hidden: bool) -> None:
    found = Environment({}, given=[f"{name}=v"], mask=["MASKED"])
    assert found.shown == [f"{name}={'***' if hidden else 'v'}"]
    assert found.values == {name.encode(): b"v"}


def test_bytes_that_are_no_text_are_kept() -> None:
    found = Environment({}, given=["A=" + os.fsdecode(b"\xfe")])
    assert found.values == {b"A": b"\xfe"}


def test_each_name_is_given_once_in_order_however_many_there_are(tmp_path: Path) -> None:
    """A name is looked up, not searched for: the names of a long file were compared with all before them."""
    many = [f"V{number}" for number in range(100_000)]
    text = "".join(f"{name}=1\n" for name in (*many, *reversed(many)))
    assert Environment({}, files=[file(tmp_path, text)]).given == many
