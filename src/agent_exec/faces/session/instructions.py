"""What a model is told about all tools of sessions at once, and about where its commands run."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sandbox.profile import Profile

TOOLS = """\
exec_command runs a shell command and answers when it ends, when it waits for input, or after yield_time_ms; \
what still runs has a session id. write_stdin types into a session started with tty=true, or waits for it if \
chars is empty. read_output reads any part of a session's output again; list_sessions and kill_session see \
to what runs."""


def instructions(workspace: str, sandbox: "Profile | None", *, escalates: bool) -> str:
    """Return the text; `escalates` says that somebody can be asked to let a command out of the sandbox."""
    return f"{TOOLS} Commands start in the workspace {workspace}; {confined(sandbox, escalates=escalates)}"


def confined(sandbox: "Profile | None", *, escalates: bool = False) -> str:
    """Return what commands are kept from."""
    if sandbox is None:
        return "they are not confined."
    if sandbox.name == "full-access":
        return "they are not confined: the sandbox profile is full-access."
    said = [f"they are confined by the sandbox profile {sandbox.name}."]
    if sandbox.name == "workspace-write" and sandbox.roots:
        said.append(f"They may write to {', '.join(sandbox.roots)}, but not to any .git.")
    else:
        said.append("They may write nothing but temporary files.")
    said.append(f"{_network(sandbox)}.")
    if escalates:
        said.append("Where a tool takes sandbox_permissions, require_escalated asks the user to let it out.")
    return " ".join(said)


def _network(sandbox: "Profile") -> str:
    if isinstance(sandbox.net, str):
        return f"The network is {sandbox.net}"
    return f"Of the network, they reach only {', '.join(sandbox.net)}"
