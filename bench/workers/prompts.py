"""A program started on a terminal until its prompt is answered: prompts PROMPT COMMAND_LINE."""

import sys
from time import perf_counter

import agent_exec
from bench.worker import require, serve
from bench.workers.talk import Talk


def main(prompt: str, line: str) -> None:
    with agent_exec.open_tools() as tools:
        talk = Talk(tools)

        def block(count: int) -> dict[str, object]:
            seconds: list[float] = []
            for _ in range(count):
                start = perf_counter()
                number, answer = talk.open(line)
                seconds.append(perf_counter() - start)
                require(answer["output"] == prompt, f"it printed {answer['output']!r}")
                talk.call("kill_session", session_id=number)
            return {"seconds": seconds}

        serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
