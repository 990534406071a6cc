"""Parses how often a command is to be run: `--retry`, `--restart` and `--every`."""

from agent_exec.model.command import seconds
from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FAILURES = ("exit", "timeout", "signal", "oom")
_BACKOFF, _LONGEST = 1.0, 60.0
_SHORTEST = 0.01
_FORMS = {
    "retry": "N[,backoff=TIME][,max=TIME][,on=exit+timeout+signal+oom], such as 3,backoff=2s",
    "restart": "no, on-failure or always[,backoff=TIME][,max=N], such as on-failure,max=5",
    "every": "TIME[,max=N], such as 15m",
}


def repeats(
    retry: str | int | None = None, restart: str | None = None, every: str | float | None = None
) -> "dict[str, Any] | None":
    """Return the term of a job that is to be run several times; None for a job that is run once."""
    given = {"retry": retry, "restart": restart, "every": every}
    asked = [(name, str(value)) for name, value in given.items() if value is not None]
    if len(asked) > 1:
        raise InvalidArgument(f"--{asked[0][0]} and --{asked[1][0]} contradict each other; give one of them")
    if not asked:
        return None
    kind, text = asked[0]
    first, *rest = text.split(",")
    options = dict(word.partition("=")[::2] for word in rest)
    try:
        term = _PARSERS[kind](first, options)
    except (ValueError, InvalidArgument):
        term = {}
    if term == {} or options:
        raise InvalidArgument(f"--{kind} takes {_FORMS[kind]}; got {text!r}")
    return term


def _retry(first: str, options: dict[str, str]) -> "dict[str, Any]":
    kinds = options.pop("on", "+".join(FAILURES)).replace("|", "+").split("+")
    if not set(kinds) <= set(FAILURES):
        raise ValueError(kinds)
    term = {"kind": "retry", "when": "on-failure", "most": _count(first), "on": kinds}
    longest = options.pop("max", None)
    return term | _backoff(options, _LONGEST if longest is None else seconds(longest, bare="s"))


def _restart(first: str, options: dict[str, str]) -> "dict[str, Any] | None":
    if first == "no" and not options:
        return None
    if first not in ("on-failure", "always"):
        raise ValueError(first)
    most = _count(options.pop("max")) if "max" in options else None
    term = {"kind": "restart", "when": first, "most": most, "on": list(FAILURES)}
    return term | _backoff(options, _LONGEST)


def _every(first: str, options: dict[str, str]) -> "dict[str, Any]":
    # A limit of N runs is one of N - 1 further ones.
    most = _count(options.pop("max")) - 1 if "max" in options else None
    pause = seconds(first, bare="s")
    if pause < _SHORTEST or (most is not None and most < 0):
        raise ValueError(first)
    return {"kind": "every", "seconds": pause, "most": most}


def _backoff(options: dict[str, str], longest: float) -> "dict[str, Any]":
    first = options.pop("backoff", None)
    backoff = min(_BACKOFF, longest) if first is None else seconds(first, bare="s")
    return {"backoff": max(backoff, _SHORTEST), "longest": max(longest, backoff, _SHORTEST)}


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ValueError(text)
    return int(text)


_PARSERS = {"retry": _retry, "restart": _restart, "every": _every}
