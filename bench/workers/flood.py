"""Much output in one session, all of it kept on the disk within its bounds: flood WHERE BYTES LINES WRITER...

WHERE is "pipes" or "terminal", where each line ends with one byte more.
"""

import shlex
import sys
from time import perf_counter

import agent_exec
from bench import proc
from bench.worker import require, serve
from bench.workers.talk import Fields, Talk

TOKENS = 10_000
BYTES_PER_TOKEN = 4
HEADROOM = 1_000
"""What an answer may have beyond its budget: the words that say what is left out."""

LAST = 1_000


def check(talk: Talk, answer: Fields, number: int, size: int) -> None:
    """See that nothing was lost and little is shown."""
    require(answer.get("exit_code") == 0, f"it ended with {answer.get('exit_code')}")
    require(answer["cursor"] == size, f"it observed {answer['cursor']} bytes")
    shown = len(answer["output"].encode())
    require(0 < shown <= TOKENS * BYTES_PER_TOKEN + HEADROOM, f"it shows {shown} bytes")
    last = talk.call("read_output", session_id=number, **{"from": size - LAST})
    require(last["to"] == size and len(last["output"]) == LAST, "its last output cannot be read again")


def main(where: str, size: str, lines: str, *writer: str) -> None:
    tty = where == "terminal"
    expected = int(size) + (int(lines) if tty else 0)
    growths: list[int] = []

    def once() -> float:
        # Made anew each time, so that the disk is given back; one command before makes it warm.
        with agent_exec.open_tools() as tools:
            talk = Talk(tools)
            talk.call("exec_command", cmd="true", shell="sh", login=False)
            base = proc.resident()
            proc.reset_peak()
            start = perf_counter()
            answer = talk.call(
                "exec_command",
                cmd=shlex.join(writer),
                shell="sh",
                login=False,
                tty=tty,
                yield_time_ms=30_000,
                max_output_tokens=TOKENS,
            )
            seconds = perf_counter() - start
            growths.append(proc.peak() - base)
            number = talk.call("list_sessions")["sessions"][-1]["session_id"]
            check(talk, answer, number, expected)
        return seconds

    def block(count: int) -> dict[str, object]:
        seconds = [once() for _ in range(count)]
        return {"seconds": seconds, "first_growth": growths[0], "growth": max(growths)}

    serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
