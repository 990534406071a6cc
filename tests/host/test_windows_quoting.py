"""Words reach a Windows program as they were written, and cmd.exe acts on none of them."""

import random

import pytest

from agent_exec.host.windows.quoting import (
    LONGEST_LINE,
    Verbatim,
    batch_words,
    command_line,
    is_batch,
    length,
    quote,
    shell_words,
)
from agent_exec.model.errors import InvalidArgument

ALPHABET = 'ab\\\\\\""  \t%^&|<>()!é☃\n\v=,;'
SAFE_FOR_BATCH = "ab\\\\ \t^&|<>()!é=,;'*?"


def parse(line: str) -> list[str]:
    """Read a command line as CommandLineToArgvW does: an independent reading of Microsoft's rules."""
    words: list[str] = []
    if line.startswith('"'):
        first, _, rest = line[1:].partition('"')
    else:
        first, _, rest = line.partition(" ")
    words.append(first)
    at = 0
    while at < len(rest):
        while at < len(rest) and rest[at] in " \t":
            at += 1
        if at == len(rest):
            break
        word, quoted = "", False
        while at < len(rest) and (quoted or rest[at] not in " \t"):
            if rest[at] == "\\":
                start = at
                while at < len(rest) and rest[at] == "\\":
                    at += 1
                count = at - start
                if at < len(rest) and rest[at] == '"':
                    word += "\\" * (count // 2)
                    if count % 2:
                        word += '"'
                        at += 1
                else:
                    word += "\\" * count
            elif rest[at] == '"':
                if quoted and rest[at + 1 : at + 2] == '"':
                    word += '"'
                    at += 2
                else:
                    quoted = not quoted
                    at += 1
            else:
                word += rest[at]
                at += 1
        words.append(word)
    return words


def words_of(rng: random.Random, alphabet: str) -> list[str]:
    return ["".join(rng.choices(alphabet, k=rng.randrange(9))) for _ in range(rng.randrange(6))]


@pytest.mark.parametrize("seed", range(20))
def test_every_argv_survives_the_line(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(500):
        argv = [rng.choice(["prog", "C:\\Program Files\\x.exe", "a\\"]), *words_of(rng, ALPHABET)]
        line = command_line(argv)
        assert parse(line) == argv, line


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("", '""'),
        ("plain", "plain"),
        ("two words", '"two words"'),
        ("C:\\dir\\", "C:\\dir\\"),
        ("C:\\my dir\\", '"C:\\my dir\\\\"'),
        ('say "hi"', '"say \\"hi\\""'),
        ('\\"', '"\\\\\\""'),
        ("a\\\\b", "a\\\\b"),
        (Verbatim('"as it is\\"'), '"as it is\\"'),
    ],
)
def test_one_word(word: str, quoted: str) -> None:
    assert quote(word) == quoted


def test_a_program_name_holds_no_quote() -> None:
    with pytest.raises(InvalidArgument):
        command_line(['a"b'])


@pytest.mark.parametrize("name", ["a.bat", "a.CMD", "dir\\a.cmd", "a.bat.", "a.cmd . ."])
def test_batch_files(name: str) -> None:
    assert is_batch(name)


@pytest.mark.parametrize("name", ["a.exe", "bat", "a.bat.exe", "cmd", "cmd.exe"])
def test_no_batch_files(name: str) -> None:
    assert not is_batch(name)


def test_batch_line() -> None:
    words = batch_words("C:\\bin\\x.cmd", ["plain", "a b", "", "x&calc", "end \\"])
    assert command_line(["cmd.exe", *words]) == (
        'cmd.exe /e:on /v:off /d /s /c ""C:\\bin\\x.cmd" plain "a b" "" "x&calc" "end \\\\""'
    )


@pytest.mark.parametrize("seed", range(10))
def test_cmd_acts_on_no_word_of_a_batch_line(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(500):
        words = words_of(rng, SAFE_FOR_BATCH)
        line = batch_words("C:\\x y\\z.cmd", words)[-1]
        assert line[0] == line[-1] == '"'
        inner = line[1:-1]  # what /s takes off
        quoted = False
        for character in inner:
            if character == '"':
                quoted = not quoted
            assert quoted or character not in "&|<>^()!,;=", inner
        assert not quoted
        assert parse(inner) == ["C:\\x y\\z.cmd", *words]


@pytest.mark.parametrize("word", ['"', 'a"&calc', "%PATH%", "100%", "a\nb", "a\rb"])
def test_what_no_batch_file_can_be_given(word: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        batch_words("x.cmd", ["fine", word])
    assert caught.value.details["argument"] == word
    assert "stdin" in caught.value.message


def test_a_batch_file_in_an_unsafe_place() -> None:
    with pytest.raises(InvalidArgument):
        batch_words("C:\\100%\\x.cmd", [])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["/c", 'echo "a b" && dir'], '/s /c "echo "a b" && dir"'),
        (["/d", "/C", "dir"], '/d /s /C "dir"'),
        (["/d", "/s", "/k", "dir"], '/d /s /k "dir"'),
    ],
)
def test_a_shell_line_reaches_cmd_as_it_was_written(words: list[str], line: str) -> None:
    found = shell_words("C:\\Windows\\System32\\cmd.exe", words)
    assert found is not None
    assert command_line(["cmd", *found]) == f"cmd {line}"


@pytest.mark.parametrize("words", [[], ["/c"], ["/c", "echo", "a b"], ["/c", "/c", "x"], ["x", "/c", "y"]])
def test_any_other_request_of_cmd_is_quoted_as_usual(words: list[str]) -> None:
    assert shell_words("cmd.exe", words) is None


def test_only_cmd_is_a_shell() -> None:
    assert shell_words("C:\\bin\\git.exe", ["/c", "x"]) is None


def test_length_is_in_the_systems_own_characters() -> None:
    assert (length("aé☃"), length("😀"), length("\udc80")) == (3, 2, 1)
    assert LONGEST_LINE < 1 << 15
