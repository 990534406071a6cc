"""Patterns in output: each line once, wherever chunks end, in bounded memory and bounded time."""

import random

import pytest

from agent_exec.jobs.events.matching import Matcher
from agent_exec.logs.stream import STREAMS
from agent_exec.model.errors import InvalidArgument
from cli import Cli
from support import python

Found = list[tuple[int, str, str]]


def rule(pattern: str, match_type: str = "contains", stream: str = "either") -> dict[str, str]:
    return {"pattern": pattern, "match_type": match_type, "stream": stream}


def matcher(*rules: dict[str, str]) -> tuple[Matcher, Found]:
    found: Found = []
    return Matcher(rules, lambda number, line, stream: found.append((number, line, stream))), found


@pytest.mark.parametrize("kind", ["contains", "regex"])
def test_a_line_is_found_once_wherever_chunks_end(kind: str) -> None:
    text = (
        "".join(f"line {at} {'MATCH' if at % 7 == 0 else 'none'} é\r\n" for at in range(200)).encode()
        + b"MATCH"
    )
    expected = [(0, f"line {at} MATCH é", "stdout") for at in range(0, 200, 7)] + [(0, "MATCH", "stdout")]
    chance = random.Random(1)
    for _ in range(20):
        looking, found = matcher(rule("MATCH", kind))
        rest = text
        while rest:
            size = chance.choice((1, 2, 3, 10, 1000))
            looking.feed("stdout", rest[:size])
            rest = rest[size:]
        looking.finish()
        assert found == expected


def test_each_rule_looks_at_its_own_stream() -> None:
    looking, found = matcher(rule("x", stream="stdout"), rule("x", stream="stderr"), rule("x"))
    for stream in STREAMS:
        looking.feed(stream, b"a x\nb\n")
    assert found == [(0, "a x", "stdout"), (2, "a x", "stdout"), (1, "a x", "stderr"), (2, "a x", "stderr")]


def test_a_line_without_an_end_is_looked_at_in_pieces_of_bounded_size() -> None:
    looking, found = matcher(rule("needle"))
    for _ in range(100):
        looking.feed("stdout", b"x" * 65_000)
        assert len(looking._rests["stdout"]) <= 1 << 17
    looking.feed("stdout", b"need")
    looking.feed("stdout", b"le")
    looking.finish()
    assert len(found) == 1


def test_a_flood_of_matches_is_bounded() -> None:
    looking, found = matcher(rule("x"))
    looking.feed("stdout", b"x\n" * 5000)
    assert len(found) == 1000


def test_a_pattern_that_takes_for_ever_is_given_up() -> None:
    looking, found = matcher(rule(r"^(\w|\w\w)+$", "regex"), rule("fine"))
    for _ in range(5):
        looking.feed("stdout", b"a" * 5000 + b"!\nfine\n")
    assert looking.slow == [0]
    assert [one for one in found if one[0] == 1] == [(1, "fine", "stdout")] * 5
    with pytest.raises(InvalidArgument, match="invalid regular expression"):
        matcher(rule("(", "regex"))


def test_a_job_goes_on_beside_a_pattern_that_takes_for_ever(cli: Cli) -> None:
    code = "for _ in range(20): print('a' * 5000 + '!')\nprint('done')"
    words = ["--output-pattern", r"^(\w|\w\w)+$", "--output-pattern", "done", "--output-match-type", "regex"]
    job = cli("run", "--wait", *words, "--", *python(code))
    assert (job["state"], job["exit_code"]) == ("exited", 0)
    first, second = cli("events", "--job", job["job_id"], "--kind", "output-match")["events"]
    assert first["details"]["line"] == "done"
    assert "takes too long" in second["message"]
