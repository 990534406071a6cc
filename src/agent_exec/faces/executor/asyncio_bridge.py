"""How an event loop waits for what happens in other threads."""

import asyncio
from concurrent.futures import Future

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.engine.engine import Engine
    from agent_exec.engine.run import Run
    from agent_exec.model.command import Command
    from agent_exec.model.outcome import Outcome
    from agent_exec.sandbox.report.guard import Guard


async def arrival(turn: "Future[None]") -> None:
    """Await one's turn."""
    await asyncio.wrap_future(turn)


async def outcome(engine: "Engine", command: "Command", sandbox: "Guard | None") -> "Outcome":
    """Run a command on an engine, confined if so, and await its outcome; if cancelled, end it first."""
    run = engine.start(command, sandbox=sandbox)
    # Without the outcome: not every exception of a callback's may pass through an event loop's future.
    over: Future[None] = Future()
    over.set_running_or_notify_cancel()
    run.future.add_done_callback(lambda _: over.set_result(None))
    gone = asyncio.wrap_future(over)
    try:
        await asyncio.shield(gone)
    except asyncio.CancelledError:
        await _end(run, gone)
        raise
    except BaseException:
        run.kill()  # nobody will come back to this coroutine
        raise
    return run.outcome() if sandbox is None else await asyncio.to_thread(run.outcome)


async def _end(run: "Run", gone: "asyncio.Future[None]") -> None:
    """End a run and wait for that; whoever cancels again ends the patience."""
    run.stop()
    while not gone.done():
        try:
            await asyncio.wait((gone,))
        except asyncio.CancelledError:
            run.stop()
