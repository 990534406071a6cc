"""Threads for what takes long, on a machine that may have none left: that ends a call, never the server."""

from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

from anyio.to_thread import run_sync

from agent_exec.model.errors import SCARCE, Busy

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio import CapacityLimiter

Given = TypeVarTuple("Given")
Result = TypeVar("Result")


def lacking(error: BaseException) -> str:
    """Return what the machine lacks for now, if that is what an error says."""
    lack = ""
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        lack = "room for another thread"
    elif isinstance(error, OSError) and error.errno in SCARCE:
        lack = f"enough for this ({error.strerror})"
    return f"this machine does not have {lack}; try again when less runs" if lack else ""


async def in_thread(
    call: "Callable[[*Given], Result]",
    *given: *Given,
    abandon: bool = False,
    limiter: "CapacityLimiter | None" = None,
) -> Result:
    """Call a function in a worker thread, which is abandoned on cancellation; raise Busy if none is free."""
    try:
        return await run_sync(call, *given, abandon_on_cancel=abandon, limiter=limiter)
    except RuntimeError as error:
        if lack := lacking(error):
            raise Busy(lack) from None
        raise


async def somehow(call: "Callable[[*Given], Result]", *given: *Given) -> Result:
    """Have something done in a thread, or at once if none is left: it takes no time, or must be done."""
    try:
        return await in_thread(call, *given)
    except Busy:
        return call(*given)
