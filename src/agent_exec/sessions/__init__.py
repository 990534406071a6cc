"""Sessions: runs kept open under an id, with a readable transcript and input.

The public names are those of the contract (`open_tools`), which is built on the
modules in this package; they are loaded when first used, and no module inside
imports them from here. See docs/sessions.md.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.session.definitions import Terms as Terms
    from agent_exec.faces.session.tools import SessionTools as SessionTools
    from agent_exec.faces.session.tools import open_tools as open_tools
    from agent_exec.model.choices import Sink as Sink
    from agent_exec.tools.tool import Result as Result

_HOMES = {
    "faces.session.definitions": "Terms",
    "faces.session.tools": "SessionTools open_tools",
    "model.choices": "Sink",
    "tools.tool": "Result",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from agent_exec.model.lazy import public

        return public(__name__, name, _HOMES)

    def __dir__() -> list[str]:
        return __getattr__("__all__")
