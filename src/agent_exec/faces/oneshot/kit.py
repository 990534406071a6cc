"""The toolkit: the tools of one workspace, their permissions, and calls."""

import os
import sys

from agent_exec.faces.oneshot.definitions import (
    LONGEST_TIMEOUT_MS,
    MAX_OUTPUT_CHARS,
    TIMEOUT_MS,
    served,
)
from agent_exec.faces.oneshot.exec_command import EXEC_COMMAND
from agent_exec.faces.oneshot.git_status import GIT_STATUS_SUMMARY
from agent_exec.faces.oneshot.secure import PERMISSIONS, WRITE_SCOPES, Context, Tool, refusal
from agent_exec.faces.oneshot.text import text_of
from agent_exec.model.cancel import check_cancel
from agent_exec.model.errors import InvalidArgument
from agent_exec.requests.dispatch import Dispatcher
from agent_exec.requests.folders import Workspace
from agent_exec.requests.opening import IN_FORCE
from agent_exec.requests.shells import POSIX_SHELLS, POWERSHELLS, shell_for, shell_name
from agent_exec.requests.variables import secret_values
from agent_exec.tools.define import confined, copied, export
from agent_exec.tools.schema import present, shown
from agent_exec.tools.tool import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Never

    from agent_exec.faces.oneshot.definitions import Definition
    from agent_exec.faces.oneshot.secure import Answer
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.choices import ApprovalPolicy, Provider, ShellMode, WriteScope
    from agent_exec.requests.arguments import Approver, Rules
    from agent_exec.requests.gate import Gate
    from agent_exec.sandbox.profile import Profile

ToolCatalog: "Mapping[str, Tool]" = {tool.name: tool for tool in (EXEC_COMMAND, GIT_STATUS_SUMMARY)}
"""The tools that every kit has, in their order."""


class Toolkit:
    """The tools of one workspace; `create_agent_toolkit` makes it.

    A call never raises for a caller's mistake: it answers with a dict, whose
    `status` is "success", "denied" or "failure". Any number of threads may
    call at once. A server calls it as a toolset: `definitions`, `call`.
    """

    __slots__ = ("_context", "_tools")
    name = "oneshot"

    def __init__(self, context: Context, tools: "Mapping[str, Tool]") -> None:
        self._context = context
        self._tools = tools

    def __repr__(self) -> str:
        return f"<Toolkit {self.workspace_root!r} {self.write_scope}>"

    @property
    def workspace_root(self) -> str:
        """The real path of the workspace."""
        return self._context.workspace.root

    @property
    def write_scope(self) -> str:
        """What may be written: "read-only", "workspace-write" or "unrestricted"."""
        return self._context.write_scope

    @property
    def instructions(self) -> str:
        """The text about all tools for a model."""
        context, (first, *others) = self._context, self._context.workspace.roots
        more = f" (or {', '.join(others)}, where cwd says so)" if others else ""
        return (
            f"Runs commands in the workspace {first}{more}, each to its end, for at most "
            f"{context.longest_ms / 1000:g} s; {confined(context.sandbox)}"
        )

    def exec_command(
        self,
        cwd: str,
        command: "Sequence[str]",
        *,
        shell_mode: "ShellMode" = "default",
        stdin: str | None = None,
        timeout_ms: float = TIMEOUT_MS,
        max_output_chars: float = MAX_OUTPUT_CHARS,
        **unknown: "Never",
    ) -> "Answer":
        """Run a command once in a directory of the workspace, and answer when nothing of it is left."""
        asked = {
            "cwd": cwd,
            "command": command,
            "shell_mode": shell_mode,
            "stdin": stdin,
            "timeout_ms": timeout_ms,
            "max_output_chars": max_output_chars,
        }
        return EXEC_COMMAND.call(self._context, asked | unknown if unknown else asked)

    def perform(
        self, name: str, arguments: "Mapping[str, Any]", cancelled: "Cancel | None" = None
    ) -> "dict[str, Any]":
        """Call a tool as a server's own client does: return its data, and raise what goes wrong.

        Secrets of this process are masked. A kit that was called so must be closed.
        """
        context = self._context.replace(secrets=secret_values(os.environ), cancelled=cancelled)
        found: dict[str, Any] = self._tools[name].perform(context, arguments)
        return found

    def git_status_summary(self, cwd: str = ".") -> "Answer":
        """Return the root of a repository, its branch and its status."""
        return GIT_STATUS_SUMMARY.call(self._context, {"cwd": cwd})

    def invoke(
        self, name: str, arguments: "Mapping[str, Any]", cancelled: "Cancel | None" = None
    ) -> "Answer":
        """Call a tool by its name, with its arguments as one object.

        Once `cancelled` is set, the commands that the tool runs are ended,
        and it returns. A kit that was called with `cancelled` must be closed.
        """
        return self._invoke(self._context, name, arguments, cancelled)

    def _invoke(
        self, context: Context, name: str, arguments: "Mapping[str, Any]", cancelled: "Cancel | None"
    ) -> "Answer":
        check_cancel(cancelled)
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            return refusal(
                "TOOL_NOT_FOUND",
                f"no tool {shown(name)}; there are {', '.join(self._tools)}",
                {"tools": list(self._tools)},
            )
        if cancelled is not None:
            context = context.replace(cancelled=cancelled)
        return tool.call(context, arguments)

    def call(self, name: str, arguments: "dict[str, Any]", call: "Cancel") -> "Result":
        """Call a tool for a server; it answers soon if the call is cancelled."""
        tool = self._tools.get(name)
        if tool is not None:
            arguments = present(tool.definition["parameters"], arguments)
        answer = self._invoke(self._context.replace(secrets=secret_values(os.environ)), name, arguments, call)
        return Result(text_of(name, answer), answer, answer["status"] != "success")

    def close(self) -> None:
        """End what runs for calls that can be cancelled, wait until it is gone, and take no more of them."""
        self._context.dispatcher.close()

    def allowed_tools(self) -> "list[Definition]":
        """Return the definitions of the tools that the policy allows, in order."""
        return [copied(tool.definition) for tool in self._allowed()]

    def definitions(self) -> "list[Definition]":
        """Return the same with what servers add: schemas of the answers, and hints."""
        return [served(definition, self._context.sandbox) for definition in self.allowed_tools()]

    def tools_for(self, provider: "Provider") -> "list[Definition]":
        """Return the same in the form of a provider: "openai", "anthropic" or "mcp"."""
        return export((tool.definition for tool in self._allowed()), provider)

    def _allowed(self) -> "list[Tool]":
        return [tool for tool in self._tools.values() if self._context.allows(tool.name)]


def create_agent_toolkit(
    workspace_root: "str | os.PathLike[str] | None" = None,
    policy: "Mapping[str, Any] | None" = None,
    write_scope: "WriteScope" = "workspace-write",
    *,
    rules: "Rules" = IN_FORCE,
    approver: "Approver | None" = None,
    approval_policy: "ApprovalPolicy | None" = None,
    gate: "Gate | None" = None,
    exec_in_read_only: bool = False,
    sandbox: "Profile | None" = None,
    shell: "Sequence[str] | None" = None,
    tools: "Sequence[Tool]" = (),
    own: "Sequence[str | os.PathLike[str]]" = (),
    hidden: "Sequence[str | os.PathLike[str]]" = (),
    roots: "Sequence[str | os.PathLike[str]]" = (),
    longest: float | None = None,
) -> Toolkit:
    """Return the tools of one workspace.

    `policy` says which tools may be used: {"tools": {"exec_command":
    "allow"}, "default_policy": "deny"}; without it, none. `write_scope` is
    "read-only", in which exec_command is denied unless `sandbox` is a
    read-only profile, by which the kernel confines it, or `exec_in_read_only`,
    "workspace-write" or "unrestricted"; none of them lets a path lead out of
    the workspace. `rules`, a file of them or a Policy, judge commands; by
    default the user's own do, those in force for `agent-exec run`, and with
    None no rules do. `approver` is asked where they say so, as
    `approval_policy` allows ($AGENT_EXEC_APPROVAL_POLICY, what the file says,
    or "on-request"), and an "always" is added to the file. A `gate` that is
    open already takes the place of the three.
    `shell` takes the place of the system's: its program and switches, such as
    ["bash", "-c"]. `tools` join the kit; see `secure_tool`. `own` are files
    of yours, beside the rules, that no confined command may change, `hidden`
    folders that none may see. `roots` are more folders that paths may lie in.
    No command runs longer than `longest` seconds.
    """
    root = _checked_root(workspace_root)
    permissions, default = _checked_policy(policy)
    if not isinstance(write_scope, str) or write_scope not in WRITE_SCOPES:
        raise InvalidArgument(f"write_scope must be one of {', '.join(WRITE_SCOPES)}; got {write_scope!r}")
    dispatcher = Dispatcher(
        rules,
        approver,
        approval_policy,
        gate=gate,
        sandbox=sandbox,
        own=_checked_paths("own", own),
        hidden=_checked_paths("hidden", hidden),
    )
    context = Context(
        Workspace(root, *_checked_paths("roots", roots)),
        permissions,
        default,
        write_scope,
        _checked_shell(shell),
        bool(exec_in_read_only),
        LONGEST_TIMEOUT_MS if longest is None else min(int(longest * 1000), LONGEST_TIMEOUT_MS),
        dispatcher,
    )
    return Toolkit(context, _joined(tools))


def _checked_root(root: "str | os.PathLike[str] | None") -> str:
    if root is None:
        raise InvalidArgument("workspace_root is missing; name the folder that the tools may work in")
    if not isinstance(root, str | os.PathLike) or not os.path.isdir(root):
        raise InvalidArgument(f"workspace_root must be a folder that exists; got {root!r}")
    return os.fsdecode(root)


def _checked_policy(policy: "Mapping[str, Any] | None") -> "tuple[dict[str, str], str]":
    """Return the permission of each named tool, and that of all others; a copy."""
    policy = {} if policy is None else policy
    named: Any = policy.get("tools", {}) if hasattr(policy, "keys") else None
    if not hasattr(named, "items") or not {"tools", "default_policy"}.issuperset(policy.keys()):
        form = '{"tools": {"exec_command": "allow"}, "default_policy": "deny"}'
        raise InvalidArgument(f"policy must be of the form {form}; got {policy!r}")
    permissions, default = dict(named.items()), policy.get("default_policy", "deny")
    for name, value in (*permissions.items(), ("default_policy", default)):
        if not isinstance(name, str) or not isinstance(value, str) or value not in PERMISSIONS:
            raise InvalidArgument(
                f"the policy of {name!r} must be one of {', '.join(PERMISSIONS)}; got {value!r}"
            )
    return permissions, default


def _checked_paths(name: str, paths: "Sequence[str | os.PathLike[str]]") -> "tuple[str, ...]":
    if isinstance(paths, str | bytes) or not all(isinstance(path, str | os.PathLike) for path in paths):
        raise InvalidArgument(f"{name} must be a list of paths; got {paths!r}")
    return tuple(os.path.abspath(path) for path in paths)


def _checked_shell(shell: "Sequence[str] | None") -> "tuple[str, ...]":
    if shell is None:
        return shell_for(sys.platform)
    known = (*POSIX_SHELLS, *POWERSHELLS)
    if (
        not isinstance(shell, list | tuple)
        or len(shell) < 2
        or any(not isinstance(word, str) for word in shell)
        or shell_name(shell) not in known
    ):
        raise InvalidArgument(
            'shell must be a program and its switches, such as ["bash", "-c"], and one of '
            f"{', '.join(known)}, for which we know how to quote; got {shell!r}"
        )
    return tuple(shell)


def _joined(tools: "Sequence[Tool]") -> "Mapping[str, Tool]":
    joined = dict(ToolCatalog)
    for tool in tools:
        if not isinstance(tool, Tool):
            raise InvalidArgument(f"tools must be made by secure_tool; got {tool!r}")
        if tool.name in joined:
            raise InvalidArgument(f"there is a tool {tool.name!r} already; name yours otherwise")
        joined[tool.name] = tool
    return joined
