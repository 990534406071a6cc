"""The oracle: real shells run each line, and none in which the canary was heard is allowed."""

import random
import shutil
from pathlib import Path

import pytest

from agent_exec.policy.facts import Facts
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from policy.canary import CANARY, judge, sings
from policy.lines_shell import LONG, SEEMING, SINGING

SHELLS = [shell for shell in ("bash", "dash") if shutil.which(shell)]
HARMLESS = [
    "echo canary",
    "echo 'canary' \"canary\"",
    "ls # canary",
    "cat <<'EOF'\ncanary\nEOF\nls",
    "cat <<EOF\ncanary $x\nEOF",
    "case x in canary) ls;; esac",
    "for x in canary; do ls; done",
    "x=canary ls",
    "a=(canary x)",
    'echo "${x:-canary}"',
    "echo $(echo canary)",
    "[ x = canary ] && ls",
    "[[ x == *canary* ]] || ls",
    "ls 2> canary < f",
    "if [ -f canary ]; then echo canary; fi",
    "f() { echo canary; }; f",
    "echo a \\\n canary \\\n b",
    "git commit -m \"$(cat <<'EOF'\ncanary\nEOF\n)\"",
    "echo 'it'\"'\"'s canary'",
    "time ls canary",
    "{ echo canary; } > f",
]
TOKENS = [
    *r"""
    canary canary ; & | && || ( ) { } ' " ` $ $( ${ $(( )) \ # < << <<< > >& <<EOF <<'EOF' EOF <( ! [ ] [[ ]] in do
    done then if fi esac case x) ;; for f() = x= a=( [$(canary)] '$(canary)' $' ~ * -v -eq time eval exec env 2>&1 &>
    |& {fd}> $x ${x:- } \' \" \\ '' '\''
    """.split(),
    *(" ", " ", "\n", "\t", "\\\n", " #", "\nEOF\n", "\r", " ]", "[ ", "{ ", " }"),
]


def heard(folder: Path, line: str, shells: "list[str]" = SHELLS) -> bool:
    return any(sings(folder / shell, line, shell) for shell in shells)


@pytest.mark.parametrize("group", SINGING)
def test_a_line_that_runs_the_canary_is_never_allowed(tmp_path: Path, group: str) -> None:
    lines = SINGING[group]
    shells = SHELLS if group != "zsh" else ["zsh"]
    able = len(SHELLS) == 2 and all(map(shutil.which, shells))
    silent = [line for at, line in enumerate(lines) if able and not heard(tmp_path / str(at), line, shells)]
    allowed = [line for line in lines if judge(line).kind == "allow"]
    assert allowed == []
    # What jobs run when no rule knows it, although one denies the canary.
    assert [line for line in lines if unmatched(line)] == []
    assert len(silent) <= len(lines) // 10, f"these run nothing in any shell: {silent}"


def unmatched(line: str) -> bool:
    return Policy([Rule([CANARY], "deny")]).judge(line, Facts("/nowhere")).unmatched


def test_the_corpus_is_large() -> None:
    assert sum(len(lines) for lines in SINGING.values()) > 900


@pytest.mark.parametrize("line", LONG, ids=range(len(LONG)))
def test_a_long_or_deep_line_is_never_allowed(tmp_path: Path, line: str) -> None:
    assert judge(line).kind != "allow"


def test_a_line_that_only_seems_to_run_the_canary_is_not_allowed_either() -> None:
    assert [line for line in SEEMING if judge(line).kind == "allow"] == []


@pytest.mark.parametrize("seed", range(6))
def test_no_mutation_of_harmless_lines_hides_the_canary(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    allowed = [
        line
        for line in (mutated(chance, chance.choice(HARMLESS)) for _ in range(250))
        if "canary" in line and judge(line).kind == "allow"
    ]
    assert [line for at, line in enumerate(allowed) if heard(tmp_path / str(at), line)] == []


def mutated(chance: random.Random, line: str) -> str:
    """Insert, cut out, replace and mix a few times."""
    for _ in range(chance.choice((1, 1, 2, 2, 3))):
        at = chance.randrange(len(line) + 1)
        end = min(len(line), at + chance.choice((0, 0, 0, 1, 2, 3)))
        other = chance.choice(HARMLESS)
        new = chance.choice(
            (chance.choice(TOKENS), chance.choice(TOKENS), "", other[chance.randrange(len(other)) :])
        )
        line = line[:at] + new + line[end:]
    return line
