"""Threads for what takes long, on a machine that may have none left: that ends a call, never the server."""

from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

from anyio.to_thread import run_sync

from agent_exec.model.errors import Busy

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio import CapacityLimiter

Given = TypeVarTuple("Given")
Result = TypeVar("Result")

NONE_LEFT = "this machine has no room for another thread; try again when less runs"


def lacks_thread(error: BaseException) -> bool:
    """Tell whether this is how Python says that no thread can be had."""
    return isinstance(error, RuntimeError) and str(error) == "can't start new thread"


async def in_thread(
    call: "Callable[[*Given], Result]",
    *given: *Given,
    abandon: bool = False,
    limiter: "CapacityLimiter | None" = None,
) -> Result:
    """Have something done in a thread, left alone if nobody waits any more; raise Busy if none is left."""
    try:
        return await run_sync(call, *given, abandon_on_cancel=abandon, limiter=limiter)
    except RuntimeError as error:
        if lacks_thread(error):
            raise Busy(NONE_LEFT) from None
        raise


async def somehow(call: "Callable[[*Given], Result]", *given: *Given) -> Result:
    """Have something done in a thread, or at once if none is left: it takes no time, or must be done."""
    try:
        return await in_thread(call, *given)
    except Busy:
        return call(*given)
