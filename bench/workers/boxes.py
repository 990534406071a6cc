"""A command in boxes of every kind, one after the other: boxes KIND ROOT LINES PROGRAM WORDS...

LINES is how many of them it has to print.
"""

import subprocess
import sys
from collections.abc import Callable
from time import perf_counter

from agent_exec import Outcome, Profile, run
from agent_exec.engine import engine
from agent_exec.model.errors import SandboxUnavailable
from agent_exec.sandbox.plan.plan import Plan
from agent_exec.sandbox.sandbox import Sandbox, share
from bench.worker import require, serve

Once = Callable[[], tuple[object, ...]]
Before = Callable[[], object]


def ended(outcome: Outcome) -> tuple[object, ...]:
    """Return what every contestant gives: the exit code, how many lines, and stderr."""
    return outcome.exit_code, outcome.stdout.count(b"\n"), outcome.stderr


def plain(argv: list[str], root: str) -> tuple[Once, Before]:
    return lambda: ended(run(argv, cwd=root)), lambda: None


def standard(argv: list[str], root: str) -> tuple[Once, Before]:
    def once() -> tuple[object, ...]:
        done = subprocess.run(argv, capture_output=True, cwd=root, check=False)
        return done.returncode, done.stdout.count(b"\n"), done.stderr

    return once, lambda: None


def bubblewrap(argv: list[str], root: str) -> tuple[Once, Before]:
    """Have bubblewrap itself do it, with a policy like ours."""
    return plain([*by_bubblewrap(root), *argv], root)


def by_bubblewrap(root: str) -> list[str]:
    words = "bwrap --unshare-all --cap-drop ALL --ro-bind / / --tmpfs /tmp --dev /dev --proc /proc"
    return [*words.split(), "--bind", root, root, "--"]


def warm(argv: list[str], root: str, backend: str = "ns") -> tuple[Once, Before]:
    plan = kept(Profile(roots=[root], min_strength="full" if backend != "landlock" else "degraded"), backend)
    return lambda: ended(run(argv, cwd=root, sandbox=plan)), lambda: None


def planned(argv: list[str], root: str) -> tuple[Once, Before]:
    """Have a box wait, but keep no plan."""
    profile = Profile(roots=[root])
    kept(profile, "ns")
    return lambda: ended(run(argv, cwd=root, sandbox=profile)), lambda: None


def single(argv: list[str], root: str) -> tuple[Once, Before]:
    """Have a new box wait for each."""
    plan = kept(Profile(roots=[root], reuse=False), "ns")
    return lambda: ended(run(argv, cwd=root, sandbox=plan)), lambda: engine.warm(plan, 1)


def made(argv: list[str], root: str) -> tuple[Once, Before]:
    """Have a new box made for each, when it is needed."""
    plan = kept(Profile(roots=[root], reuse=False), "ns", boxes=0)
    run(argv, cwd=root, sandbox=plan)  # which takes the box that was made to see whether that works
    return lambda: ended(run(argv, cwd=root, sandbox=plan)), lambda: None


def kept(profile: Profile, backend: str, boxes: int = 1) -> Plan:
    """Return the plan of a profile, for this backend and no other, and have boxes wait."""
    share(Sandbox(only=(backend,)))
    plan = engine.warm(profile, boxes)
    require(plan.backend == backend, f"it is confined by {plan.backend!r}")
    return plan


KINDS: dict[str, Callable[[list[str], str], tuple[Once, Before]]] = {
    "plain": plain,
    "standard": standard,
    "bubblewrap": bubblewrap,
    "warm": warm,
    "planned": planned,
    "single": single,
    "made": made,
    "landlock": lambda argv, root: warm(argv, root, "landlock"),
    "bwrap": lambda argv, root: warm(argv, root, "bwrap"),
}


def main(kind: str, root: str, lines: str, *argv: str) -> None:
    ready: list[tuple[Once, Before]] = []

    def block(count: int) -> dict[str, object]:
        if not ready:
            try:
                ready.append(KINDS[kind](list(argv), root))
            except SandboxUnavailable as error:
                return {"seconds": [], "missing": error.message}
        once, before = ready[0]
        seconds: list[float] = []
        for _ in range(count):
            before()
            start = perf_counter()
            done = once()
            seconds.append(perf_counter() - start)
            require(done == (0, int(lines), b""), f"the program ended with {done!r}")
        before()  # the box that comes next is no load of the next contestant's
        return {"seconds": seconds}

    serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
