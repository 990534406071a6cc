"""Awaitable forms, under asyncio or trio: a cancelled task ends what it awaits before it goes on."""

import sys

from agent_exec.engine.engine import one_shot, shared_engine, start_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from typing import Any, TypeVar

    from agent_exec.engine.confinement import Confinement
    from agent_exec.engine.run import Run
    from agent_exec.model.choices import Leftovers, OnOutput, Word
    from agent_exec.model.command import Outcome
    from agent_exec.model.output import Keep

    T = TypeVar("T")
    Do = Callable[[], object]


async def arun(
    argv: "Sequence[Word]",
    *,
    cwd: "Word | None" = None,
    env: "Mapping[str, str] | Mapping[bytes, bytes] | None" = None,
    stdin: bytes | None = None,
    timeout: float | None = None,
    grace: float = 0.5,
    tty: bool = False,
    on_output: "OnOutput | None" = None,
    keep: "Keep | None" = None,
    leftovers: "Leftovers" = "kill",
    sandbox: "Confinement | None" = None,
) -> "Outcome":
    """Run a command as `run` does, and await its outcome: see Engine.arun.

    One engine with 64 slots serves all calls of this process; its thread
    calls `on_output`.
    """
    command = one_shot(argv, cwd, env, stdin, timeout, grace, tty, on_output, keep, leftovers)
    return await shared_engine().arun(command, sandbox=sandbox)


async def outcome(run: "Run") -> "Outcome":
    """Await the outcome of a run; stop it and wait for its end if the task is cancelled."""
    await finished(run.future, run.stop, run.kill)
    return run.outcome() if run.guard is None else await in_thread(run.outcome, _nothing)


async def in_thread(call: "Callable[[], T]", cancel: "Do") -> "T":
    """Call a function in a thread of its own, and await its result; `cancel` makes it return soon."""
    from concurrent.futures import Future

    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            result = call()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    start_thread(work, "agent-exec-await")
    await finished(future, cancel, cancel)
    return future.result()


async def finished(future: "Future[Any]", cancel: "Do | None" = None, abandon: "Do | None" = None) -> None:
    """Wait until a future is done, whatever its result.

    When the task is cancelled, call `cancel`, wait until the future is done,
    and re-raise; without `cancel`, re-raise at once. Each further
    cancellation calls `cancel` again. `abandon` is called if the coroutine is
    closed and cannot wait.
    """
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        await _finished_in_trio(future, cancel, abandon)
    else:
        await _finished_in_asyncio(future, cancel, abandon)


async def _finished_in_asyncio(future: "Future[Any]", cancel: "Do | None", abandon: "Do | None") -> None:
    import asyncio
    from concurrent.futures import Future

    # Without the result: not every exception of a callback may pass through an event loop's future.
    over: Future[None] = Future()
    over.set_running_or_notify_cancel()
    future.add_done_callback(lambda _: over.set_result(None))
    gone = asyncio.wrap_future(over)
    try:
        await asyncio.shield(gone)
    except asyncio.CancelledError:
        if cancel is None:
            raise
        cancel()
        while not gone.done():
            try:
                await asyncio.wait((gone,))
            except asyncio.CancelledError:
                cancel()
        raise
    except BaseException:
        if abandon is not None:
            abandon()
        raise


async def _finished_in_trio(future: "Future[Any]", cancel: "Do | None", abandon: "Do | None") -> None:
    import trio

    over = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def wake(_: object) -> None:
        try:
            token.run_sync_soon(over.set)
        except trio.RunFinishedError:
            pass  # the task was abandoned

    future.add_done_callback(wake)
    try:
        await over.wait()
    except trio.Cancelled:
        if cancel is None:
            raise
        cancel()
        with trio.CancelScope(shield=True):
            await over.wait()
        raise
    except BaseException:
        if abandon is not None:
            abandon()
        raise


def _nothing() -> None:
    pass
