"""The lists: what is allowed by name, what is never allowed, and how names are compared."""

import os
from pathlib import Path

import pytest

from agent_exec.faces.executor.config import CommandExecutorConfig
from agent_exec.faces.executor.errors import CODES, CommandValidationError
from agent_exec.faces.executor.executor import CommandExecutor
from agent_exec.faces.executor.lists import BLACKLIST, WHITELIST, CommandLists
from agent_exec.faces.executor.result import CommandValidationResult
from agent_exec.model.errors import InvalidArgument
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from faces.executor.recorder import LISTS, each, made

VALID = CommandValidationResult(True)


def error(command: str, args: list[str] | None = None, executor: CommandExecutor | None = None) -> str | None:
    return (executor or CommandExecutor()).validate_command(command, args).error


def blacklisted(command: str, args: list[str] | None = None, executor: CommandExecutor | None = None) -> bool:
    found = (executor or CommandExecutor()).validate_command(command, args)
    assert found.valid == (found.error is None) == (found.code is None)
    return found.code == "COMMAND_BLACKLISTED" and found.error == "Command is blacklisted"


def test_c4_the_whitelist_is_the_contracts() -> None:
    assert len(WHITELIST) == len(set(WHITELIST)) == 31
    assert " ".join(WHITELIST) == (
        "ls find dir cat head tail less more mkdir touch rm rmdir cp mv git npm yarn pnpm node python python3 "
        "grep sed awk sort uniq wc pwd whoami echo date"
    )


def test_c5_the_blacklist_is_the_contracts_and_always_blocks() -> None:
    assert len(BLACKLIST) == len(set(BLACKLIST)) == 16
    assert ",".join(BLACKLIST) == (
        "sudo,su,rm -rf /,curl,wget,nc,telnet,eval,exec,bash -c,dd,mkfs,kill,killall,shutdown,reboot"
    )
    everything = CommandExecutor(
        None, CommandExecutorConfig(policy=CommandLists((*WHITELIST, *BLACKLIST, "bash")))
    )
    for entry in BLACKLIST:
        assert blacklisted(entry, executor=everything), entry
    assert everything.validate_command("bash", ["script"]).valid


@each(WHITELIST)
def test_c24_c35_every_whitelisted_command_passes(name: str) -> None:
    found = CommandExecutor().validate_command(name)
    assert found == VALID
    assert found
    assert found.to_wire() == {"valid": True}


@each(BLACKLIST)
def test_c22_c35_every_blacklisted_command_fails(entry: str) -> None:
    found = CommandExecutor().validate_command(entry)
    assert not found
    assert found.to_wire() == {"valid": False, "error": "Command is blacklisted"}
    assert blacklisted(entry.upper())


@each(["make", "bash", "", " ", "\t\n", "lsx", "l", "ls;id", "ls|id", "$(id)", "`id`", "ls\0"])
def test_c23_c35_every_other_command_fails(name: str) -> None:
    found = CommandExecutor().validate_command(name)
    assert found.to_wire() == {"valid": False, "error": "Command not in whitelist"}
    assert found.code == "COMMAND_NOT_WHITELISTED"


@each(["LS", "Git", "PyThOn3", "eCHO"])
def test_c35_matching_ignores_case(name: str) -> None:
    assert CommandExecutor().validate_command(name) == VALID


def test_c22_the_blacklist_is_asked_first() -> None:
    both = made(policy=CommandLists(["sudo", "make"], ["sudo"]))
    assert error("sudo", executor=both) == "Command is blacklisted"
    assert both.validate_command("make").valid
    assert error("ls", executor=both) == "Command not in whitelist"


@each(["/usr/bin/{}", "./{}", "../x/{}", "{}.exe", "{}.EXE", "C:\\bin\\{}.exe", "{}.cmd"])
def test_the_blacklist_knows_a_name_under_any_path(form: str) -> None:
    for command in ("sudo", "curl", "KILL"):
        assert blacklisted(form.format(command)), command


@each(["/bin/ls", "/usr/bin/ls", "./ls", "bin/ls", "../ls", "~/ls", ".\\ls", "/bin/../bin/ls"])
def test_a_whitelisted_name_is_not_a_path(path: str) -> None:
    assert error(path) == "Command not in whitelist"


def test_a_path_is_allowed_if_it_is_written_in_a_rule() -> None:
    executor = made(policy=CommandLists(["ls", "/opt/tool"]))
    assert executor.validate_command("/opt/tool").valid
    assert not executor.validate_command("/opt/other/tool").valid
    assert not executor.validate_command("/bin/ls").valid
    free = made(policy=Policy([Rule((), "allow"), Rule([("cp", "/bin/mv")], "allow")]))
    assert free.validate_command("/bin/ls").valid
    some = made(policy=Policy([Rule([("cp", "/bin/mv")], "allow"), Rule([("id", "/bin/id")], "ask")]))
    assert some.validate_command("/bin/mv").valid
    assert not some.validate_command("/bin/cp").valid
    assert not some.validate_command("id").valid, "nobody is there to be asked"
    assert not some.validate_command("/bin/id").valid


@each(
    [
        "\u017fudo",
        "\u017fu",
        "\uff33\uff35\uff24\uff2f",
        "\uff53\uff55\uff44\uff4f",
        "sudo\u200b",
        "su\u00addo",
        "\u202esudo",
        "sudo\u00a0-i",
        "sudo\0",
        "sudo\x0b-i",
        "\u0441url",
    ]
)
def test_no_trick_of_writing_makes_a_blacklisted_command_valid(name: str) -> None:
    assert not CommandExecutor().validate_command(name).valid


@each(
    [
        "sudo ls",
        " sudo",
        "sudo ",
        "\tsudo\tls",
        "sudo\nls",
        "'sudo' ls",
        's"u"do ls',
        "su\\do ls",
        "/bin/sudo x",
        "SUDO x",
    ]
)
def test_a_text_with_blanks_is_split_first(line: str) -> None:
    assert blacklisted(line)


def test_what_cannot_be_split_is_refused() -> None:
    found = CommandExecutor().validate_command("ls 'x")
    assert found.error == "Command not in whitelist: it cannot be read, No closing quotation"
    assert found.code == "COMMAND_NOT_WHITELISTED"
    with pytest.raises(CommandValidationError, match="Command not allowed"):
        CommandExecutor().execute_command('echo "x')


def test_the_words_that_are_judged_are_those_that_run(tmp_path: Path) -> None:
    """A folder called "echo " would turn the unsplit text into a path to any program."""
    (tmp_path / "echo ").mkdir()
    (tmp_path / "evil").write_text("#!/bin/sh\necho evil\n")
    (tmp_path / "evil").chmod(0o755)
    assert made().execute_command("echo /../evil", cwd=tmp_path).output == "/../evil\n"
    assert made().execute_command("echo 'a  b'", ["c d"]).output == "a  b c d\n"


@each(
    [
        ["-rf", "/"],
        ["-fr", "/"],
        ["-r", "-f", "/"],
        ["-f", "-R", "/"],
        ["--recursive", "--force", "/"],
        ["--recurs", "--forc", "/"],
        ["--r", "--f", "/"],
        ["/", "-rf"],
        ["x", "-vrf", "y", "/"],
        ["-rf", "--", "/"],
        ["-rf", "--", "-x", "/"],
        ["-Rfv", "/*"],
        ["-rf", "//"],
        ["-rf", "///"],
        ["-rf", "/."],
        ["-rf", "/.."],
        ["-rf", "/../"],
        ["-rf", "/./"],
        ["-rf", "/usr/.."],
        ["-rf", "/usr/../*"],
        ["-rf", "/.*"],
        ["-rf", "/**"],
        ["-rf", "/?*"],
        ["-rf", "/{*,.*}"],
        ["-rf", "/nowhere/../."],
        ["-rf", "/proc/self/root"],
        ["-rf", "/proc/self/root/"],
        ["-rf", "../" * 40],
        ["-rf", "../" * 40 + "*"],
        ["-r", "/"],
        ["--no-preserve-root", "-rf", "/home"],
        ["-rf", "/home", "--no-pres"],
        ["-rf", "/home", "--n"],
    ]
)
def test_rm_of_the_root_is_blacklisted_however_it_is_written(args: list[str]) -> None:
    for name in ("rm", "RM", "/bin/rm", "rm.exe"):
        assert blacklisted(name, args)
    assert blacklisted(" ".join(["rm", *args]))


@each(
    [
        [],
        ["/"],
        ["-f", "/"],
        ["-rf"],
        ["-rf", ""],
        ["-rf", "/tmp/x"],
        ["-rf", "x", "./y"],
        ["-rf", "/home"],
        ["-rf", "/*.log"],
        ["-rf", "*"],
        ["-rf", "--", "--no-preserve-root"],
        ["--", "-rf", "/"],
        ["-f", "--", "-r", "/"],
        ["-rf", "-"],
        ["-rf", "a\0/"],
        ["--preserve-root", "-rf", "x"],
        ["--verbose", "--dir", "/"],
    ]
)
def test_other_uses_of_rm_are_allowed(args: list[str]) -> None:
    assert CommandExecutor().validate_command("rm", args) == VALID


def test_a_relative_target_is_seen_from_where_the_command_would_run(tmp_path: Path) -> None:
    (tmp_path / "root").symlink_to("/")
    executor = made(workspace_root=tmp_path)
    assert blacklisted("rm", ["-rf", "root/"], executor)
    assert blacklisted("rm", ["-rf", "root/*"], executor)
    with pytest.raises(CommandValidationError) as caught:
        made().execute_command("rm", ["-rf", "."], cwd="/")
    assert caught.value.code == "COMMAND_BLACKLISTED"
    assert "removes the root" in caught.value.details["reason"]


def test_a_link_that_may_not_be_read_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os.path, "realpath", refuse)
    assert CommandExecutor().validate_command("rm", ["-rf", "/proc/1/cwd"]) == VALID


def test_a_relative_target_is_not_known_without_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        assert CommandExecutor().validate_command("rm", ["-rf", "x", ".", "../.."]).valid
        assert made().execute_command("rm", ["-rf", "../.."], cwd="sub").code == "EXECUTION_FAILED"
        assert blacklisted("rm", ["-rf", "/"])
        assert made().execute_command("pwd").code == "EXECUTION_FAILED"
    finally:
        os.chdir(tmp_path)
    assert LISTS.judge(("rm", "-rf", ".")).kind == "allow"
    assert LISTS.judge(("rm", "-rf", "/")).kind == "deny"


SHELLS = ["sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "mksh", "tcsh", "/bin/bash", "BASH", "bash.exe"]


@each(
    [
        ["-c", "id"],
        ["-lc", "id"],
        ["-xc", "id"],
        ["-ec", "id"],
        ["+c", "id"],
        ["-l", "-c", "id"],
        ["-o", "errexit", "-c", "id"],
        ["-eo", "pipefail", "-c", "id"],
        ["-oo", "errexit", "pipefail", "-c", "id"],
        ["--norc", "-c", "id"],
        ["--rcfile", "x", "-c", "id"],
        ["--command", "id"],
        ["--comm=id"],
        ["-cid"],
    ]
)
def test_any_shell_with_a_line_is_blacklisted(args: list[str]) -> None:
    everything = made(policy=CommandLists((*WHITELIST, *SHELLS)))
    for shell in SHELLS:
        assert blacklisted(shell, args, everything), shell
        assert blacklisted(shell, args), shell


@each(
    [
        ("pwsh", ["-c", "id"]),
        ("powershell.exe", ["-NoProfile", "-Command", "id"]),
        ("powershell", ["-EncodedCommand", "aQBkAA=="]),
        ("pwsh", ["-e", "aQBkAA=="]),
        ("pwsh", ["-ec", "aQBkAA=="]),
        ("cmd", ["/c", "dir"]),
        ("CMD.EXE", ["/q", "/K", "dir"]),
        ("busybox", ["sh", "-c", "id"]),
        ("busybox", ["rm", "-rf", "/"]),
    ]
)
def test_shells_of_other_systems_count_too(shell: str, args: list[str]) -> None:
    assert blacklisted(shell, args)


@each(
    [
        ("bash", []),
        ("bash", ["script.sh", "-c", "conf"]),
        ("bash", ["--", "-c"]),
        ("sh", ["-", "-c"]),
        ("sh", ["-e", "script.sh", "arg", "-c"]),
        ("pwsh", ["-File", "x.ps1"]),
        ("cmd", ["/?"]),
        ("busybox", []),
    ]
)
def test_a_shell_may_be_whitelisted_for_scripts(shell: str, args: list[str]) -> None:
    # What a shell does with its script is beyond a list of names.
    scripts = made(policy=CommandLists((*WHITELIST, "sh", "bash", "pwsh", "cmd", "busybox")))
    assert scripts.validate_command(shell, args) == VALID


def test_lists_without_these_entries_do_not_mean_them() -> None:
    lax = made(policy=CommandLists(["rm", "bash"], ["sudo"]))
    assert lax.validate_command("rm", ["-rf", "/"]).valid
    assert lax.validate_command("bash", ["-c", "id"]).valid
    other = made(policy=CommandLists(["rm", "bash", "zsh"], ["rm --recursive -f //", "zsh -ic"]))
    assert blacklisted("rm", ["-fr", "/"], other)
    assert blacklisted("bash", ["-c", "id"], other)


def test_entries_of_several_words_are_prefixes() -> None:
    executor = made(policy=CommandLists(["git status", "npm"], ["npm publish"]))
    assert executor.validate_command("git", ["status", "-s"]).valid
    assert not executor.validate_command("git", ["push"]).valid
    assert executor.validate_command("npm test").valid
    assert blacklisted("npm", ["publish", "--tag", "x"], executor)


def test_more_rules_may_follow_the_lists() -> None:
    more = made(policy=CommandLists().with_rules([Rule(["make"], "allow"), Rule(["git", "push"], "deny")]))
    assert more.validate_command("make").valid
    assert blacklisted("git", ["push"], more)
    assert blacklisted("rm", ["-fr", "/."], more)


@each(
    [
        ("find", [".", "-exec", "sudo", "x", ";"]),
        ("find", [".", "-execdir", "rm", "-r", "--force", "//", ";"]),
        ("find", [".", "-exec", "sh", "-xc", "id", ";"]),
        ("git", ["-c", "alias.x=!curl http://x", "x"]),
        ("env", ["sudo", "x"]),
    ]
)
def test_a_blacklisted_command_inside_another_counts(command: str, args: list[str]) -> None:
    assert blacklisted(command, args)


def test_a_command_that_only_starts_others_is_not_whitelisted_by_them() -> None:
    assert error("env", ["ls"]) == "Command not in whitelist"
    assert error("nice", ["ls"]) == "Command not in whitelist"


@each(
    [
        ("python3", ["-c", "1"], "python3 -c 1"),
        ("find", [".", "-exec", "make", ";"], "make"),
        ("git", ["-c", "core.pager=x", "log"], "core.pager"),
        ("awk", ['BEGIN { system("id") }'], "system"),
    ]
)
def test_argument_guards_refuse_what_starts_others(command: str, args: list[str], told: str) -> None:
    assert CommandExecutor().validate_command(command, args) == VALID
    found = made(argument_guards=True).validate_command(command, args)
    assert found.code == "COMMAND_NOT_WHITELISTED"
    assert found.error is not None
    assert found.error.startswith("Command not in whitelist: ")
    assert told in found.error


def test_argument_guards_let_plain_commands_pass() -> None:
    guarded = made(argument_guards=True)
    assert guarded.validate_command("ls", ["-la"]) == VALID
    assert guarded.execute_command("echo", ["x"]).output == "x\n"


@each(["ls", [1], [""], [" "], [None]])
def test_lists_of_the_wrong_kind_are_refused(bad: object) -> None:
    with pytest.raises(InvalidArgument, match="whitelist"):
        CommandLists(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="blacklist"):
        CommandLists((), bad)  # type: ignore[arg-type]


def test_c7_c17_what_is_not_allowed_is_raised_and_nothing_is_started(tmp_path: Path) -> None:
    executor = made()
    cases = [
        ("sudo", ["touch", "x"], "COMMAND_BLACKLISTED"),
        ("make", [], "COMMAND_NOT_WHITELISTED"),
        ("rm", ["-rf", "/"], "COMMAND_BLACKLISTED"),
        ("/usr/bin/touch", ["x"], "COMMAND_NOT_WHITELISTED"),
        ("", [], "COMMAND_NOT_WHITELISTED"),
    ]
    for command, args, code in cases:
        with pytest.raises(CommandValidationError) as caught:
            executor.execute_command(command, args, cwd=tmp_path)
        assert caught.value.message == str(caught.value) == "Command not allowed"
        assert caught.value.code == code
        assert caught.value.code in CODES
        assert caught.value.details["command"] == command
        assert caught.value.details["args"] == args
    assert executor.concurrent_count == 0
    assert not list(tmp_path.iterdir())
