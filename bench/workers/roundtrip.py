"""A line to a program on a terminal, and its answer: roundtrip CONTESTANT READY LINE ANSWER PROGRAM..."""

import sys
from collections.abc import Callable
from threading import Lock
from time import perf_counter

import agent_exec
from bench.worker import require, serve


class Answer:
    """Collects output until it ends with the awaited words."""

    def __init__(self) -> None:
        self.awaited = b""
        self.come = False
        self._have = b""
        self.tell: Callable[[], object] = lambda: None

    def expect(self, words: bytes) -> None:
        self.awaited = words
        self.come = False
        self._have = b""

    def output(self, _stream: str, chunk: bytes) -> None:
        self._have += chunk
        if self._have.endswith(self.awaited) and not self.come:
            self.come = True
            self.tell()


def wait_inline(engine: agent_exec.Engine, answer: Answer) -> Callable[[], None]:
    """Wait by driving the engine here."""
    return lambda: engine.drive(lambda: answer.come)


def wait_threaded(answer: Answer) -> Callable[[], None]:
    """Wait until the engine's thread says that the answer has come."""
    lock = Lock()
    lock.acquire()
    answer.tell = lock.release

    def wait() -> None:
        require(lock.acquire(timeout=30), "no answer within 30 s")

    return wait


def main(contestant: str, ready: str, line: str, expected: str, *program: str) -> None:
    threaded = contestant == "threaded"
    answer = Answer()
    with agent_exec.Engine(threaded=threaded) as engine:
        wait = wait_threaded(answer) if threaded else wait_inline(engine, answer)
        answer.expect(ready.encode())
        run = engine.start(agent_exec.Command(program, tty=True, on_output=answer.output))
        wait()
        written, awaited = line.encode(), expected.encode()

        def block(count: int) -> dict[str, object]:
            seconds: list[float] = []
            for _ in range(count):
                answer.expect(awaited)
                start = perf_counter()
                run.write(written)
                wait()
                seconds.append(perf_counter() - start)
            return {"seconds": seconds}

        serve(block)
        run.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
