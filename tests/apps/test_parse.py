"""The words of a command line become a verb, its options and its words."""

import pytest

from agent_exec.apps.options import GLOBAL, VERBS
from agent_exec.apps.parse import UsageError, parse


@pytest.mark.parametrize(
    ("words", "verb", "options", "rest"),
    [
        ([], None, {}, []),
        (["list"], "list", {}, []),
        (["rm", "A"], "delete", {}, ["A"]),
        (["--root", "/r", "status", "A"], "status", {"root": "/r"}, ["A"]),
        (["status", "A", "--root", "/r"], "status", {"root": "/r"}, ["A"]),
        (["status", "--root=/r", "A"], "status", {"root": "/r"}, ["A"]),
        (["status", "--root=", "A"], "status", {"root": ""}, ["A"]),
        (["status", "--", "--root"], "status", {}, ["--root"]),
        (["-v", "list"], "list", {"verbose": True}, []),
        (["list", "-vvv"], "list", {"verbose": True}, []),
        (["list", "-h"], "list", {"help": True}, []),
        (["tail", "A", "--lines", "7"], "tail", {"tail-lines": 7}, ["A"]),
        (["tail", "A", "--cursor", "--odd"], "tail", {"cursor": "--odd"}, ["A"]),
        (["run", "echo", "--wait", "--", "-h"], "run", {}, ["echo", "--wait", "--", "-h"]),
        (["run", "--wait", "--", "--wait"], "run", {"wait": True}, ["--wait"]),
        (["run", "-", "x"], "run", {}, ["-", "x"]),
        (["run", "--stdin", "-", "cat"], "run", {"stdin": "-"}, ["cat"]),
        (["run", "--env", "A=1", "--env=B=2", "x"], "run", {"env": ["A=1", "B=2"]}, ["x"]),
        (["run", "--until", "2", "x"], "run", {"until": 2.0}, ["x"]),
        (["run", "--timeout", "2", "x"], "run", {"timeout": 0.002}, ["x"]),
        (["run", "--timeout", "1", "--timeout", "2s", "x"], "run", {"timeout": 2.0}, ["x"]),
        (["gc", "--older-than", "7d"], "gc", {"older-than": 604_800.0}, []),
    ],
)
def test_words_become_a_request(
    words: list[str], verb: str | None, options: dict[str, object], rest: list[str]
) -> None:
    found = parse(words)
    assert (found.verb, found.options, found.words) == (verb, options, rest)


def test_the_words_of_an_option_are_kept_as_they_were_written() -> None:
    assert parse(["gc", "--older-than", "7d"]).texts == {"older-than": "7d"}


def test_an_error_names_the_verb_and_the_nearest_option() -> None:
    with pytest.raises(
        UsageError, match="run has no option --taill-lines; did you mean --tail-lines"
    ) as error:
        parse(["run", "--taill-lines", "5"])
    assert error.value.verb == "run"


@pytest.mark.parametrize("verb", VERBS)
def test_the_table_is_sound(verb: str) -> None:
    names = [option[0] for option in VERBS[verb].options]
    assert len(names) == len(set(names))
    same = set(names) & {option[0] for option in GLOBAL}
    own = {"sandbox": {"root"}, "mcp": {"token-file"}, "serve": {"token-file"}}
    assert same == own.get(verb, set()), "only a sandbox has roots of its own, and a server a token"
    assert {option[1] for option in VERBS[verb].options} <= {"flag", "text", "many", "count", "ms", "s"}
    for _, kind, value, _ in VERBS[verb].options:
        assert (kind == "flag") is (value == "")
