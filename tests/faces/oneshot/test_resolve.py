"""From tokens to argv, on every platform; and real shells, where they are."""

import ntpath
import shutil
from pathlib import Path

import pytest

from agent_exec.faces.oneshot.kit import create_agent_toolkit
from agent_exec.host.windows.program import find_program
from agent_exec.model.errors import CommandNotFound, InvalidArgument
from agent_exec.requests.shells import (
    LONGEST_WORD,
    quote_posix,
    quote_powershell,
    resolve_command,
    shell_for,
    shell_name,
)
from faces.oneshot.seen import ALL, MakeKit, code, data

WINDOWS = shell_for("win32")
NASTY = [
    "",
    " ",
    "plain",
    "two words",
    "'",
    "''",
    "'a' 'b'",
    '"',
    "a'b\"c",
    "$HOME",
    "${HOME}",
    "$(echo injected)",
    "`echo injected`",
    "; echo injected",
    "& echo injected &",
    "| cat",
    "&& false",
    "> out",
    "< in",
    "*",
    "?",
    "[a-z]*",
    "{a,b}",
    "~",
    "~root",
    "=ls",
    "!!",
    "#no comment",
    "\\",
    "\\n",
    "a\\",
    "-n",
    "--",
    "A=1",
    "line\nbreak",
    "tab\tand\rreturn",
    "\x01\x1b[31m",
    "^x",
    "%PATH%",
    "日本語 é 😀",
    "\u2018\u2019\u201a\u201b",
    "\udcff\udc80",
]


def shown(tokens: list[str]) -> list[str]:
    return ["printf", "%s\\0", *tokens]


def test_e12_the_shells_of_the_platforms() -> None:
    """E12, and E25: on Linux nothing is chosen, it is always the same."""
    assert shell_for("win32") == ("pwsh.exe", "-NoLogo", "-NoProfile", "-Command")
    assert shell_for("darwin") == ("zsh", "-lc")
    assert shell_for("linux") == shell_for("freebsd14") == ("/bin/sh", "-c")


def test_e25_the_environment_does_not_choose_the_shell(
    make_kit: MakeKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/nowhere/fish")
    assert data(make_kit().exec_command(".", ["echo", "hello"]))["stdout"] == "hello\n"


def test_e38_e39_the_two_modes() -> None:
    tokens = ["git", "log", "--format=%h 'x'"]
    assert resolve_command(tokens, "direct", shell_for("linux")) == tokens
    line = "'git' 'log' '--format=%h '\"'\"'x'\"'\"''"
    assert resolve_command(tokens, "default", shell_for("linux")) == ["/bin/sh", "-c", line]
    assert resolve_command(tokens, "default", shell_for("darwin")) == ["zsh", "-lc", line]


def test_e59_echo_on_windows() -> None:
    """E59: what pwsh.exe is told; its exit code is the program's, or 1 if there was none and it failed."""
    assert resolve_command(["echo", "hello"], "default", WINDOWS) == [
        "pwsh.exe",
        "-NoLogo",
        "-NoProfile",
        "-Command",
        "& 'echo' 'hello'; if ($?) { exit 0 } elseif ($LASTEXITCODE) { exit $LASTEXITCODE } exit 1",
    ]


@pytest.mark.parametrize(
    ("token", "quoted"),
    [
        ("", "''"),
        ("a b", "'a b'"),
        ("it's", "'it''s'"),
        ("'", "''''"),
        ("\u2018\u2019\u201a\u201b", "'\u2018\u2018\u2019\u2019\u201a\u201a\u201b\u201b'"),
        ("'\u2019", "'''\u2019\u2019'"),
        ('say "hi"', "'say \"hi\"'"),
        ("$x `n $(y) @z --% ; | & \n", "'$x `n $(y) @z --% ; | & \n'"),
    ],
)
def test_quoting_for_powershell(token: str, quoted: str) -> None:
    assert quote_powershell(token) == quoted
    assert read_powershell(quoted) == token


@pytest.mark.parametrize("token", NASTY, ids=ascii)
def test_powershell_reads_back_what_was_quoted(token: str) -> None:
    assert read_powershell(quote_powershell(token)) == token


def read_powershell(text: str) -> str:
    """Read a quoted string as PowerShell does: a quote of any kind ends it, unless another follows."""
    quotes = "'\u2018\u2019\u201a\u201b"
    assert text[0] in quotes
    found: list[str] = []
    place = 1
    while True:
        if text[place] in quotes:
            place += 1
            if place == len(text):
                return "".join(found)
            assert text[place] in quotes, "something comes after the string"
        found.append(text[place])
        place += 1


@pytest.mark.parametrize(
    "shell", [None, ["bash", "-c"], ["dash", "-c"], ["zsh", "-lc"], ["ksh", "-c"]], ids=str
)
def test_e8_nothing_in_a_token_means_anything_to_the_shell(
    root: Path, shell: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E8: and what comes back are the tokens alone, without the wrapper."""
    if shell is not None and shutil.which(shell[0]) is None:
        pytest.skip(f"no {shell[0]} here")
    home = root.parent / "home"
    home.mkdir()
    (home / ".zshenv").write_text("setopt rc_quotes extended_glob\nalias printf='echo injected'\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("ZDOTDIR", raising=False)
    kit = create_agent_toolkit(root, ALL, shell=shell)
    answer = data(kit.exec_command(".", shown(NASTY)))
    assert answer["stderr"] == ""
    assert answer["command"] == shown(NASTY)
    # What is no UTF-8 is given as it is, and comes back as what cannot be read.
    expected = [token.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for token in NASTY]
    assert answer["stdout"].split("\0")[:-1] == expected


@pytest.mark.parametrize("name", ["A=1", "if", "-c", "--version", "!", "{", "a b", "[[", "$0", "*", "~"])
def test_e8_the_first_token_is_a_name_and_nothing_else(make_kit: MakeKit, name: str) -> None:
    answer = data(make_kit().exec_command(".", [name]))
    assert answer["exit_code"] == 127
    assert name in answer["stderr"]


def test_e59_echo_through_a_real_login_zsh(make_kit: MakeKit) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("no zsh here")
    kit = make_kit(shell=shell_for("darwin"))
    answer = data(kit.exec_command("src", ["echo", "hello"]))
    assert (answer["exit_code"], answer["stdout"], answer["stderr"]) == (0, "hello\n", "")
    assert answer["command"] == ["echo", "hello"]
    assert data(kit.exec_command(".", ["no-such-program-here"]))["exit_code"] == 127
    many = ["printf", "%s\\n", *("x" * 90 for _ in range(3000))]
    assert data(kit.exec_command(".", many, max_output_chars=1_000_000))["stdout"].count("\n") == 3000


def test_a_real_powershell_hands_on_the_exit_code(make_kit: MakeKit) -> None:
    if shutil.which("pwsh") is None:
        pytest.skip("no pwsh here")
    kit = make_kit(shell=["pwsh", *shell_for("win32")[1:]])
    assert data(kit.exec_command(".", ["sh", "-c", "exit 7"]))["exit_code"] == 7
    assert data(kit.exec_command(".", ["sh", "-c", "echo a; exit 0"]))["exit_code"] == 0
    assert data(kit.exec_command(".", ["no-such-program-here"]))["exit_code"] == 1
    assert data(kit.exec_command(".", ["echo", "it\u2019s $HOME"]))["stdout"] == "it\u2019s $HOME\n"


def test_a_long_command_goes_through_the_shell_too(make_kit: MakeKit) -> None:
    """One word of an argv holds 128 KiB on Linux; a command of many tokens may be longer."""
    kit = make_kit()
    tokens = [f"{number} 'it' $x" + "y" * 90 for number in range(3000)]
    assert sum(map(len, tokens)) > 2 * 131_072
    answer = data(kit.exec_command(".", shown(tokens), max_output_chars=1_000_000))
    assert answer["stdout"].split("\0")[:-1] == tokens
    assert answer["command"] == shown(tokens)
    argv = resolve_command(tokens, "default", shell_for("linux"))
    assert argv == ["/bin/sh", "-c", '"$@"', "/bin/sh", *tokens]
    edge = "é" * (LONGEST_WORD - 10)
    assert data(kit.exec_command(".", ["printf", edge]))["stdout"] == edge


def test_a_token_that_no_system_call_takes_is_the_callers_mistake(make_kit: MakeKit) -> None:
    for mode in ("default", "direct"):
        answer = make_kit().exec_command(".", ["true", "x" * 3_000_000], shell_mode=mode)
        assert code(answer) == "INVALID_ARGUMENT"
        assert "too long" in answer["message"]


def test_a_missing_shell_is_not_the_callers_missing_command(make_kit: MakeKit) -> None:
    """E32: COMMAND_NOT_FOUND is for direct mode alone."""
    answer = make_kit(shell=["/nowhere/zsh", "-lc"]).exec_command(".", ["echo", "hello"])
    assert code(answer) == "INTERNAL"
    assert "/nowhere/zsh" in answer["message"]
    assert "direct" in answer["message"]


@pytest.mark.parametrize(
    "shell", [[], ["sh"], "sh -c", ["fish", "-c"], ["csh", "-c"], ["sh", 5], ["/bin/", "-c"], 5], ids=str
)
def test_a_shell_for_which_we_cannot_quote_is_refused(make_kit: MakeKit, shell: object) -> None:
    with pytest.raises(InvalidArgument, match="shell must be a program and its switches"):
        make_kit(shell=shell)


def test_the_name_of_a_shell() -> None:
    assert shell_name(["C:\\Program Files\\PowerShell\\7\\pwsh.EXE"]) == "pwsh"
    assert shell_name(["/usr/bin/zsh"]) == "zsh"
    assert quote_posix("-") == "'-'"


def test_e11_e41_windows_finds_a_program_without_its_ending() -> None:
    """E11, E41: PATHEXT says which endings may be left out, and in which order they are tried."""
    there = {
        "c:\\git\\git.exe",
        "c:\\bun\\bun.cmd",
        "c:\\bun\\both.bat",
        "c:\\bun\\both.exe",
        "c:\\w\\own.cmd",
    }

    def look(path: str) -> str | None:
        return "file" if ntpath.normpath(path).lower() in there else None

    def find(name: str, **env: str) -> str:
        full = {"PATH": "C:\\git; C:\\bun;;", "PATHEXT": ".COM;.EXE;.BAT;.CMD"} | env
        return find_program(name, "C:\\w", full, "C:\\Windows", look)  # type: ignore[arg-type]

    assert find("git").lower() == "c:\\git\\git.exe"
    assert find("git.exe").lower() == "c:\\git\\git.exe"
    assert find("bun").lower() == "c:\\bun\\bun.cmd"
    assert find("both").lower() == "c:\\bun\\both.exe"
    assert find("both", PATHEXT=".BAT;.EXE").lower() == "c:\\bun\\both.bat"
    assert find(".\\own").lower() == "c:\\w\\own.cmd"
    assert find("./own.cmd").lower() == "c:\\w\\own.cmd"
    for name in ("own", "nowhere", "bun.exe"):
        with pytest.raises(CommandNotFound, match=name):
            find(name)


def test_e40_a_path_is_a_path_and_a_name_is_looked_up(
    make_kit: MakeKit, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = root / "src" / "tool"
    tool.write_text("#!/bin/sh\necho here\n")
    kit = make_kit()

    def run(cwd: str, name: str) -> dict[str, object]:
        return kit.exec_command(cwd, [name], shell_mode="direct")

    for name in ("./tool", "tool", str(tool)):
        assert code(run("src", name)) == "COMMAND_NOT_FOUND", "it is not executable yet"
    tool.chmod(0o755)
    assert data(run("src", "./tool"))["stdout"] == "here\n"
    assert data(run(".", "src/tool"))["stdout"] == "here\n"
    assert data(run(".", str(tool)))["stdout"] == "here\n"
    assert code(run("src", "tool")) == "COMMAND_NOT_FOUND"
    assert code(run(".", "./tool")) == "COMMAND_NOT_FOUND"
    assert code(run(".", "./src")) == "COMMAND_NOT_FOUND", "a folder is no program"
    monkeypatch.setenv("PATH", f"{root / 'src'}:/usr/bin:/bin")
    assert data(run(".", "tool"))["stdout"] == "here\n"


@pytest.mark.parametrize("name", ["no-such-program-here", "./no/such", "no\\such", "café"])
def test_e22_e32_what_is_not_found_is_named(make_kit: MakeKit, name: str) -> None:
    answer = make_kit().exec_command(".", [name, "x"], shell_mode="direct")
    assert code(answer) == "COMMAND_NOT_FOUND"
    assert repr(name) in answer["message"]
    assert answer["error"]["details"]["program"] == name
