"""Compiles regular expressions of callers, whose searches take a time limit."""

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from regex import Pattern


def engine() -> "ModuleType":
    """Return the module that compiles: unlike `re`, it stops a search in time, and lets other threads run."""
    try:
        import regex
    except ImportError:  # in a supervisor of an editable install: our requirements are installed elsewhere
        import sys

        folder, (major, minor, *_) = sys.executable.rsplit("/", 2)[0], sys.version_info
        sys.path.append(f"{folder}/lib/python{major}.{minor}/site-packages")
        import regex

    return regex


def compiled(text: str, *, by_line: bool = False) -> "Pattern[str]":
    """Return a compiled expression; with `by_line`, ^ and $ match at each line.

    Raise InvalidArgument for an invalid expression.
    """
    regex = engine()
    try:
        found: Pattern[str] = regex.compile(text, regex.MULTILINE if by_line else 0)
    except (regex.error, OverflowError, RecursionError) as error:
        raise InvalidArgument(f"invalid regular expression {text!r}: {error}", pattern=text) from None
    return found
