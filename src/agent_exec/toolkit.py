"""The toolkit: tools for an agent in one workspace, each call answered with a dict. See docs/toolkit.md."""

from agent_exec.model.lazy import loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.oneshot.apply_patch import APPLY_PATCH
    from agent_exec.faces.oneshot.definitions import TOOL_DEFINITIONS
    from agent_exec.faces.oneshot.kit import ToolCatalog, Toolkit, create_agent_toolkit
    from agent_exec.faces.oneshot.secure import Context, Tool, ToolError, secure_tool
    from agent_exec.model.choices import (
        Answer,
        Arguments,
        Definition,
        Permission,
        Provider,
        ShellMode,
        WriteScope,
    )
    from agent_exec.patch.apply import Applied, apply_patch
    from agent_exec.patch.errors import PatchError

__all__ = [
    "APPLY_PATCH",
    "TOOL_DEFINITIONS",
    "Answer",
    "Applied",
    "Arguments",
    "Context",
    "Definition",
    "PatchError",
    "Permission",
    "Provider",
    "ShellMode",
    "Tool",
    "ToolCatalog",
    "ToolError",
    "Toolkit",
    "WriteScope",
    "apply_patch",
    "create_agent_toolkit",
    "secure_tool",
]

_HOMES = {
    "APPLY_PATCH": "faces.oneshot.apply_patch",
    "TOOL_DEFINITIONS": "faces.oneshot.definitions",
    "Answer": "model.choices",
    "Applied": "patch.apply",
    "Arguments": "model.choices",
    "Context": "faces.oneshot.secure",
    "Definition": "model.choices",
    "PatchError": "patch.errors",
    "Permission": "model.choices",
    "Provider": "model.choices",
    "ShellMode": "model.choices",
    "Tool": "faces.oneshot.secure",
    "ToolCatalog": "faces.oneshot.kit",
    "ToolError": "faces.oneshot.secure",
    "Toolkit": "faces.oneshot.kit",
    "WriteScope": "model.choices",
    "apply_patch": "patch.apply",
    "create_agent_toolkit": "faces.oneshot.kit",
    "secure_tool": "faces.oneshot.secure",
}

__getattr__ = loader(__name__, _HOMES, "agent_exec")
