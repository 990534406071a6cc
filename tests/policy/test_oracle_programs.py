"""The oracle for programs: no command that really runs the canary is allowed by the broadest policy.

AGENT_EXEC_EVERY_SONG=1 runs the lines of all groups.
"""

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

import agent_exec
from agent_exec.policy.facts import Facts
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from policy import songs_folder, songs_languages, songs_programs
from policy.canary import CANARY, judge, sings

LINES = songs_programs.LINES | songs_languages.LINES | songs_folder.LINES
SETUPS = songs_programs.SETUPS | songs_languages.SETUPS | songs_folder.SETUPS
OPTIONAL = frozenset(
    """
    busybox gawk mawk nawk zsh fish ksh tclsh expect lua ruby irb erb rake php node npm npx sqlite3 gdb rsync
    zip ed ex vim view vimdiff dc m4 socat fdfind rg strace ltrace script flock setarch ssh scp sftp man less
    groff troff nroff pic gcc cc c99 cpp cmake ctest ninja bsdtar cpio wget pip pydoc3 perl make git
    ssh-agent prlimit choom setpriv chrt taskset ionice runuser su sg msgexec msgfilter memusage prove
    fstab-decode scriptlive dpkg-architecture pytest mypy tox jest mocha vitest eslint gradle mvn bazel gh terraform
    pre-commit uv bzdiff xzgrep patch expect_unbuffer dislocate diff3 sdiff logsave dash linux64
    """.split()
)
ENOUGH = {"env", "timeout", "shells", "xargs", "find", "git", "sed", "make", "set for make", "git elsewhere"}
"""Groups that need no more than any machine of a developer has."""
EVERY_SONG = bool(os.environ.get("AGENT_EXEC_EVERY_SONG"))
PLAIN = re.compile(r"[\w\s=.,:/+@%'!{}-]*")


def lines(group: str) -> list[str]:
    return [line.replace("⏎", "\n") for line in LINES[group].splitlines() if line]


def missing(line: str) -> bool:
    named = OPTIONAL.intersection(re.findall(r"[\w.+-]+", line))
    return any(shutil.which(name) is None for name in named)


@pytest.mark.parametrize("group", sorted(LINES if EVERY_SONG else ENOUGH))
def test_lines_run_the_canary(tmp_path: Path, group: str) -> None:
    """None of these lines is allowed, which `test_no_line_is_allowed_wherever_it_is_run` asserts of all groups.

    How many of the others are heard depends on the machine, and nothing could
    be asserted of it.
    """
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    if setup := SETUPS.get(group):
        agent_exec.run(["bash", "-c", setup], cwd=prepared, timeout=30)
    run = [line for line in lines(group) if not missing(line)]
    heard = []
    for number, line in enumerate(run):
        folder = tmp_path / str(number)
        shutil.copytree(prepared, folder / "home", symlinks=True)
        if sings(folder, line):
            heard.append(line)
    least = len(run) * 3 // 4 if group in ENOUGH else min(len(run), 1)
    assert len(heard) >= least, set(run) - set(heard)


@pytest.mark.parametrize(
    "line",
    [
        "git config alias.x '!canary'; git x",
        "git config --global core.fsmonitor canary; git status",
        "git send-pack --exec=canary .",
        "echo canary | bash /dev/stdin",
        "echo canary | python3 /dev/fd/0",
        "perl -i -pe 's/a/`canary`/e' f",
        "ed f <<< '!canary'",
        "shuf f -o q; sh q",
    ],
)
def test_a_denied_program_is_found_where_no_rule_knows_the_one_that_runs_it(line: str) -> None:
    assert not Policy([Rule([CANARY], "deny")]).judge(line, Facts("/nowhere")).unmatched


def test_no_line_is_allowed_wherever_it_is_run() -> None:
    assert [line for group in LINES for line in lines(group) if judge(line).kind == "allow"] == []


def test_no_plain_line_is_allowed_as_an_argument_vector() -> None:
    plain = [line for group in LINES for line in lines(group) if PLAIN.fullmatch(line) and "\n" not in line]
    of_the_shell = re.compile(r"(?:\.|source|trap|coproc|exec|builtin|command|eval|time) |\w+=")
    vectors = [shlex.split(line) for line in plain if not of_the_shell.match(line)]
    assert len(vectors) > 150
    assert [vector for vector in vectors if judge(vector).kind == "allow"] == []


def test_there_are_enough_of_them() -> None:
    assert sum(len(lines(group)) for group in LINES) >= 350
