"""The toolkit: tools for an agent in one workspace, each call answered with a dict. See docs/toolkit.md."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.oneshot.apply_patch import APPLY_PATCH as APPLY_PATCH
    from agent_exec.faces.oneshot.definitions import TOOL_DEFINITIONS as TOOL_DEFINITIONS
    from agent_exec.faces.oneshot.kit import ToolCatalog as ToolCatalog
    from agent_exec.faces.oneshot.kit import Toolkit as Toolkit
    from agent_exec.faces.oneshot.kit import create_agent_toolkit as create_agent_toolkit
    from agent_exec.faces.oneshot.secure import Context as Context
    from agent_exec.faces.oneshot.secure import Tool as Tool
    from agent_exec.faces.oneshot.secure import ToolError as ToolError
    from agent_exec.faces.oneshot.secure import secure_tool as secure_tool
    from agent_exec.model.choices import Answer as Answer
    from agent_exec.model.choices import Arguments as Arguments
    from agent_exec.model.choices import Definition as Definition
    from agent_exec.model.choices import Permission as Permission
    from agent_exec.model.choices import Provider as Provider
    from agent_exec.model.choices import ShellMode as ShellMode
    from agent_exec.model.choices import WriteScope as WriteScope
    from agent_exec.patch.apply import Applied as Applied
    from agent_exec.patch.apply import apply_patch as apply_patch
    from agent_exec.patch.errors import PatchError as PatchError

_HOMES = {
    "faces.oneshot.apply_patch": "APPLY_PATCH",
    "faces.oneshot.definitions": "TOOL_DEFINITIONS",
    "faces.oneshot.kit": "ToolCatalog Toolkit create_agent_toolkit",
    "faces.oneshot.secure": "Context Tool ToolError secure_tool",
    "model.choices": "Answer Arguments Definition Permission Provider ShellMode WriteScope",
    "patch.apply": "Applied apply_patch",
    "patch.errors": "PatchError",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from agent_exec.model.lazy import public

        return public(__name__, name, _HOMES)

    def __dir__() -> list[str]:
        return __getattr__("__all__")
