"""What a person is asked about a command: one text for every way to ask, and the answers that are offered."""

from agent_exec.model.visible import visible
from agent_exec.requests.gate import ANSWERS, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.policy.rule import Rule
    from agent_exec.requests.gate import Request

WORDS = {
    "once": "Yes, this once",
    "session": "Yes, until the server ends",
    "always": "Yes, always: write the rule down",
    "no": "No",
}
"""Each answer as it is shown."""
SHOWN = 2000
"""How many bytes of an input are shown."""


def answers(request: "Request") -> "Sequence[str]":
    """Return the answers that can be given: none that would last where none can, no rule where none is."""
    lasting = [] if request.once else ["session", "always"] if request.rules else ["session"]
    return [one for one in ANSWERS if one in ("once", *lasting, "no")]


def question(request: "Request", changes: "Sequence[str]" = ()) -> str:
    """Return what is asked: the command, why, where, and what an "always" would write down.

    The command and the reason come first, since clients cut questions after a
    few lines. `changes` are those to protected paths that were seen before.
    What others have written cannot be taken for what we say: the command's
    lines are set in, and all else of theirs is on one line.
    """
    where = " outside of the sandbox" if request.escalated else ""
    said = [f"Run this command{where}?", *_indented(command_line(request.command))]
    said.append(f"It is asked for because: {sentence(visible(request.verdict.reason))}")
    if request.cwd:
        said.append(f"In {visible(request.cwd)}.")
    if request.stdin:
        said += ["It is given to read:\n", *_indented(_input(request))]
        more = len(request.stdin) - SHOWN
        said += [f"and {more} bytes more, which are not shown.", ""] if more > 0 else [""]
    if request.env_names:
        said.append(f"It sets {visible(', '.join(request.env_names))}.")
    if changes:
        said.append("Since the server started, confined commands have changed what is protected:\n")
        said += [*(f"    {visible(one)}" for one in changes), ""]
    if request.escalated and request.once:
        said.append("A yes is for this once: it may do something else the next time.")
    elif request.escalated:
        said.append("A yes until the server ends is for exactly this command in this folder.")
    elif request.once:
        said.append("A yes is for this once: the next time, these may be others.")
    if added := _added(request):
        said.append(f"Always would add:\n{added}")
    return "\n".join(said)


def fields(request: "Request", changes: "Sequence[str]" = ()) -> "dict[str, Any]":
    """Return what a question says, field by field; every text but `argv` and `line` is safe to show.

    `rule` is the rule that asks: its file and line, or its words. `always` is
    what an "always" would add to the rules. `text` is the whole question.
    """
    rule = request.verdict.rule
    command = request.command
    return {
        "command": _visible(command_line(command)),
        **({"line": command} if isinstance(command, str) else {"argv": list(command)}),
        "cwd": None if request.cwd is None else visible(request.cwd),
        "reason": visible(request.verdict.reason),
        "rule": None if rule is None else visible(rule.source or _words(rule)),
        "answers": answers(request),
        "always": _added(request) or None,
        "escalated": request.escalated,
        "once": request.once,
        "env_names": [visible(name) for name in request.env_names],
        "stdin_bytes": len(request.stdin),
        "stdin_preview": _visible(_input(request)),
        "text": question(request, changes),
    }


def command_line(command: "Sequence[str] | str") -> str:
    """Return a command as a line for a shell."""
    from shlex import join

    return command if isinstance(command, str) else join(command)


def _words(rule: "Rule") -> str:
    words = rule.write or rule.prefix
    return " ".join(word if isinstance(word, str) else "|".join(word) for word in words)


def _input(request: "Request") -> str:
    return request.stdin[:SHOWN].decode(errors="replace")


def _added(request: "Request") -> str:
    """Return the rules that an "always" would add, as they are written; empty if it is not offered."""
    if "always" not in answers(request):
        return ""
    from agent_exec.policy.rulebook import write

    return _visible("\n".join(map(write, request.rules))).rstrip()


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in _visible(text).split("\n")]


def _visible(text: str) -> str:
    """Return a text in which nothing hides: what a screen would not show is written out."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))
