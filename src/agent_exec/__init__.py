"""Runs commands for AI agents: every byte kept, every process owned, no orphan left.

Here are runs, errors, rules and sandboxes. The contracts on top of them are
modules of their own: `agent_exec.jobs`, `agent_exec.sessions`,
`agent_exec.toolkit` and `agent_exec.executor`. A name is loaded when it is
first used. See docs/python.md.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec import executor as executor
    from agent_exec import jobs as jobs
    from agent_exec import sessions as sessions
    from agent_exec import toolkit as toolkit
    from agent_exec.engine.awaiting import arun as arun
    from agent_exec.engine.confinement import Confinement as Confinement
    from agent_exec.engine.confinement import Warmable as Warmable
    from agent_exec.engine.engine import Engine as Engine
    from agent_exec.engine.engine import run as run
    from agent_exec.engine.engine import warm as warm
    from agent_exec.engine.run import Run as Run

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
    from agent_exec.faces.remote import Server as Server
    from agent_exec.faces.remote import connect as connect
    from agent_exec.faces.remote_terminal import RemoteTerminal as RemoteTerminal
    from agent_exec.faces.remote_tools import RemoteTools as RemoteTools
    from agent_exec.faces.session.tools import open_tools as open_tools
    from agent_exec.model.cancel import Cancel as Cancel
    from agent_exec.model.choices import Approval as Approval
    from agent_exec.model.choices import ApprovalPolicy as ApprovalPolicy
    from agent_exec.model.choices import Basis as Basis
    from agent_exec.model.choices import Cause as Cause
    from agent_exec.model.choices import GitAccess as GitAccess
    from agent_exec.model.choices import Leftovers as Leftovers
    from agent_exec.model.choices import OnEvent as OnEvent
    from agent_exec.model.choices import OnOutput as OnOutput
    from agent_exec.model.choices import Overflow as Overflow
    from agent_exec.model.choices import Phase as Phase
    from agent_exec.model.choices import ProfileName as ProfileName
    from agent_exec.model.choices import Stream as Stream
    from agent_exec.model.choices import Unmatched as Unmatched
    from agent_exec.model.choices import VerdictKind as VerdictKind
    from agent_exec.model.choices import Word as Word
    from agent_exec.model.command import Command as Command
    from agent_exec.model.command import Limits as Limits
    from agent_exec.model.command import Outcome as Outcome
    from agent_exec.model.command import Terminal as Terminal
    from agent_exec.model.errors import AgentExecError as AgentExecError
    from agent_exec.model.errors import AmbiguousJob as AmbiguousJob
    from agent_exec.model.errors import ApprovalRequired as ApprovalRequired
    from agent_exec.model.errors import Broken as Broken
    from agent_exec.model.errors import Busy as Busy
    from agent_exec.model.errors import CommandDenied as CommandDenied
    from agent_exec.model.errors import CommandNotExecutable as CommandNotExecutable
    from agent_exec.model.errors import CommandNotFound as CommandNotFound
    from agent_exec.model.errors import ConfigFailed as ConfigFailed
    from agent_exec.model.errors import DependencyFailed as DependencyFailed
    from agent_exec.model.errors import GroupNotFound as GroupNotFound
    from agent_exec.model.errors import InputClosed as InputClosed
    from agent_exec.model.errors import InputRequired as InputRequired
    from agent_exec.model.errors import InputTooLarge as InputTooLarge
    from agent_exec.model.errors import Interrupted as Interrupted
    from agent_exec.model.errors import InvalidArgument as InvalidArgument
    from agent_exec.model.errors import InvalidConfig as InvalidConfig
    from agent_exec.model.errors import InvalidRules as InvalidRules
    from agent_exec.model.errors import InvalidSettings as InvalidSettings
    from agent_exec.model.errors import InvalidState as InvalidState
    from agent_exec.model.errors import InvalidTag as InvalidTag
    from agent_exec.model.errors import JobNotFound as JobNotFound
    from agent_exec.model.errors import KeeperLost as KeeperLost
    from agent_exec.model.errors import LaunchFailed as LaunchFailed
    from agent_exec.model.errors import Missing as Missing
    from agent_exec.model.errors import NotADirectory as NotADirectory
    from agent_exec.model.errors import NothingConfines as NothingConfines
    from agent_exec.model.errors import NotReady as NotReady
    from agent_exec.model.errors import PlanFailed as PlanFailed
    from agent_exec.model.errors import QuestionNotFound as QuestionNotFound
    from agent_exec.model.errors import Refused as Refused
    from agent_exec.model.errors import SandboxUnavailable as SandboxUnavailable
    from agent_exec.model.errors import StoreFailed as StoreFailed
    from agent_exec.model.errors import Unsupported as Unsupported
    from agent_exec.model.errors import WorkdirForbidden as WorkdirForbidden
    from agent_exec.model.errors import WorkdirNotFound as WorkdirNotFound
    from agent_exec.model.lines import Lines as Lines
    from agent_exec.model.output import Head as Head
    from agent_exec.model.output import HeadTail as HeadTail
    from agent_exec.model.output import Keep as Keep
    from agent_exec.model.output import Tail as Tail
    from agent_exec.model.output import Text as Text
    from agent_exec.patch.apply import apply_patch as apply_patch
    from agent_exec.policy.facts import Facts as Facts
    from agent_exec.policy.policy import Policy as Policy
    from agent_exec.policy.rule import Rule as Rule
    from agent_exec.policy.verdict import Finding as Finding
    from agent_exec.policy.verdict import Verdict as Verdict
    from agent_exec.requests.arguments import Approver as Approver
    from agent_exec.requests.arguments import Rules as Rules
    from agent_exec.requests.gate import Gate as Gate
    from agent_exec.requests.gate import Request as Request
    from agent_exec.requests.inbox import Inbox as Inbox
    from agent_exec.requests.opening import IN_FORCE as IN_FORCE
    from agent_exec.requests.rulefile import load_rules as load_rules
    from agent_exec.sandbox.plan.plan import Plan as Plan
    from agent_exec.sandbox.profile import BoxLimits as BoxLimits
    from agent_exec.sandbox.profile import Profile as Profile
    from agent_exec.version import __version__ as __version__

_HOMES = {
    "engine.awaiting": "arun",
    "engine.confinement": "Confinement Warmable",
    "engine.engine": "Engine run warm",
    "engine.run": "Run",
    "executor": "executor",
    "faces.remote": "Server connect",
    "faces.remote_terminal": "RemoteTerminal",
    "faces.remote_tools": "RemoteTools",
    "jobs": "jobs",
    "model.cancel": "Cancel",
    "model.choices": (
        "Approval ApprovalPolicy Basis Cause GitAccess Leftovers OnEvent OnOutput Overflow Phase "
        "ProfileName Stream Unmatched VerdictKind Word"
    ),
    "model.command": "Command Limits Outcome Terminal",
    "model.errors": (
        "AgentExecError AmbiguousJob ApprovalRequired Broken Busy CommandDenied CommandNotExecutable "
        "CommandNotFound ConfigFailed DependencyFailed GroupNotFound InputClosed InputRequired "
        "InputTooLarge Interrupted "
        "InvalidArgument InvalidConfig InvalidRules InvalidSettings InvalidState InvalidTag JobNotFound "
        "KeeperLost LaunchFailed Missing NotADirectory NothingConfines NotReady PlanFailed "
        "QuestionNotFound Refused SandboxUnavailable StoreFailed Unsupported WorkdirForbidden WorkdirNotFound"
    ),
    "model.lines": "Lines",
    "model.output": "Head HeadTail Keep Tail Text",
    "policy.facts": "Facts",
    "policy.policy": "Policy",
    "policy.rule": "Rule",
    "policy.verdict": "Finding Verdict",
    "requests.arguments": "Approver Rules",
    "requests.gate": "Gate Request",
    "requests.inbox": "Inbox",
    "requests.opening": "IN_FORCE",
    "requests.rulefile": "load_rules",
    "sandbox.plan.plan": "Plan",
    "sandbox.profile": "BoxLimits Profile",
    "sessions": "sessions",
    "toolkit": "toolkit",
    "version": "__version__",
}
_MOVED = {
    "faces.executor.config": "CommandExecutorConfig",
    "faces.executor.errors": "CommandExecutionError CommandValidationError",
    "faces.executor.executor": "CommandExecutor",
    "faces.executor.lists": "CommandLists",
    "faces.executor.result": "CommandExecutionResult CommandValidationResult",
    "faces.executor.toolhandler": "ToolHandler",
    "faces.jobs": "open_jobs",
    "faces.oneshot.apply_patch": "APPLY_PATCH",
    "faces.oneshot.definitions": "TOOL_DEFINITIONS",
    "faces.oneshot.kit": "ToolCatalog create_agent_toolkit",
    "faces.oneshot.secure": "ToolError secure_tool",
    "faces.session.tools": "open_tools",
    "patch.apply": "apply_patch",
}
"""Names that have moved to the module of their contract, and still work here."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from agent_exec.model.lazy import public

        return public(__name__, name, _HOMES, _MOVED)

    def __dir__() -> list[str]:
        return __getattr__("__all__")
