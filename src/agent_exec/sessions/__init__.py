"""Sessions: runs kept open under an id, with a readable transcript and input.

The public names are those of the contract (`open_tools`), which is built on the
modules in this package; they are loaded when first used, and no module inside
imports them from here. See docs/sessions.md.
"""

from agent_exec.model.lazy import loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.session.definitions import Terms
    from agent_exec.faces.session.tools import SessionTools, open_tools
    from agent_exec.model.choices import Sink
    from agent_exec.tools.tool import Result

__all__ = [
    "Result",
    "SessionTools",
    "Sink",
    "Terms",
    "open_tools",
]

_HOMES = {
    "Result": "tools.tool",
    "SessionTools": "faces.session.tools",
    "Sink": "model.choices",
    "Terms": "faces.session.definitions",
    "open_tools": "faces.session.tools",
}

__getattr__ = loader(__name__, _HOMES, "agent_exec")
