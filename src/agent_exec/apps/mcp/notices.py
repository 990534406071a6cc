"""Warnings for people, not only for the model: on the server's stderr, and in the client's log."""

import os
import select
import sys

from agent_exec.apps.mcp.connection import LEVELS, LOG_LEVEL
from agent_exec.apps.mcp.rpc import INVALID_PARAMS, RpcError, clean
from agent_exec.model.visible import visible
from agent_exec.sandbox.sandbox import shared_sandbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from agent_exec.apps.mcp.connection import Request
    from agent_exec.apps.mcp.rpc import Message
    from agent_exec.tools.tool import Result

_LONGEST = 2000
_MOST_PATHS = 20
_MOST_KEPT = 100
UNAVAILABLE = (
    "no sandbox works on this machine; run `agent-exec sandbox doctor` to see what is missing, or start the "
    "server with --sandbox full-access to run commands unconfined"
)


class Notices:
    """The notices of one client's server; any thread adds to them, `deliver` has the client log them.

    `first` returns a warning about the start, once there is one. `changes` is what was seen of
    changes to protected paths, for a person that is asked to approve something later.
    `hears_info` is whether the client wants to hear what is no warning, too.
    """

    def __init__(self, first: "Callable[[], str]" = str) -> None:
        self._first = first
        self._waiting: list[str] = []
        self._told: dict[str, None] = {}
        self._hears = self.hears_info = True
        self.changes: dict[str, None] = {}

    def notice(self, text: str, *, again: bool = True) -> None:
        """Tell people something: a line on stderr now, and in the client's log soon."""
        line = on_line(text)
        if not again and line in self._told:
            return
        self._told[line] = None
        while len(self._told) > _MOST_KEPT:
            del self._told[next(iter(self._told))]
        on_stderr(line)
        self._waiting.append(line)
        del self._waiting[:-_MOST_KEPT]

    def look(self, tool: str, answer: "Result") -> None:
        """Tell what the answer of a tool says about the sandbox that a person should know."""
        if (answer.is_error or _never_ran(answer.structured)) and shared_sandbox().broken:
            self.notice(f"a command was refused ({tool}): {UNAVAILABLE}", again=False)
        for part in parts_of(answer.structured or {}):
            where = f"{tool}, job {part['job_id']}" if "job_id" in part else tool
            box = part.get("sandbox")
            changed = box.get("protected_changes") if isinstance(box, dict) else None
            found = [_change(one) for one in changed] if isinstance(changed, list) else []
            if found:
                more = f", and {len(found) - _MOST_PATHS} more" if len(found) > _MOST_PATHS else ""
                said = f"{'; '.join(found[:_MOST_PATHS])}{more}"
                self.notice(
                    f"protected paths are not as they were after a confined command ({where}): {said}."
                    " Look at them before you run anything that reads them",
                    again="job_id" not in part,
                )
                self.changes |= dict.fromkeys(found[:_MOST_PATHS])
                while len(self.changes) > _MOST_KEPT:
                    del self.changes[next(iter(self.changes))]

    def set_level(self, request: "Request") -> "Message":
        """Learn from which level on the client wants to hear."""
        level = request.params.get("level")
        if level not in LEVELS:
            raise RpcError(INVALID_PARAMS, f"level must be one of {', '.join(LEVELS)}")
        self._hears, self.hears_info = _hears(level), _hears(level, "info")
        return {}

    def deliver(self, request: "Request") -> None:
        """Send new notices to the client's log, if it wants warnings."""
        if first := self._first():
            self._first = str
            self._waiting.insert(0, on_line(first))
        hears = _hears(request.meta.get(LOG_LEVEL)) if request.modern else self._hears
        while self._waiting:
            line = self._waiting.pop(0)
            if hears:
                told = {"level": "warning", "logger": "agent-exec", "data": clean(line)}
                request.notify("notifications/message", told)


def _hears(level: object, said: str = "warning") -> bool:
    """True if a client that hears from this level on hears what is said on another."""
    return level in LEVELS[: LEVELS.index(said) + 1]


def on_stderr(text: str) -> None:
    """Write a line to stderr without blocking on a reader that does not read."""
    try:
        if os.name != "posix" or select.select([], [2], [], 0)[1]:
            sys.stderr.write(f"agent-exec mcp: warning: {on_line(text)}\n")
            sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # there is no stderr, or its reader is gone
        return


def on_line(text: str) -> str:
    """Return a text on one line, in which nothing hides, and not longer than anybody reads."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return visible(cut)


def parts_of(answer: "dict[str, Any]") -> "Iterator[dict[str, Any]]":
    """Yield an answer, and the object in it that holds the data, where a contract has one."""
    yield answer
    for name in ("data", "result"):
        if isinstance(answer.get(name), dict):
            yield answer[name]


def _never_ran(answer: "dict[str, Any] | None") -> bool:
    """True if an answer is about a job that was never started."""
    return answer is not None and answer.get("reason") == "spawn_failed"


def _change(told: object) -> str:
    if not isinstance(told, dict):
        return str(told)
    said = f"{told.get('path')} {told.get('what')}"
    if told.get("moved_to"):
        said += f" and was taken away, to {told['moved_to']}"
    return f"{said} ({told['why']})" if told.get("why") else said
