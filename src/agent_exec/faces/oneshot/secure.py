"""The steps between a request and a tool, always in this order: policy, shape, sandbox, act.

Whatever happens is an answer, never an exception:

{"status": "success", "data": ...}
{"status": "denied", "reason": "policy" | "sandbox", "message": ..., "error": ...}
{"status": "failure", "reason": "runtime", "message": ..., "error": ...}
"""

from agent_exec.model.errors import AgentExecError, ApprovalRequired, CommandDenied, InvalidArgument
from agent_exec.model.value import Value
from agent_exec.tools.codes import oneshot_code
from agent_exec.tools.define import copied
from agent_exec.tools.schema import FREE, Wording
from agent_exec.tools.schema import check as checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from agent_exec.faces.oneshot.definitions import Definition
    from agent_exec.model.cancel import Cancel
    from agent_exec.requests.dispatch import Dispatcher
    from agent_exec.requests.folders import Workspace
    from agent_exec.sandbox.profile import Profile

    Answer = dict[str, Any]
    Arguments = dict[str, Any]

READ_ONLY = "read-only"
WRITE_SCOPES = (READ_ONLY, "workspace-write", "unrestricted")
PERMISSIONS = ("allow", "deny")

_DENIALS = {"POLICY_DENIED": "policy", "SANDBOX_VIOLATION": "sandbox"}


class ToolError(Exception):
    """A tool's refusal or failure, with a code of the contract; what a tool raises to answer with it."""

    def __init__(self, code: str, message: str, /, **details: object) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    @property
    def retriable(self) -> bool:
        """True if the same call may succeed later: as the error says that this one was raised from."""
        return self.__cause__.retryable if isinstance(self.__cause__, AgentExecError) else True


class Context(Value):
    """What a kit knows, for its tools: where they may work, what is allowed, and through which shell.

    Relative paths start from the root of `workspace`, and none leads out of
    its roots. No command runs longer than `longest_ms`; those of a call that
    can be cancelled end when `cancelled` is set.
    """

    workspace: "Workspace"
    permissions: "Mapping[str, str]"
    default_policy: str
    write_scope: str
    shell: "tuple[str, ...]"
    exec_in_read_only: bool
    longest_ms: int
    dispatcher: "Dispatcher"
    cancelled: "Cancel | None" = None
    secrets: "tuple[bytes, ...]" = ()
    """What is masked in the output of commands."""

    @property
    def sandbox(self) -> "Profile | None":
        """The profile that confines every command."""
        return self.dispatcher.sandbox

    def allows(self, name: str) -> bool:
        """True if the policy allows a tool."""
        return self.permissions.get(name, self.default_policy) == "allow"


class _Wording(Wording):
    """The contract's own: the argument is named in the details."""

    string = "a string"
    strings = 'an array of strings, such as ["git", "status"]'

    def missing(self, tool: str, name: str, about: str) -> InvalidArgument:
        return InvalidArgument(f"{tool} needs the argument {name}: {about}", argument=name)

    def wrong(self, tool: str, name: str, problem: str) -> InvalidArgument:
        return InvalidArgument(f"{tool}: {name} {problem}", argument=name)


_WORDING = _Wording()


class Tool:
    """A tool that joins a kit, `create_agent_toolkit(..., tools=[tool])`, and is called through the steps.

    `definition` is flat: name, description, parameters. `act(context,
    arguments)` does the work and returns the data of the answer; it raises
    ToolError to answer with a code of its own. `path` names the argument that
    is a path in the workspace: `act` gets it real, absolute and inside, and
    the root if it was left out. `writes` is true if the tool may write, which
    a read-only scope denies. `check` returns the arguments as they should be,
    or raises InvalidArgument. `words` returns the command that the tool would
    run, for the rules to judge. The arguments are valid by `parameters`, in
    which `bounds` replaces keywords of single ones that models are not shown.
    """

    __slots__ = ("_act", "_check", "_free", "_path", "_schema", "_words", "_writes", "definition", "name")

    def __init__(
        self,
        definition: "Definition",
        act: "Callable[[Context, Arguments], Any]",
        *,
        path: str | None = None,
        writes: "bool | Callable[[Context], bool]" = False,
        check: "Callable[[Arguments], Arguments] | None" = None,
        words: "Callable[[Arguments], Sequence[str]] | None" = None,
        bounds: "Mapping[str, Any] | None" = None,
    ) -> None:
        for name, kind in (("name", str), ("description", str), ("parameters", dict)):
            if not isinstance(definition, dict) or not isinstance(definition.get(name), kind):
                raise InvalidArgument(
                    'a definition must be {"name": "...", "description": "...", "parameters": {"type": '
                    f'"object", "properties": {{...}}}}}}; its {name} is missing or no {kind.__name__}'
                )
        self.definition: Definition = copied(definition)
        self.name: str = self.definition["name"]
        parameters = self.definition["parameters"]
        fields = parameters.get("properties")
        if not isinstance(fields, dict):
            raise InvalidArgument("a definition's parameters must have properties, if only {}")
        if path is not None and path not in fields:
            raise InvalidArgument(f"path must name one of the tool's parameters; there is no {path!r}")
        if not callable(act):
            raise InvalidArgument(f"act must be callable as act(context, arguments); got {act!r}")
        self._free = [name for name in fields if name != path] if bounds is None else FREE
        stricter = {name: {**fields[name], **bound} for name, bound in (bounds or {}).items()}
        self._schema = {**parameters, "properties": {**fields, **stricter}}
        self._act = act
        self._path = path
        self._writes = writes
        self._check = check
        self._words = words

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    def call(self, context: Context, arguments: object) -> "Answer":
        """Go through the steps, and answer."""
        try:
            return {"status": "success", "data": self.perform(context, arguments)}
        except ToolError as error:
            return refusal(error.code, error.message, error.details, retriable=error.retriable)
        except AgentExecError as error:
            return refusal(oneshot_code(error), error.message, error.details, retriable=error.retryable)
        except Exception as error:
            return refusal("INTERNAL", f"{self.name} failed: {type(error).__name__}: {error}")

    def perform(self, context: Context, arguments: object) -> "Any":
        """Go through the steps, and return the data; raise ToolError or AgentExecError for an error."""
        if not context.allows(self.name):
            raise ToolError(
                "POLICY_DENIED", f"[Security Policy] Access denied for tool: {self.name}", tool=self.name
            )
        asked = self._shape(arguments)
        workspace = context.workspace
        real = None if self._path is None else workspace.real(asked[self._path])
        if self._words is not None:
            judge(context, self._words(asked), real, asked.get("stdin") or b"")
        if context.write_scope == READ_ONLY and (
            self._writes if isinstance(self._writes, bool) else self._writes(context)
        ):
            raise ToolError(
                "SANDBOX_VIOLATION",
                f"[Sandbox Violation] Write operation denied: {self.name} may write, "
                "and the write scope is read-only",
                tool=self.name,
                write_scope=context.write_scope,
            )
        if self._path is not None and real is not None:
            if not workspace.holds(real):
                raise ToolError(
                    "SANDBOX_VIOLATION",
                    f"[Sandbox Violation] {self._path} {asked[self._path]!r} is outside of workspace "
                    f"{', '.join(map(repr, workspace.roots))}. Choose a path below it",
                    argument=self._path,
                    path=asked[self._path],
                )
            asked[self._path] = real
        return self._act(context, asked)

    def _shape(self, arguments: object) -> "Arguments":
        """Return the arguments, valid by the tool's schema and its own check; in a dict of their own."""
        asked = checked(self.name, self._schema, arguments, _WORDING, self._free)
        if self._path is not None:
            path = asked.setdefault(self._path, ".")
            if not path or path.isspace():
                problem = 'must not be empty; "." is the root of the workspace'
                raise _WORDING.wrong(self.name, self._path, problem)
        return asked if self._check is None else self._check(asked)


secure_tool = Tool


def refusal(
    code: str, message: str, details: "Mapping[str, object] | None" = None, *, retriable: bool = True
) -> "Answer":
    """Return the answer for a call that was denied or failed; only an INTERNAL error may be retriable."""
    reason = _DENIALS.get(code)
    return {
        "status": "failure" if reason is None else "denied",
        "reason": reason or "runtime",
        "message": message,
        "error": {
            "code": code,
            "message": message,
            "retriable": retriable and code == "INTERNAL",
            "details": dict(details or {}),
        },
    }


def judge(
    context: Context, words: "Sequence[str]", cwd: str | None, stdin: bytes, writes: "Sequence[str]" = ()
) -> None:
    """Have the rules judge a command; its input is shown to the approver."""
    try:
        context.dispatcher.gate.admit(words, cwd, stdin=stdin, writes=writes)
    except (CommandDenied, ApprovalRequired) as error:
        raise ToolError("POLICY_DENIED", f"[Security Policy] {error.message}", **error.details) from error
    except InvalidArgument as error:  # the approver's answer is invalid, not the caller's request
        raise ToolError("INTERNAL", error.message, **error.details) from error
