"""One short command by a shell: calls CONTESTANT EXPECTED SHELL LINE."""

import atexit
import sys
from collections.abc import Callable
from time import perf_counter

import agent_exec
from agent_exec.faces.session.definitions import Terms
from bench.worker import require, serve
from bench.workers.talk import Talk


def by_run(shell: str, flag: str, line: str) -> Callable[[], str]:
    return lambda: str(agent_exec.run([shell, flag, line]).stdout, "utf-8")


def by_engine(shell: str, line: str) -> Callable[[], str]:
    engine = agent_exec.Engine()
    atexit.register(engine.close)
    return lambda: str(engine.start(agent_exec.Command([shell, "-c", line])).outcome().stdout, "utf-8")


def by_tools(shell: str, line: str, *, login: bool) -> Callable[[], str]:
    tools = agent_exec.open_tools(terms=Terms(capture_login=login))
    atexit.register(tools.close)
    talk = Talk(tools)

    def once() -> str:
        answer = talk.call("exec_command", cmd=line, shell=shell, login=login)
        require(answer.get("exit_code") == 0, f"it answered {answer}")
        return str(answer["output"])

    return once


CONTESTANTS: dict[str, Callable[[str, str], Callable[[], str]]] = {
    "run": lambda shell, line: by_run(shell, "-c", line),
    "run-login": lambda shell, line: by_run(shell, "-lc", line),
    "engine": by_engine,
    "tools": lambda shell, line: by_tools(shell, line, login=False),
    "tools-login": lambda shell, line: by_tools(shell, line, login=True),
}


def main(contestant: str, expected: str, shell: str, line: str) -> None:
    once = CONTESTANTS[contestant](shell, line)

    def block(count: int) -> dict[str, object]:
        seconds: list[float] = []
        for _ in range(count):
            start = perf_counter()
            printed = once()
            seconds.append(perf_counter() - start)
            require(printed == expected, f"it printed {printed!r}")
        return {"seconds": seconds}

    serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
