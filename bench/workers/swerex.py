"""A line run in a session of SWE-ReX, where that is installed: swerex LINE EXPECTED."""

import asyncio
import importlib
import sys
from time import perf_counter

from bench.worker import require, serve


def main(line: str, expected: str) -> None:
    local = importlib.import_module("swerex.runtime.local")
    words = importlib.import_module("swerex.runtime.abstract")
    loop = asyncio.new_event_loop()
    runtime = local.LocalRuntime()
    loop.run_until_complete(runtime.create_session(words.CreateBashSessionRequest()))

    def block(count: int) -> dict[str, object]:
        seconds: list[float] = []
        for _ in range(count):
            start = perf_counter()
            seen = loop.run_until_complete(runtime.run_in_session(words.BashAction(command=line.strip())))
            seconds.append(perf_counter() - start)
            require(seen.output.strip() == expected, f"it answered {seen.output!r}")
        return {"seconds": seconds}

    serve(block)
    loop.run_until_complete(runtime.close())


if __name__ == "__main__":
    main(*sys.argv[1:])
