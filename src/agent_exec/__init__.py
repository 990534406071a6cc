"""Runs commands for AI agents: every byte kept, every process owned, no orphan left.

Here are runs, errors, rules and sandboxes. The contracts on top of them are
modules of their own: `agent_exec.jobs`, `agent_exec.sessions`,
`agent_exec.toolkit` and `agent_exec.executor`. A name is loaded when it is
first used. See docs/python.md.
"""

from agent_exec.model.lazy import loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec import executor, jobs, sessions, toolkit
    from agent_exec.engine.awaiting import arun
    from agent_exec.engine.confinement import Confinement, Warmable
    from agent_exec.engine.engine import Engine, run, warm
    from agent_exec.engine.run import Run

    # Names of the contracts that were here first.
    from agent_exec.faces.executor.config import CommandExecutorConfig as CommandExecutorConfig
    from agent_exec.faces.executor.errors import CommandExecutionError as CommandExecutionError
    from agent_exec.faces.executor.errors import CommandValidationError as CommandValidationError
    from agent_exec.faces.executor.executor import CommandExecutor as CommandExecutor
    from agent_exec.faces.executor.lists import CommandLists as CommandLists
    from agent_exec.faces.executor.result import CommandExecutionResult as CommandExecutionResult
    from agent_exec.faces.executor.result import CommandValidationResult as CommandValidationResult
    from agent_exec.faces.executor.toolhandler import ToolHandler as ToolHandler
    from agent_exec.faces.jobs import open_jobs as open_jobs
    from agent_exec.faces.oneshot.apply_patch import APPLY_PATCH as APPLY_PATCH
    from agent_exec.faces.oneshot.definitions import TOOL_DEFINITIONS as TOOL_DEFINITIONS
    from agent_exec.faces.oneshot.kit import ToolCatalog as ToolCatalog
    from agent_exec.faces.oneshot.kit import create_agent_toolkit as create_agent_toolkit
    from agent_exec.faces.oneshot.secure import ToolError as ToolError
    from agent_exec.faces.oneshot.secure import secure_tool as secure_tool
    from agent_exec.faces.session.tools import open_tools as open_tools
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.choices import (
        Approval,
        ApprovalPolicy,
        Basis,
        Cause,
        GitAccess,
        Leftovers,
        OnEvent,
        OnOutput,
        Overflow,
        Phase,
        ProfileName,
        Stream,
        Unmatched,
        VerdictKind,
        Word,
    )
    from agent_exec.model.command import Command, Terminal
    from agent_exec.model.errors import (
        AgentExecError,
        AmbiguousJob,
        ApprovalRequired,
        Broken,
        Busy,
        CommandDenied,
        CommandNotExecutable,
        CommandNotFound,
        ConfigFailed,
        InputClosed,
        InputTooLarge,
        Interrupted,
        InvalidArgument,
        InvalidConfig,
        InvalidRules,
        InvalidState,
        JobNotFound,
        KeeperLost,
        LaunchFailed,
        Missing,
        NotADirectory,
        NothingConfines,
        PlanFailed,
        Refused,
        SandboxUnavailable,
        StoreFailed,
        Unsupported,
        WorkdirForbidden,
        WorkdirNotFound,
    )
    from agent_exec.model.limits import Limits
    from agent_exec.model.lines import Lines
    from agent_exec.model.outcome import Outcome
    from agent_exec.model.output import Head, HeadTail, Keep, Tail, Text
    from agent_exec.patch.apply import apply_patch as apply_patch
    from agent_exec.policy.facts import Facts
    from agent_exec.policy.policy import Policy
    from agent_exec.policy.rule import Rule
    from agent_exec.policy.verdict import Finding, Verdict
    from agent_exec.requests.arguments import Approver, Rules
    from agent_exec.requests.gate import Gate, Request
    from agent_exec.requests.opening import IN_FORCE
    from agent_exec.requests.rulefile import load_rules
    from agent_exec.sandbox.plan.plan import Plan
    from agent_exec.sandbox.profile import BoxLimits, Profile
    from agent_exec.version import __version__

__all__ = [
    "IN_FORCE",
    "AgentExecError",
    "AmbiguousJob",
    "Approval",
    "ApprovalPolicy",
    "ApprovalRequired",
    "Approver",
    "Basis",
    "BoxLimits",
    "Broken",
    "Busy",
    "Cancel",
    "Cause",
    "Command",
    "CommandDenied",
    "CommandNotExecutable",
    "CommandNotFound",
    "ConfigFailed",
    "Confinement",
    "Engine",
    "Facts",
    "Finding",
    "Gate",
    "GitAccess",
    "Head",
    "HeadTail",
    "InputClosed",
    "InputTooLarge",
    "Interrupted",
    "InvalidArgument",
    "InvalidConfig",
    "InvalidRules",
    "InvalidState",
    "JobNotFound",
    "Keep",
    "KeeperLost",
    "LaunchFailed",
    "Leftovers",
    "Limits",
    "Lines",
    "Missing",
    "NotADirectory",
    "NothingConfines",
    "OnEvent",
    "OnOutput",
    "Outcome",
    "Overflow",
    "Phase",
    "Plan",
    "PlanFailed",
    "Policy",
    "Profile",
    "ProfileName",
    "Refused",
    "Request",
    "Rule",
    "Rules",
    "Run",
    "SandboxUnavailable",
    "StoreFailed",
    "Stream",
    "Tail",
    "Terminal",
    "Text",
    "Unmatched",
    "Unsupported",
    "Verdict",
    "VerdictKind",
    "Warmable",
    "Word",
    "WorkdirForbidden",
    "WorkdirNotFound",
    "__version__",
    "arun",
    "executor",
    "jobs",
    "load_rules",
    "run",
    "sessions",
    "toolkit",
    "warm",
]

_HOMES = {
    "IN_FORCE": "requests.opening",
    "AgentExecError": "model.errors",
    "AmbiguousJob": "model.errors",
    "Approval": "model.choices",
    "ApprovalPolicy": "model.choices",
    "ApprovalRequired": "model.errors",
    "Approver": "requests.arguments",
    "Basis": "model.choices",
    "BoxLimits": "sandbox.profile",
    "Broken": "model.errors",
    "Busy": "model.errors",
    "Cancel": "model.cancel",
    "Cause": "model.choices",
    "Command": "model.command",
    "CommandDenied": "model.errors",
    "CommandNotExecutable": "model.errors",
    "CommandNotFound": "model.errors",
    "ConfigFailed": "model.errors",
    "Confinement": "engine.confinement",
    "Engine": "engine.engine",
    "Facts": "policy.facts",
    "Finding": "policy.verdict",
    "Gate": "requests.gate",
    "GitAccess": "model.choices",
    "Head": "model.output",
    "HeadTail": "model.output",
    "InputClosed": "model.errors",
    "InputTooLarge": "model.errors",
    "Interrupted": "model.errors",
    "InvalidArgument": "model.errors",
    "InvalidConfig": "model.errors",
    "InvalidRules": "model.errors",
    "InvalidState": "model.errors",
    "JobNotFound": "model.errors",
    "Keep": "model.output",
    "KeeperLost": "model.errors",
    "LaunchFailed": "model.errors",
    "Leftovers": "model.choices",
    "Limits": "model.limits",
    "Lines": "model.lines",
    "Missing": "model.errors",
    "NotADirectory": "model.errors",
    "NothingConfines": "model.errors",
    "OnEvent": "model.choices",
    "OnOutput": "model.choices",
    "Outcome": "model.outcome",
    "Overflow": "model.choices",
    "Phase": "model.choices",
    "Plan": "sandbox.plan.plan",
    "PlanFailed": "model.errors",
    "Policy": "policy.policy",
    "Profile": "sandbox.profile",
    "ProfileName": "model.choices",
    "Refused": "model.errors",
    "Request": "requests.gate",
    "Rule": "policy.rule",
    "Rules": "requests.arguments",
    "Run": "engine.run",
    "SandboxUnavailable": "model.errors",
    "StoreFailed": "model.errors",
    "Stream": "model.choices",
    "Tail": "model.output",
    "Terminal": "model.command",
    "Text": "model.output",
    "Unmatched": "model.choices",
    "Unsupported": "model.errors",
    "Verdict": "policy.verdict",
    "VerdictKind": "model.choices",
    "Warmable": "engine.confinement",
    "Word": "model.choices",
    "WorkdirForbidden": "model.errors",
    "WorkdirNotFound": "model.errors",
    "__version__": "version",
    "arun": "engine.awaiting",
    "executor": "executor",
    "jobs": "jobs",
    "load_rules": "requests.rulefile",
    "run": "engine.engine",
    "sessions": "sessions",
    "toolkit": "toolkit",
    "warm": "engine.engine",
}

_MOVED = {
    "APPLY_PATCH": "faces.oneshot.apply_patch",
    "TOOL_DEFINITIONS": "faces.oneshot.definitions",
    "CommandExecutionError": "faces.executor.errors",
    "CommandExecutionResult": "faces.executor.result",
    "CommandExecutor": "faces.executor.executor",
    "CommandExecutorConfig": "faces.executor.config",
    "CommandLists": "faces.executor.lists",
    "CommandValidationError": "faces.executor.errors",
    "CommandValidationResult": "faces.executor.result",
    "ToolCatalog": "faces.oneshot.kit",
    "ToolError": "faces.oneshot.secure",
    "ToolHandler": "faces.executor.toolhandler",
    "apply_patch": "patch.apply",
    "create_agent_toolkit": "faces.oneshot.kit",
    "open_jobs": "faces.jobs",
    "open_tools": "faces.session.tools",
    "secure_tool": "faces.oneshot.secure",
}
"""Names that have moved to the module of their contract, and still work here."""

__getattr__ = loader(__name__, _HOMES | _MOVED)
