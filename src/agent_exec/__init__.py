"""Runs commands for AI agents: every byte kept, every process owned, no orphan left."""

from agent_exec.model.lazy import loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.engine.awaiting import arun
    from agent_exec.engine.engine import Engine, run, warm
    from agent_exec.engine.run import Run
    from agent_exec.faces.executor.config import CommandExecutorConfig
    from agent_exec.faces.executor.errors import CommandExecutionError, CommandValidationError
    from agent_exec.faces.executor.executor import CommandExecutor
    from agent_exec.faces.executor.lists import CommandLists
    from agent_exec.faces.executor.result import CommandExecutionResult, CommandValidationResult
    from agent_exec.faces.executor.toolhandler import ToolHandler
    from agent_exec.faces.jobs import open_jobs
    from agent_exec.faces.oneshot.apply_patch import APPLY_PATCH
    from agent_exec.faces.oneshot.definitions import TOOL_DEFINITIONS
    from agent_exec.faces.oneshot.kit import ToolCatalog, create_agent_toolkit
    from agent_exec.faces.oneshot.secure import ToolError, secure_tool
    from agent_exec.faces.session.tools import open_tools
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.command import Command, Terminal
    from agent_exec.model.errors import AgentExecError
    from agent_exec.model.limits import Limits
    from agent_exec.model.lines import Lines
    from agent_exec.model.outcome import Outcome
    from agent_exec.model.output import Head, HeadTail, Tail, Text
    from agent_exec.patch.answer import apply_patch
    from agent_exec.policy.facts import Facts
    from agent_exec.policy.policy import Policy
    from agent_exec.policy.rule import Rule
    from agent_exec.policy.verdict import Verdict
    from agent_exec.requests.gate import Gate, Request
    from agent_exec.requests.rulefile import load_rules
    from agent_exec.sandbox.profile import BoxLimits, Profile
    from agent_exec.version import __version__

__all__ = [
    "APPLY_PATCH",
    "TOOL_DEFINITIONS",
    "AgentExecError",
    "BoxLimits",
    "Cancel",
    "Command",
    "CommandExecutionError",
    "CommandExecutionResult",
    "CommandExecutor",
    "CommandExecutorConfig",
    "CommandLists",
    "CommandValidationError",
    "CommandValidationResult",
    "Engine",
    "Facts",
    "Gate",
    "Head",
    "HeadTail",
    "Limits",
    "Lines",
    "Outcome",
    "Policy",
    "Profile",
    "Request",
    "Rule",
    "Run",
    "Tail",
    "Terminal",
    "Text",
    "ToolCatalog",
    "ToolError",
    "ToolHandler",
    "Verdict",
    "__version__",
    "apply_patch",
    "arun",
    "create_agent_toolkit",
    "load_rules",
    "open_jobs",
    "open_tools",
    "run",
    "secure_tool",
    "warm",
]

_HOMES = {
    "APPLY_PATCH": "faces.oneshot.apply_patch",
    "AgentExecError": "model.errors",
    "BoxLimits": "sandbox.profile",
    "Cancel": "model.cancel",
    "Command": "model.command",
    "CommandExecutionError": "faces.executor.errors",
    "CommandExecutionResult": "faces.executor.result",
    "CommandExecutor": "faces.executor.executor",
    "CommandExecutorConfig": "faces.executor.config",
    "CommandLists": "faces.executor.lists",
    "CommandValidationError": "faces.executor.errors",
    "CommandValidationResult": "faces.executor.result",
    "Engine": "engine.engine",
    "Facts": "policy.facts",
    "Gate": "requests.gate",
    "Head": "model.output",
    "HeadTail": "model.output",
    "Limits": "model.limits",
    "Lines": "model.lines",
    "Outcome": "model.outcome",
    "Policy": "policy.policy",
    "Profile": "sandbox.profile",
    "Request": "requests.gate",
    "Rule": "policy.rule",
    "Run": "engine.run",
    "TOOL_DEFINITIONS": "faces.oneshot.definitions",
    "Tail": "model.output",
    "Terminal": "model.command",
    "Text": "model.output",
    "ToolCatalog": "faces.oneshot.kit",
    "ToolError": "faces.oneshot.secure",
    "ToolHandler": "faces.executor.toolhandler",
    "Verdict": "policy.verdict",
    "__version__": "version",
    "apply_patch": "patch.answer",
    "arun": "engine.awaiting",
    "create_agent_toolkit": "faces.oneshot.kit",
    "load_rules": "requests.rulefile",
    "open_jobs": "faces.jobs",
    "open_tools": "faces.session.tools",
    "run": "engine.engine",
    "secure_tool": "faces.oneshot.secure",
    "warm": "engine.engine",
}


__getattr__ = loader(__name__, _HOMES)


def __dir__() -> list[str]:
    """List the front door's names."""
    return __all__
