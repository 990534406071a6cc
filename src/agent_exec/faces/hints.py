"""What a client may want to know of a tool before it lets it be called; only hints, and never a wall."""


def hints(
    *, reads: bool = False, destroys: bool = False, repeats: bool = False, opens: bool = False
) -> dict[str, bool]:
    """Give them: whether it only reads, destroys, does no more when repeated, and reaches the open world."""
    return {
        "read_only_hint": reads,
        "destructive_hint": destroys,
        "idempotent_hint": repeats,
        "open_world_hint": opens,
    }
