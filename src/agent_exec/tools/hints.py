"""The hints of a tool, which a client may show before it allows a call; hints protect nothing."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sandbox.profile import Profile


def hints(
    *, reads: bool = False, destroys: bool = False, repeats: bool = False, opens: bool = False
) -> dict[str, bool]:
    """Return them: only reads, may destroy, may be repeated without effect, reaches the open world."""
    return {
        "read_only_hint": reads,
        "destructive_hint": destroys,
        "idempotent_hint": repeats,
        "open_world_hint": opens,
    }


def command_hints(sandbox: "Profile | None") -> dict[str, bool]:
    """Return the hints of a tool that runs commands in a sandbox, or in none."""
    reads = reads_only(sandbox)
    return hints(reads=reads, destroys=not reads, opens=open_world(sandbox))


def reads_only(sandbox: "Profile | None") -> bool:
    """Return True if no command can change anything."""
    return sandbox is not None and sandbox.name == "read-only"


def open_world(sandbox: "Profile | None") -> bool:
    """Return True if a command may reach a network."""
    return sandbox is None or sandbox.name == "full-access" or sandbox.net != "off"
