"""Finds commands that would answer a question in place of the person to whom it is put."""

from collections.abc import Sequence

from agent_exec.policy.programs.effects import name_of
from agent_exec.policy.shell.word import Word

_PROGRAM, _MODULE = "agent-exec", "agent_exec"
_VERB = "approvals"
_DOING = ("answer", "watch")


def self_approval(words: Sequence[Word]) -> bool:
    """True if a command is this program, and answers questions or pretends that a person sees them."""
    texts = [word.text for word in words[1:]]
    ours = name_of(words) == _PROGRAM or _MODULE in texts
    return ours and _VERB in texts and any(text is None or text in _DOING for text in texts)
