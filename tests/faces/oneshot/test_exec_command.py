"""exec_command, as it is called."""

import inspect
import os
import time
from pathlib import Path

import pytest

from agent_exec.faces.oneshot.exec_command import execute
from agent_exec.faces.oneshot.kit import Toolkit
from agent_exec.model.choices import ShellMode
from faces.oneshot.seen import code, data
from support import child, exists, processes_marked, python

FIELDS = [
    "cwd",
    "command",
    "exit_code",
    "stdout",
    "stderr",
    "stdout_truncated",
    "stderr_truncated",
    "timed_out",
    "duration_ms",
]
MODES = pytest.mark.parametrize("mode", ["default", "direct"])


@MODES
def test_e1_e13_e29_e56_e58_the_whole_answer(kit: Toolkit, root: Path, mode: ShellMode) -> None:
    """E1, E13, E29, E56, E58: nine fields; the command as given, the directory as it really is."""
    answer = data(kit.exec_command("src", ["echo", "hello"], shell_mode=mode))
    assert list(answer) == FIELDS
    duration = answer.pop("duration_ms")
    assert type(duration) is int
    assert duration >= 0
    assert answer == {
        "cwd": str(root / "src"),
        "command": ["echo", "hello"],
        "exit_code": 0,
        "stdout": "hello\n",
        "stderr": "",
        "stdout_truncated": False,
        "stderr_truncated": False,
        "timed_out": False,
    }


def test_e54_the_signature_and_the_one_object_are_the_same(kit: Toolkit) -> None:
    """E54: the path comes first, then the command, then options by name."""
    parameters = list(inspect.signature(kit.exec_command).parameters.values())
    assert [one.name for one in parameters[:2]] == ["cwd", "command"]
    assert all(one.kind is one.KEYWORD_ONLY for one in parameters[2:-1])
    options = {"shell_mode": "direct", "stdin": "x", "timeout_ms": 20_000, "max_output_chars": 1000}
    assert [one.name for one in parameters[2:-1]] == list(options)
    direct = data(kit.exec_command("src", ["cat"], shell_mode="direct", stdin="x", timeout_ms=20_000))
    invoked = data(kit.invoke("exec_command", {"cwd": "src", "command": ["cat"], **options}))
    assert {**direct, "duration_ms": 0} == {**invoked, "duration_ms": 0}


def test_e4_e60_the_use_cases(kit: Toolkit, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E4, E60, E50: git; a failing test whose log is on stderr; a formatter; a tool behind a version manager."""
    shims = root.parent / "shims"
    shims.mkdir()
    for name, text in {
        "bun": "echo 1 test failed >&2; exit 1",
        "fmt-ok": "exit 0",
        "node": 'echo "$MISE_VERSION $0"',
    }.items():
        (shims / name).write_text(f"#!/bin/sh\n{text}\n")
        (shims / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{shims}:{os.environ['PATH']}")
    monkeypatch.setenv("MISE_VERSION", "22.1")
    for mode in ("default", "direct"):
        assert data(kit.exec_command(".", ["git", "init", "-q"], shell_mode=mode))["exit_code"] == 0
        status = data(kit.exec_command("src", ["git", "status", "--short"], shell_mode=mode))
        assert (status["exit_code"], status["stdout"]) == (0, "?? ../file.txt\n")
        failed = data(kit.exec_command(".", ["bun", "test"], shell_mode=mode))
        assert (failed["exit_code"], failed["stderr"]) == (1, "1 test failed\n")
        assert data(kit.exec_command(".", ["fmt-ok"], shell_mode=mode))["exit_code"] == 0
        managed = data(kit.exec_command("src", ["node", "-v"], shell_mode=mode))
        assert managed["stdout"] == f"22.1 {shims / 'node'}\n"


def test_e10_e21_the_environment_is_inherited_unchanged(
    kit: Toolkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E10, E21: to the last variable, odd ones and secrets too."""
    monkeypatch.setenv("SOME_TOKEN", "secret 'quoted'\nline")
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.setenv("PWD", "/not/where/it/is")
    printed = data(kit.exec_command(".", ["env", "-0"], shell_mode="direct"))["stdout"]
    assert dict(entry.split("=", 1) for entry in printed.split("\0")[:-1]) == dict(os.environ)
    assert data(kit.exec_command(".", ["printenv", "SOME_TOKEN"]))["stdout"] == "secret 'quoted'\nline\n"


def test_e3_e23_e27_it_is_not_interactive_and_nothing_is_initialised(
    kit: Toolkit, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E3, E23, E27: no terminal anywhere, and on Linux no profile is read."""
    (root / ".profile").write_text("echo profile\n")
    (root / ".bashrc").write_text("echo bashrc\n")
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.delenv("ENV", raising=False)
    for mode in ("default", "direct"):
        answer = data(
            kit.exec_command(
                ".", ["sh", "-c", "test -t 0 || test -t 1 || test -t 2 || (: </dev/tty)"], shell_mode=mode
            )
        )
        assert answer["exit_code"] != 0
        assert answer["stdout"] == ""


@MODES
def test_e16_input_is_fed_as_utf_8_and_ended(kit: Toolkit, mode: ShellMode) -> None:
    text = "héllo\r\n日本 😀\0end" * 20_000
    answer = data(kit.exec_command(".", ["cat"], stdin=text, shell_mode=mode, max_output_chars=1_000_000))
    assert answer["stdout"] == text
    for nothing in ("", None):
        answer = data(kit.exec_command(".", ["cat"], stdin=nothing, shell_mode=mode))
        assert (answer["stdout"], answer["timed_out"]) == ("", False)


def test_e16_a_command_that_reads_no_input_is_no_error(kit: Toolkit) -> None:
    assert data(kit.exec_command(".", ["true"], stdin="x" * 5_000_000))["exit_code"] == 0


@MODES
def test_e17_output_is_not_touched(kit: Toolkit, mode: ShellMode) -> None:
    """E17: no line ending is changed, nothing is stripped; what is no UTF-8 is U+FFFD."""
    command = ["printf", r"%b", r" a\r\nb\n\n\0303\0251\0377\0357\0273\0277 "]
    assert data(kit.exec_command(".", command, shell_mode=mode))["stdout"] == " a\r\nb\n\né\ufffd\ufeff "


@MODES
@pytest.mark.parametrize("wanted", [0, 1, 3, 124, 126, 127, 255])
def test_e17_the_exit_code_is_the_commands_own(kit: Toolkit, mode: ShellMode, wanted: int) -> None:
    answer = data(kit.exec_command(".", ["sh", "-c", f"exit {wanted}"], shell_mode=mode))
    assert (answer["exit_code"], answer["timed_out"]) == (wanted, False)


@MODES
def test_killed_by_a_signal_it_is_128_and_the_number(kit: Toolkit, mode: ShellMode) -> None:
    answer = data(kit.exec_command(".", python("import os; os.kill(os.getpid(), 9)"), shell_mode=mode))
    assert (answer["exit_code"], answer["timed_out"]) == (137, False)


def test_an_unknown_command_is_127_in_default_mode(kit: Toolkit) -> None:
    answer = data(kit.exec_command(".", ["no-such-program-here"]))
    assert answer["exit_code"] == 127
    assert "no-such-program-here" in answer["stderr"]


def test_e45_the_same_input_takes_the_same_way(kit: Toolkit) -> None:
    answers = [data(kit.exec_command(".", ["sh", "-c", "echo a; echo b >&2; exit 3"])) for _ in range(3)]
    for answer in answers:
        answer["duration_ms"] = 0
    assert answers[0] == answers[1] == answers[2]


def test_e14_e19_e28_the_defaults(kit: Toolkit) -> None:
    """E14, E19, E28: thirty seconds, and 200 000 characters a stream."""
    parameters = inspect.signature(kit.exec_command).parameters
    assert parameters["timeout_ms"].default == 30_000
    assert parameters["max_output_chars"].default == 200_000
    assert parameters["shell_mode"].default == "default"
    both = "import sys\nfor s in sys.stdout, sys.stderr: s.write('x' * {})"
    answer = data(kit.invoke("exec_command", {"cwd": ".", "command": python(both.format(200_000))}))
    assert (len(answer["stdout"]), answer["stdout_truncated"]) == (200_000, False)
    answer = data(kit.invoke("exec_command", {"cwd": ".", "command": python(both.format(200_001))}))
    assert (len(answer["stdout"]), answer["stdout_truncated"]) == (200_000, True)
    assert (len(answer["stderr"]), answer["stderr_truncated"]) == (200_000, True)


def test_e19_e43_each_stream_is_cut_by_itself_at_its_head(kit: Toolkit) -> None:
    code = "import sys; sys.stdout.write('😀' * 1000 + 'rest'); sys.stderr.write('é' * 1000)"
    answer = data(
        kit.exec_command(
            ".",
            python(
                "import sys; sys.stdout.reconfigure(encoding='utf-8'); "
                "sys.stderr.reconfigure(encoding='utf-8'); " + code
            ),
            max_output_chars=1000,
        )
    )
    assert (answer["stdout"], answer["stdout_truncated"]) == ("😀" * 1000, True)
    assert (answer["stderr"], answer["stderr_truncated"]) == ("é" * 1000, False)


def test_e19_e49_a_flood_is_drained_and_the_command_is_not_disturbed(kit: Toolkit) -> None:
    code = "import sys\nfor _ in range(300): sys.stdout.write('x' * 100_000)\nsys.stderr.write('done'); sys.exit(5)"
    answer = data(kit.exec_command(".", python(code), max_output_chars=1000))
    assert answer["stdout"] == "x" * 1000
    assert answer["stdout_truncated"]
    assert (answer["stderr"], answer["exit_code"], answer["timed_out"]) == ("done", 5, False)


@MODES
def test_e15_e42_a_timeout_keeps_what_was_printed(kit: Toolkit, mode: ShellMode) -> None:
    answer = kit.exec_command(
        ".", ["sh", "-c", "echo out; echo err >&2; sleep 600"], timeout_ms=1500, shell_mode=mode
    )
    found = data(answer)
    assert (found["timed_out"], found["exit_code"]) == (True, 124)
    assert (found["stdout"], found["stderr"]) == ("out\n", "err\n")
    assert found["duration_ms"] >= 1499


def test_e42_a_command_that_ends_well_on_sigterm_is_still_timed_out(kit: Toolkit) -> None:
    command = ["sh", "-c", "trap 'echo ended; exit 0' TERM; echo ready; while :; do sleep 0.01; done"]
    found = data(kit.exec_command(".", command, timeout_ms=1500, shell_mode="direct"))
    assert (found["timed_out"], found["exit_code"], found["stdout"]) == (True, 124, "ready\nended\n")


def test_e42_a_command_that_ignores_signals_is_killed(kit: Toolkit) -> None:
    command = ["sh", "-c", "trap '' TERM; echo $$; while :; do sleep 600; done"]
    found = data(kit.exec_command(".", command, timeout_ms=1000))
    assert (found["timed_out"], found["exit_code"]) == (True, 124)
    assert not exists(int(found["stdout"]))
    assert found["duration_ms"] >= 1499, "half a second of grace"


def test_e57_the_whole_tree_is_gone_and_no_pipe_is_waited_for(kit: Toolkit, nothing_left: str) -> None:
    """E57, E42: a daemon that ignores TERM holds both pipes; the call ends all the same, and so does it.

    On Windows the tree is a Job Object's; the host's contract tests prove it there.
    """
    code = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        "    print(os.getpid(), flush=True)\n"
        "time.sleep(600)\n"
    )
    began = time.monotonic()
    found = data(kit.exec_command(".", python(code), timeout_ms=2000))
    assert time.monotonic() - began < 2 + 0.5 + 10
    assert (found["timed_out"], found["exit_code"]) == (True, 124)
    assert found["stdout"].strip().isdigit()
    assert not exists(int(found["stdout"]))
    left = {pid for pid, line in processes_marked(nothing_left).items() if "time.sleep(600)" in line}
    assert not left


def test_e35_one_child_and_nothing_of_it_is_left(kit: Toolkit) -> None:
    """E35: the call returns when it is over, and what it left in the background is over with it."""
    began = time.monotonic()
    found = data(kit.exec_command(".", ["sh", "-c", "sleep 600 & echo $!"]))
    assert time.monotonic() - began < 30
    assert (found["exit_code"], found["timed_out"]) == (0, False)
    assert not exists(int(found["stdout"]))
    assert not exists(int(data(kit.exec_command(".", child("daemon")))["stdout"]))


def test_e20_e44_the_duration_is_in_whole_milliseconds_of_the_wall_clock(kit: Toolkit) -> None:
    began = time.time_ns() // 1_000_000
    found = data(kit.exec_command(".", ["sleep", "0.1"]))["duration_ms"]
    ended = time.time_ns() // 1_000_000
    assert type(found) is int
    assert 99 <= found <= ended - began


def test_e31_e48_a_directory_that_is_not_there_or_none(kit: Toolkit, root: Path) -> None:
    for mode in ("default", "direct"):
        for cwd in (
            "missing",
            "src/missing/deeper",
            "file.txt",
            "file.txt/below",
            str(root / "missing"),
            "C:\\x",
        ):
            answer = kit.exec_command(cwd, ["true"], shell_mode=mode)
            assert code(answer) == "NOT_DIRECTORY", cwd
            assert str(root) in answer["message"]


def test_e31_the_directory_comes_before_the_command(kit: Toolkit) -> None:
    """E36, E31: in the order of the contract."""
    assert code(kit.exec_command("missing", ["no-such-program"], shell_mode="direct")) == "NOT_DIRECTORY"


def test_e31_a_directory_whose_name_is_too_long(kit: Toolkit) -> None:
    assert code(kit.exec_command("x" * 300, ["true"])) == "NOT_DIRECTORY"
    assert code(kit.exec_command("x/" * 5000, ["true"])) == "NOT_DIRECTORY"


def test_e18_e33_an_unexpected_error_is_internal(kit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_command: object, **_settings: object) -> None:
        raise RuntimeError("the unforeseen")

    monkeypatch.setattr("agent_exec.requests.dispatch.run_command", broken)
    answer = kit.exec_command(".", ["true"])
    assert code(answer) == "INTERNAL"
    assert answer["message"] == "exec_command failed: RuntimeError: the unforeseen"
    assert answer["error"]["retriable"] is True


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_the_callers_own(
    kit: Toolkit, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    def interrupted(_command: object, **_settings: object) -> None:
        raise kind

    monkeypatch.setattr("agent_exec.requests.dispatch.run_command", interrupted)
    with pytest.raises(kind):
        kit.exec_command(".", ["true"])


def test_e37_others_build_on_the_same_base(kit: Toolkit, root: Path) -> None:
    """E37, E51: `execute` is what tools share; it takes an argv, a directory and input."""
    env = {"PATH": os.environ["PATH"]}
    found = execute(kit._context, ["shown"], str(root), argv=["cat"], stdin=b"text", env=env)
    assert (found["command"], found["stdout"], found["cwd"]) == (["shown"], "text", str(root))


def test_e51_each_responsibility_has_its_module() -> None:
    """E51: definitions, validation, resolving, running and cutting, securing, the kit."""
    import agent_exec.faces.oneshot as package

    folder = Path(package.__path__[0])
    modules = {file.stem for file in folder.glob("*.py")}
    assert {
        "definitions",
        "exec_command",
        "secure",
        "kit",
        "git_status",
    } <= modules
    for shared in ("tools/schema.py", "requests/dispatch.py", "requests/shells.py"):
        assert (folder.parents[1] / shared).is_file(), "which validates, runs and resolves for all contracts"
    assert "subprocess" not in (folder / "exec_command.py").read_text()
