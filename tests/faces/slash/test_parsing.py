"""The text of a command: what is refused in it, how it is taken apart, and where its words may lead."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_exec.faces.slash.feedback import STATUSES, BottomBar, SlashFeedback, SlashRefused
from agent_exec.faces.slash.guard import AllowedShell, ShellExecutionGuard
from agent_exec.faces.slash.line import (
    COMMANDS,
    FORBIDDEN_TEXT,
    LONGEST_LINE,
    ShellCommandParser,
    ShellCommandRequest,
    SlashCommandSubmitted,
    is_japanese,
    joined,
    parse_slash,
    quote,
    words_in,
)
from agent_exec.model.errors import InvalidArgument
from faces.slash.typed import split

OPERATORS = [
    "&&",
    ";",
    "|",
    "||",
    "$(",
    "`",
    "&",
    "<",
    ">",
    ">>",
    "${",
    "<(",
    ">(",
    "$((",
    "\n",
    "\r",
    "\0",
    "2>&1",
]
PARSER = ShellCommandParser()


def refusal(raw: str) -> SlashFeedback:
    with pytest.raises(SlashRefused) as caught:
        PARSER.parse(raw, "/")
    return caught.value.feedback


def guard(path: str | None = None) -> ShellExecutionGuard:
    return ShellExecutionGuard({"PATH": os.environ["PATH"] if path is None else path})


def check(folder: Path, *words: str, path: str | None = None) -> None:
    guard(path).check(ShellCommandRequest(words[0], tuple(words[1:]), str(folder)))


def escapes(folder: Path, *words: str, path: str | None = None) -> str:
    with pytest.raises(SlashRefused) as caught:
        check(folder, *words, path=path)
    assert caught.value.feedback.status == "Error"
    return caught.value.feedback.text


def test_s05_the_first_test(tmp_path: Path) -> None:
    submitted = parse_slash("/shell ls")
    assert submitted == SlashCommandSubmitted("shell", "ls")
    assert PARSER.parse(submitted.args, "/tmp") == ShellCommandRequest("ls", (), "/tmp")


def test_s35_lines_are_taken_apart() -> None:
    assert PARSER.parse("ls -a", "/").words == ("ls", "-a")
    assert PARSER.parse('"echo foo"', "/").words == ("echo foo",)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("form", ["echo a {} b", "echo a{}b", "{}", "echo '{}'", 'echo "a{}"', "echo ok {}"])
def test_s06_s34_joining_operators_are_refused_wherever_they_stand(operator: str, form: str) -> None:
    assert refusal(form.format(operator)) == SlashFeedback(
        "連結演算子は禁止 (joining operators are forbidden)", "Error"
    )


def test_s06_the_text_of_the_contract_alone_in_a_japanese_locale() -> None:
    with pytest.raises(SlashRefused) as caught:
        ShellCommandParser(japanese=True).sanitize_args("a;b")
    assert caught.value.feedback == SlashFeedback(FORBIDDEN_TEXT, "Error")
    assert is_japanese({"LANG": "ja_JP.UTF-8"})
    assert is_japanese({"LC_ALL": "ja", "LANG": "de_DE"})
    assert not is_japanese({"LC_ALL": "C.UTF-8", "LANG": "ja_JP.UTF-8"})
    assert not is_japanese({})


@pytest.mark.parametrize(
    "text",
    [
        "\uff06\uff06",
        "\uff1b",
        "\uff5c",
        "\uff04\uff08",
        "\uff40",
        "\uff1e",
        "\u2028",
        "\u3000",
        "a\u0085b",
        "\u2223",
        "\u2016",
    ],
)
def test_s06_characters_that_only_look_like_operators_are_letters(text: str) -> None:
    assert PARSER.parse(f"echo {text}", "/").args == (text,)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        (" \t ", []),
        ("a  b\tc", ["a", "b", "c"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        ("a'b c'd", ["ab cd"]),
        ("'it'\"'\"'s'", ["it's"]),
        ("'' \"\"", ["", ""]),
        ("a\\ b", ["a\\", "b"]),
        ("'\\'", ["\\"]),
        ("\u3000a\u3000b", ["\u3000a\u3000b"]),
        ("a*?[x]{1,2}#!", ["a*?[x]{1,2}#!"]),
    ],
)
def test_s07_quotes_are_kept_together(line: str, words: list[str]) -> None:
    assert split(line) == words


@pytest.mark.parametrize("line", ["'", '"', "a 'b", "a \"b'", "'a''"])
def test_s07_an_open_quote_is_refused(line: str) -> None:
    assert refusal(line).text.startswith("shell: unterminated quote")
    assert words_in(line)[-1].open in ("'", '"')


@given(st.text())
def test_s07_s21_quoting_is_the_inverse_of_splitting(word: str) -> None:
    assert split(quote(word)) == [word]


@given(st.lists(st.text()))
def test_s07_so_it_is_for_whole_lines(words: list[str]) -> None:
    assert split(joined(tuple(words))) == words


@given(st.text(alphabet="ab '\"\t\\"))
def test_s07_words_know_their_place(line: str) -> None:
    for word in words_in(line):
        part = line[word.start : word.end]
        assert part[0] not in " \t"
        assert [one.text for one in words_in(part)] == [word.text]


@pytest.mark.parametrize("raw", ["", "''", '"" a'])
def test_s07_a_command_has_a_name(raw: str) -> None:
    assert refusal(raw).text.startswith("shell: missing command")


def test_a_command_has_an_end() -> None:
    PARSER.parse("a" * LONGEST_LINE, "/")
    assert "more than" in refusal("a" * (LONGEST_LINE + 1)).text


@pytest.mark.parametrize(
    "argument",
    [
        *("..", "../x", "/etc/passwd", "/", "//etc", "a/../../x", "./..", "sub/../.."),
        *("~", "~/x", "~root", "$HOME", "$HOME/x", "$_x", "--opt=~/x", "--opt=$HOME"),
        *("--opt=../x", "--opt=/etc", "-o=../x", "a=b=../x", "if=/dev/zero", "=/etc"),
        *(
            "-I../x",
            "-I/usr/include",
            "-C..",
            "-xf/etc/passwd",
            "-xC..",
            "-vvf../x",
            "-o~/x",
            "-xfout",
            "-xfchain/x",
        ),
        *("@/etc/passwd", "@../x", "file:///etc/passwd", "FILE:/etc/passwd"),
        *(
            "out",
            "out/passwd",
            "sub/up/x",
            "--file=out/passwd",
            "-fout/passwd",
            "chain",
            "./out",
            "back\\slash",
        ),
    ],
)
def test_s08_arguments_that_lead_out_are_refused(folder: Path, argument: str) -> None:
    (folder / "sub").mkdir()
    (folder / "out").symlink_to("/etc")
    (folder / "sub" / "up").symlink_to("../..")
    (folder / "chain").symlink_to("sub/up")
    (folder / "back\\slash").symlink_to("/etc/passwd")
    assert escapes(folder, "cat", "ok", argument).startswith("shell: path escapes working dir: ")


@pytest.mark.parametrize(
    "argument",
    [
        *(".", "./x", "sub/../x", "x", "missing/deep/x", "in", "in/x", "loop", "..x", "...", "sub/..x"),
        *("--opt=./x", "--opt=sub/x", "-Isub/x", "-I./x", "-n5", "-", "--", "-la", "HEAD~1", "a~", "$1", "$"),
        *(
            "https://example.org/a/b",
            "user@host",
            "a=b=c",
            "",
            " ",
            "\uff0fetc\uff0fpasswd",
            "x\u200b",
            "名前",
            "-m",
            "gone",
        ),
    ],
)
def test_s08_arguments_that_stay_inside_pass(folder: Path, argument: str) -> None:
    (folder / "sub").mkdir()
    (folder / "in").symlink_to("sub")
    (folder / "loop").symlink_to("loop")
    (folder / "gone").symlink_to("sub/missing")
    check(folder, "cat", argument)


def test_s08_a_folder_may_be_named_by_its_whole_path(folder: Path) -> None:
    check(folder, "cat", str(folder), f"{folder}/x", f"--opt={folder}/x")
    (folder.parent / "workshop").mkdir()
    assert escapes(folder, "cat", f"{folder}shop").startswith("shell: path escapes")


def test_s08_programs_of_the_path_may_be_named_by_their_path(folder: Path) -> None:
    check(folder, "/bin/sh", path="/usr/bin:/bin")
    check(folder, "ls", path="")
    escapes(folder, "/bin/sh", path="")
    escapes(folder, "/bin/sh", path="bin:.")
    escapes(folder, "/etc/passwd")
    escapes(folder, "../x")
    escapes(folder, "~/x")
    escapes(folder, "$SHELL")
    escapes(folder, "..")
    (folder / "sh").symlink_to("/bin/sh")
    escapes(folder, "./sh")
    assert "no program is called" in escapes(folder, "-c")


def test_s08_absurd_arguments_are_reported_at_once(folder: Path) -> None:
    assert "equals signs" in escapes(folder, "x", "=a/" * 10_000)
    check(folder, "x", "a/" * 15_000)
    (folder / "out").symlink_to("/etc")
    escapes(folder, "x", "out/" + "./" * 15_000 + "passwd")
    escapes(folder, "x", "a/" * 10_000 + "../" * 10_001)
    assert escapes(folder, "x", "../\x1b[31m" + "y" * 5000).isprintable()
    check(folder, "x", "n" * 5000)


def test_s11_the_guard_makes_a_command_of_what_passes(folder: Path) -> None:
    command = guard("/bin").command(ShellCommandRequest("echo", ("a b",), str(folder)))
    if sys.platform != "win32":
        assert command.argv == ("/bin/sh", "-c", 'exec "$@"', "sh", "echo", "a b")
    assert (command.cwd, command.env) == (str(folder), {"PATH": "/bin"})
    assert (command.limits.timeout, command.stdin) == (300, None)
    with pytest.raises(SlashRefused):
        guard().command(ShellCommandRequest("cat", ("..",), str(folder)))


def test_s12_s13_s40_shells_are_values_that_can_be_added() -> None:
    words = ("it's", "a b", "\u2019")
    assert AllowedShell("/bin/zsh").argv(words) == ["/bin/zsh", "-c", 'exec "$@"', "zsh", *words]
    assert AllowedShell("", "none").argv(words) == list(words)
    assert AllowedShell("pwsh", "powershell").argv(words)[-1].startswith("& 'it''s' 'a b' '\u2019\u2019';")
    with pytest.raises(InvalidArgument):
        AllowedShell("/bin/x", "fish")


def test_s17_the_raw_text_reaches_the_core() -> None:
    assert parse_slash("  /shell   'a  b'  c ") == SlashCommandSubmitted("shell", "'a  b'  c")
    assert parse_slash("/shell\tls") == SlashCommandSubmitted("shell", "ls")
    assert parse_slash("/quit") == SlashCommandSubmitted("quit")
    assert COMMANDS[0].hint == "/shell COMMAND | run a command in this folder"


def test_s19_bad_news_stay_on_the_bottom_bar_good_ones_pass() -> None:
    bar = BottomBar()
    assert bar.shown(0) is None
    for status in STATUSES:
        told = SlashFeedback("text", status)  # type: ignore[arg-type]
        bar.tell(told, 100)
        assert bar.shown(103.9) is told
        assert bar.shown(104) is (None if status in ("Success", "Info") else told)
    bar.tell(SlashFeedback("bad", "Error"), 0)
    bar.tell(SlashFeedback("good", "Success"), 1)
    assert bar.shown(2) == SlashFeedback("good", "Success")
    bar.dismiss()
    assert bar.shown(2) is None
    with pytest.raises(InvalidArgument):
        SlashFeedback("text", "Fine")  # type: ignore[arg-type]
