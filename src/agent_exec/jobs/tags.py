"""Labels of jobs: words of letters, digits and -, joined by dots."""

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


def check_tags(tags: "Iterable[str]") -> list[str]:
    """Return the tags as text, each once, in order; raise InvalidArgument for one that is not a tag."""
    found: list[str] = []
    for tag in map(str, tags):
        if not all(part and _LETTERS.issuperset(part) for part in tag.split(".")):
            raise InvalidArgument(
                f"{tag!r} is no tag; use letters, digits and -, joined by dots, such as build.linux", tag=tag
            )
        if tag not in found:
            found.append(tag)
    return found
