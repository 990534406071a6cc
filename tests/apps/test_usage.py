"""Words that make no sense: text on stderr, nothing on stdout, exit 2, and nothing done."""

import pytest

import agent_exec
from cli import Cli

WRONG = [
    ([], "a verb is needed"),
    (["nonsense"], "no verb 'nonsense'"),
    (["stauts"], "did you mean status?"),
    (["--nonsense"], "no option --nonsense"),
    (["--version", "twice"], "--version"),
    (["--root"], "--root needs a value"),
    (["run"], "a command is needed"),
    (["run", "--"], "a command is needed"),
    (["run", ""], "a command is needed"),
    (["run", "--snapshot-afer", "1", "true"], "did you mean --snapshot-after?"),
    (["run", "--snapshot-after"], "needs a value"),
    (["run", "--snapshot-after", "soon", "true"], "invalid duration 'soon'"),
    (["run", "--snapshot-after", "-1", "true"], "invalid duration '-1'"),
    (["run", "--timeout", "5x", "true"], "invalid duration '5x'"),
    (["run", "--timeout", "9999d", "true"], "longer than a year"),
    (["run", "--kill-after", "", "true"], "invalid duration"),
    (["run", "--tail-lines", "many", "true"], "a whole number"),
    (["run", "--tail-lines", "-5", "true"], "a whole number"),
    (["run", "--max-bytes", "1.5", "true"], "a whole number"),
    (["run", "--max-bytes", "9" * 30, "true"], "a whole number"),
    (["run", "--max-log-bytes", "1k", "true"], "a whole number"),
    (["run", "--wait=yes", "true"], "--wait takes no value"),
    (["run", "-x", "true"], "no option -x"),
    (["run", "--shell", "echo", "two"], "one line as one word"),
    (["run", "--inherit-env", "--no-inherit-env", "true"], "contradict"),
    (["run", "--stdin", "a", "--stdin-file", "b", "true"], "contradict"),
    (["run", "--no-wait", "--wait", "true"], "contradict"),
    (["run", "--no-wait", "--forever", "true"], "contradict"),
    (["run", "--no-wait", "--until", "1", "true"], "contradict"),
    (["run", "--until", "1", "--forever", "true"], "contradict"),
    (["run", "--snapshot-after", "1", "--until", "1", "true"], "contradict"),
    (["run", "--snapshot-after", "1", "--forever", "true"], "contradict"),
    (["run", "--snapshot-after", "1", "--no-wait", "true"], "contradict"),
    (["status"], "the id of one job"),
    (["status", "A", "B"], "the id of one job"),
    (["status", "A", "--tail-lines", "1"], "no option --tail-lines"),
    (["tail"], "the id of one job"),
    (["tail", "A", "--cursor"], "needs a value"),
    (["tail", "A", "--merged", "--grep", "x"], "contradict"),
    (["wait"], "the id of one job"),
    (["wait", "A", "--until", "1", "--forever"], "contradict"),
    (["wait", "A", "--until", "1", "--timeout-ms", "1"], "contradict"),
    (["wait", "A", "--until", "x"], "invalid duration"),
    (["kill"], "the id of one job"),
    (["kill", "A", "--signal"], "needs a value"),
    (["list", "A"], "one word too many"),
    (["list", "--cwd", "/", "--all"], "contradict"),
    (["list", "--state", "sleeping"], "--state takes one of"),
    (["list", "--limit", "few"], "a whole number"),
    (["ps", "--state", "running"], "no option --state"),
    (["ps", "--cwd", "/", "--all"], "contradict"),
    (["delete"], "the id of one job"),
    (["delete", "A", "--all"], "not both"),
    (["gc", "A"], "one word too many"),
    (["gc", "--older-than", "old"], "invalid duration"),
    (["schema", "A"], "one word too many"),
]


@pytest.mark.parametrize(
    ("words", "says"), WRONG, ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else ""
)
def test_a_usage_error_is_text_on_stderr_and_exit_2(cli: Cli, words: list[str], says: str) -> None:
    out = cli.raw(*words)
    assert (out.returncode, out.stdout) == (2, b"")
    told = out.stderr.decode()
    assert told.startswith("agent-exec")
    assert says in told
    assert told.splitlines()[-1].startswith("Try: agent-exec")
    assert "Traceback" not in told
    assert not cli.root.exists()


def test_version(cli: Cli) -> None:
    for word in ("--version", "-V"):
        out = cli.raw(word)
        assert (out.returncode, out.stderr) == (0, b"")
        assert out.stdout.decode() == f"agent-exec {agent_exec.__version__}\n"


def test_options_of_the_command_belong_to_the_command(cli: Cli) -> None:
    for words in (["echo", "--help", "-h", "--root"], ["--", "echo", "--help", "-h", "--root"]):
        assert cli("run", *words)["stdout"] == "--help -h --root\n"
    assert cli("run", "--", "echo", "--", "x")["stdout"] == "-- x\n"
    assert cli("run", "echo", "--", "x")["stdout"] == "-- x\n"


def test_the_words_may_be_joined_or_apart(cli: Cli) -> None:
    assert cli("run", "--snapshot-after=0", "true")["waited_ms"] == 0
    assert cli("run", "--env=A=b=c", "--", "printenv", "A")["stdout"] == "b=c\n"
