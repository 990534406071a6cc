"""A line typed at a prompt, answered at the next one: exchange READY LINE ANSWER COMMAND_LINE."""

import sys
from time import perf_counter

import agent_exec
from bench.worker import require, serve
from bench.workers.talk import Talk


def main(ready: str, line: str, expected: str, command: str) -> None:
    with agent_exec.open_tools() as tools:
        talk = Talk(tools)
        number, first = talk.open(command)
        require(first["output"] == ready, f"it began with {first['output']!r}")

        def block(count: int) -> dict[str, object]:
            seconds: list[float] = []
            for _ in range(count):
                start = perf_counter()
                answer = talk.call("write_stdin", session_id=number, chars=line)
                seconds.append(perf_counter() - start)
                waits = answer.get("awaiting_input") is True
                require(waits and answer["output"] == expected, f"it answered {answer}")
            return {"seconds": seconds}

        serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
