"""The verb `schema`: prints the JSON Schema of every answer."""

from agent_exec.apps.cli.act import nothing_more
from agent_exec.faces import verbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed


def schema(asked: "Parsed") -> "dict[str, Any]":
    """Return the schema, as an answer."""
    nothing_more(asked)
    return verbs.schema()
