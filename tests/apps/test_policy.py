"""`agent-exec policy`, and rules in force for `agent-exec run`."""

import os
from pathlib import Path

import pytest

import agent_exec
from cli import Cli
from support import wait_until

RULES = """\
[[rule]]
prefix = ["git", ["status", "log"]]
verdict = "allow"

[[rule]]
prefix = ["echo"]
verdict = "allow"

[[rule]]
prefix = ["git", "push"]
verdict = "ask"

[[rule]]
prefix = ["rm"]
verdict = "deny"
reason = "use trash"
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    return file


def test_explain_a_command(cli: Cli, rules: Path) -> None:
    told = cli("policy", "explain", "--rules", rules, "--", "git", "status", "-s")
    assert (told.code, told["type"], told["verdict"], told["basis"]) == (0, "policy_explain", "allow", "rule")
    rule = {"verdict": "allow", "source": f"{rules}:1", "prefix": ["git", ["status", "log"]]}
    assert told["rule"] == rule
    assert told["commands"] == [
        {
            "text": "git status -s",
            "words": ["git", "status", "-s"],
            "verdict": "allow",
            "reason": "a rule allows it",
            "basis": "rule",
            "rule": rule,
        }
    ]
    assert told["rules"] == str(rules)
    assert told["cwd"] == str(cli.cwd)


def test_explain_needs_no_dashes_before_the_command(cli: Cli, rules: Path) -> None:
    told = cli("policy", "explain", "--rules", rules, "git", "status", "--short", "--rules")
    assert told["commands"][0]["words"] == ["git", "status", "--short", "--rules"]


def test_explain_a_line_with_each_command_and_write(cli: Cli, rules: Path) -> None:
    told = cli(
        "policy", "explain", "--rules", rules, "--line", "git log | tee x && sudo rm y > log; echo `z`"
    )
    assert (told["verdict"], told["reason"]) == ("deny", "use trash")
    assert [(one["text"], one["verdict"], one["basis"]) for one in told["commands"]] == [
        ("git log", "allow", "rule"),
        ("tee x", "ask", "none"),
        ("sudo rm y", "ask", "none"),
        ("rm y", "deny", "rule"),
        ("z", "ask", "none"),
        ("echo `z`", "allow", "rule"),
    ]
    assert [one["text"] for one in told["writes"]] == [str(cli.cwd / "log")]
    assert {one["verdict"] for one in told["doubts"]} == {"ask"}


def test_explain_says_ask_where_no_rule_matches(cli: Cli, rules: Path) -> None:
    for words, file in ((("--rules", rules), str(rules)), ((), None)):
        told = cli("policy", "explain", *words, "--", "make")
        assert (told["verdict"], told["basis"], told["rule"], told["rules"]) == ("ask", "none", None, file)


@pytest.mark.parametrize(
    ("line", "doors"),
    [
        ("git status", ("run", "run", "run", "run")),
        ("make", ("run", "run", "run", "run")),
        ("python3 -q", ("run", "run", "run", "run")),
        ("git push", ("refuse", "ask", "ask", "ask")),
        ("ls | sh", ("refuse", "ask", "ask", "ask")),
        ("rm x", ("refuse", "refuse", "refuse", "refuse")),
    ],
)
def test_explain_says_what_each_door_does(cli: Cli, rules: Path, line: str, doors: tuple[str, ...]) -> None:
    told = cli("policy", "explain", "--rules", rules, "--line", line)
    assert tuple(told["doors"].values()) == doors
    assert list(told["doors"]) == ["cli", "mcp", "shell", "python"]
    never = cli(
        "policy", "explain", "--rules", rules, "--line", line, env={"AGENT_EXEC_APPROVAL_POLICY": "never"}
    )
    assert never["approval_policy"] == "never"
    assert set(never["doors"].values()) == {doors[0]}


def test_explain_considers_parent_folders(cli: Cli) -> None:
    told = cli("policy", "explain", "--", "kill", os.getpid())
    assert (told["verdict"], told["basis"]) == ("deny", "guard")


def test_explain_bytes_that_are_no_text(cli: Cli) -> None:
    told = cli("policy", "explain", "--line", os.fsdecode(b"echo \xff\xfe"))
    assert told["verdict"] == "ask"


def test_check(cli: Cli, rules: Path) -> None:
    told = cli("policy", "check", rules)
    assert (told.code, told["type"], told["rules"], told["allow"], told["ask"], told["deny"]) == (
        0,
        "policy_check",
        4,
        2,
        1,
        1,
    )
    rules.write_text(RULES + 'match = ["ls"]\n')
    told = cli("policy", "check", rules)
    assert (told.code, told["error"]["code"]) == (1, "invalid_rules")
    assert told["error"]["details"] == {"file": str(rules), "line": 17}
    assert f"{rules}:17: the rule does not match its match example 'ls'" in told["error"]["message"]
    told = cli("policy", "check", rules.parent / "none.toml")
    assert (told.code, told["error"]["code"]) == (1, "invalid_rules")


def test_check_without_a_file_is_for_the_one_in_force(cli: Cli, rules: Path) -> None:
    assert cli("policy", "check", env={"AGENT_EXEC_RULES": str(rules)})["file"] == str(rules)
    home = {"XDG_CONFIG_HOME": str(rules.parent)}
    assert cli("policy", "check", env=home)["error"]["details"]["file"].endswith("agent-exec/rules.toml")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("what",),
        ("explain",),
        ("explain", "--line", "x", "--", "y"),
        ("check", "a", "b"),
        ("check", "--rules", "a", "b"),
        ("check", "--line", "x"),
        ("check", "--cwd", "x"),
    ],
)
def test_words_that_make_no_sense(cli: Cli, words: tuple[str, ...]) -> None:
    out = cli.raw("policy", *words)
    assert (out.returncode, out.stdout) == (2, b"")
    assert b"policy" in out.stderr


def test_rules_hold_for_run(cli: Cli, rules: Path) -> None:
    assert cli("run", "--rules", rules, "--", "echo", "hi")["stdout"] == "hi\n"
    assert cli("run", "--rules", rules, "--", "true")["exit_code"] == 0  # what no rule knows is run
    for words, code in (
        (("rm", "x"), "command_denied"),
        (("sh", "-c", "rm x"), "command_denied"),
        (("git", "push"), "approval_required"),
        (("python3", "-c", "import os; os.system('rm x')"), "approval_required"),
    ):
        told = cli("run", "--rules", rules, "--", *words)
        assert (told.code, told["error"]["code"]) == (1, code)
    told = cli("run", "--rules", rules, "--env", "LD_PRELOAD=./x.so", "--", "echo", "x")
    assert (told["error"]["code"], "LD_PRELOAD" in told["error"]["message"]) == ("approval_required", True)
    told = cli("run", "--rules", rules, "--shell", "echo x; rm x")
    assert told["error"]["code"] == "command_denied"
    assert len(cli("list", "--all")["jobs"]) == 2, "what is refused leaves no job"


@pytest.mark.parametrize("how", ["variable", "place"])
def test_the_rules_in_force_hold_without_being_named(cli: Cli, rules: Path, how: str) -> None:
    if how == "place":
        place = rules.parent / "config" / "agent-exec" / "rules.toml"
        place.parent.mkdir(parents=True)
        rules.rename(place)
        env = {"XDG_CONFIG_HOME": str(rules.parent / "config")}
    else:
        env = {"AGENT_EXEC_RULES": str(rules)}
    assert cli("run", "--", "rm", "x", env=env)["error"]["code"] == "command_denied"
    assert cli("run", "--", "true", env=env)["ok"]
    told = cli("run", "--", "true", env={**env, "AGENT_EXEC_APPROVAL_POLICY": "untrusted"})
    assert told["error"]["code"] == "approval_required"


def test_rules_that_are_named_and_missing_or_wrong_let_nothing_run(cli: Cli, rules: Path) -> None:
    for file in ("none.toml", str(rules)):
        told = cli("run", "--", "true", env={"AGENT_EXEC_RULES": file})
        assert told["error"]["code"] == "invalid_rules"
        rules.write_text("nonsense")
        if file == "none.toml":
            continue
    told = cli("run", "--", "true", env={"AGENT_EXEC_APPROVAL_POLICY": "sometimes"})
    assert told["error"]["code"] == "invalid_argument"
    assert cli("list", "--all")["jobs"] == []


def test_run_does_not_end_those_above_it(cli: Cli) -> None:
    told = cli("run", "--", "kill", os.getpid())
    assert told["error"]["code"] == "command_denied"
    told = cli("run", "--shell", f"kill -9 {os.getppid()}")
    assert told["error"]["code"] == "command_denied"
    for words in (("systemctl", "--help", "poweroff"), ("loginctl", "kill-session", "none")):
        assert cli("run", "--", *words)["error"]["code"] == "command_denied", words
    told = cli("run", "--", "/no/such/place/shutdown", "now")  # without the word kill in it
    assert told["error"]["code"] == "command_denied"
    job = cli.start("sleep", "600")
    pid = cli("status", job)["pid"]
    assert cli("run", "--", "kill", pid)["exit_code"] == 0
    wait_until(lambda: cli("status", job)["state"] == "killed")


def test_the_library_is_judged_by_the_same_rules(rules: Path, tmp_path: Path) -> None:
    asked = []

    def approver(request: agent_exec.Request) -> str:
        asked.append(request.command)
        return "once"

    jobs = agent_exec.open_jobs(str(tmp_path / "jobs"), rules=str(rules), approver=approver)
    assert jobs.run(["echo", "x"])["stdout"] == "x\n"
    with pytest.raises(agent_exec.AgentExecError) as caught:
        jobs.run(["rm", "x"])
    assert caught.value.code == "command_denied"
    assert jobs.run(["python3", "-c", "print(1)"])["stdout"] == "1\n"
    assert asked == []
    assert jobs.run(["python3", "-c", "print('rm')"])["stdout"] == "rm\n"
    assert asked == [("python3", "-c", "print('rm')")]
