"""A rule: a prefix of words, or paths that are written to, and what is said to it."""

from collections.abc import Sequence

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.paths import inside
from agent_exec.model.value import Value
from agent_exec.policy.shell.word import Word, base, plain
from agent_exec.policy.verdict import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.choices import VerdictKind

SYSTEM_FOLDERS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/")
"""The default PATH, where only the administrator writes."""


class Rule(Value):
    """What is said to every command that begins with these words, or to a write below these paths.

    A token of `prefix` is a word or a tuple of alternatives. `exact` is for
    the whole command, nothing more after it. An empty prefix is every
    command. `source` tells where the rule is written, as FILE:LINE.

    A rule that allows names a program as it is found by its bare name: a path
    matches only if it is written in the rule, or leads to a folder of the
    system. One that asks or denies matches the program under any path.
    """

    prefix: "Sequence[str | Sequence[str]]" = ()
    verdict: "VerdictKind" = "allow"
    reason: str = ""
    exact: bool = False
    write: Sequence[str] = ()
    folded: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in KINDS:
            raise InvalidArgument(f"a rule's verdict must be one of {', '.join(KINDS)}; got {self.verdict!r}")
        if any(not isinstance(path, str) or not path for path in self.write):
            raise InvalidArgument(f"a rule's write must be a list of paths; got {self.write!r}")
        if self.write and (self.prefix or self.exact):
            raise InvalidArgument(
                "a rule has a prefix (of commands) or write (paths), not both; make two rules"
            )
        object.__setattr__(self, "prefix", tuple(map(_token, self.prefix)))
        object.__setattr__(self, "write", tuple(self.write))

    def matches(self, words: Sequence[Word]) -> bool | None:
        """True if a command begins so; None if only the shell will know."""
        if self.write:
            return False
        sure = True
        for index, token in enumerate(self.prefix):
            if index >= len(words):
                return False if sure else None
            word = words[index]
            if not sure or word.text is None:
                if not word.single:
                    return None  # it may become any number of words: all that follows is elsewhere
                if word.head and not any(one.startswith(word.head) for one in _names(token)):
                    return False
                sure = False
            elif not self._fits(token, word.text, first=index == 0):
                return False
        if self.exact and len(words) != len(self.prefix):
            return False if sure and all(word.single for word in words) else None
        if self.exact and any(not word.single for word in words):
            return None
        return True if sure else None

    def covers(self, path: str) -> bool:
        """True if a write to this path, absolute and plain, falls under the rule."""
        return any(inside(path, place) for place in self.write)

    def named_in(self, text: str) -> bool:
        """True if a text, such as code, has all words of the prefix in it, or one of the paths."""
        import re

        def has(name: str) -> bool:
            return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None

        if self.write:
            return any(path in text for path in self.write)
        return all(any(map(has, _names(token))) for token in self.prefix)

    def _fits(self, token: str | Sequence[str], text: str, *, first: bool) -> bool:
        names = _names(token)
        if self.folded:
            names, text = tuple(name.casefold() for name in names), text.casefold()
        if text in names:
            return True
        if not first or "/" not in text.replace("\\", "/"):
            return first and self.verdict != "allow" and plain(text) in names
        if self.verdict == "allow":
            folder, _, name = text.rpartition("/")
            return folder + "/" in SYSTEM_FOLDERS and name in names
        return plain(text) in names or base(text) in names


def _names(token: str | Sequence[str]) -> tuple[str, ...]:
    return (token,) if isinstance(token, str) else tuple(token)


def _token(token: str | Sequence[str]) -> str | tuple[str, ...]:
    if isinstance(token, str):
        return token
    if not isinstance(token, list | tuple) or not token or any(not isinstance(one, str) for one in token):
        raise InvalidArgument(
            f'a token of a prefix must be a word or a list of words, such as ["status", "log"]; got {token!r}'
        )
    return tuple(token)
