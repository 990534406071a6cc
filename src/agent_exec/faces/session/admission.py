"""Whether a command of a session may run, and whether outside of the sandbox: judged, then asked for."""

from agent_exec.faces.session.failures import escalation_refused, exec_failed
from agent_exec.model.errors import ApprovalRequired, CommandDenied
from agent_exec.requests import shells

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.session.arguments import ExecArguments
    from agent_exec.requests.gate import Gate
    from agent_exec.sandbox.profile import Profile


def can_escalate(gate: "Gate") -> bool:
    """True if somebody can be asked to let a command out of the sandbox."""
    return gate.approval == "on-request" and gate.can_ask


def escalates(gate: "Gate", asked: "ExecArguments") -> bool:
    """True if it asks to run without the sandbox; raise if nobody may be asked for that."""
    if asked.sandbox_permissions != "require_escalated":
        return False
    if not can_escalate(gate):
        raise escalation_refused(gate.approval)
    return True


def admit(gate: "Gate", asked: "ExecArguments", argv: "list[str]", cwd: str) -> None:
    """Have a command judged; raise if it may not run."""
    try:
        gate.admit(asked.cmd, cwd, proposed=asked.prefix_rule)
    except (ApprovalRequired, CommandDenied) as error:
        raise exec_failed(argv, error.message) from None


def let_out(
    gate: "Gate",
    asked: "ExecArguments",
    shell: shells.Shell,
    argv: "list[str]",
    cwd: str,
    sandbox: "Profile | None",
    path: str | None,
) -> None:
    """Ask whether a command may run without the sandbox; raise if not. `path` is its PATH."""
    from agent_exec.requests.leaving import standing, within, writable

    roots = writable(sandbox)
    if sandbox is not None and within(shell.path, roots):
        raise exec_failed(
            argv, f"the shell {shell.path} lies where confined commands may write; name another"
        )
    # A profile may change the PATH, and what is typed into a terminal is not known yet.
    plain = shell.kind in shells.POSIX_KINDS and not asked.tty
    grant = standing(asked.cmd, cwd, roots, None if asked.login else path) if plain else None
    try:
        gate.ask(asked.cmd, cwd, asked.justification or "it asks for more than the sandbox allows", grant)
    except ApprovalRequired:
        raise exec_failed(argv, 'CreateProcess { message: "Rejected(\\"rejected by user\\")" }') from None
