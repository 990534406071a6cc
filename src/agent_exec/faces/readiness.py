"""Readiness in the contract of jobs: turns what is asked for into terms of a job, and facts into answers."""

from os import urandom

from agent_exec.host import shell
from agent_exec.jobs.readiness.conditions import parse_all
from agent_exec.jobs.store import place_of
from agent_exec.model.command import LONGEST
from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from agent_exec.jobs.readiness.conditions import Condition
    from agent_exec.jobs.readiness.watching import Watching
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.start import Order
    from agent_exec.jobs.store import Store
    from agent_exec.requests.gate import Gate

    Answer = dict[str, Any]
    Admit = Callable[[list[str]], object]

AUTO = "auto"
PORT = "PORT"
HEALTH_EVERY, HEALTH_TIMEOUT, HEALTH_FAILURES = 10.0, 5.0, 3
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


def add_terms(
    order: "Order",
    gate: "Gate | None",
    *,
    conditions: "Sequence[str]" = (),
    every: bool = False,
    ports: "Sequence[str]" = (),
    health: str | None = None,
    health_every: float = HEALTH_EVERY,
    health_timeout: float = HEALTH_TIMEOUT,
    health_failures: int = HEALTH_FAILURES,
    stop_after_idle: float | None = None,
) -> None:
    """Add what is asked of a job to its order; raise InvalidArgument for what is wrong.

    `gate` judges the commands of checks, and raises if one is refused.
    """
    terms = order.terms

    def admit(argv: list[str]) -> None:
        if gate is not None:
            gate.admit(argv, place_of(order.cwd), order.env_keys)

    if ports:
        terms["port"] = found = ports_of(ports)
        for name in found:
            if name in order.env_keys:
                raise InvalidArgument(f"{name} is set twice: as a variable, and as a port")
        order.env_keys += found  # which a sandbox passes on
    if conditions:
        parsed = parse_all(conditions, order.cwd)
        if health is None and any(one.kind == "healthy" for one in parsed):
            raise InvalidArgument("healthy needs a health check: give one with --health COMMAND")
        if any(one.kind == "ready" for one in parsed):
            raise InvalidArgument("a job cannot wait for its own readiness; name what makes it ready")
        _admit(parsed, admit)
        terms["ready"] = {"for": [str(text) for text in conditions], "all": bool(every)}
    if health is not None:
        if not health.strip() or "\0" in health:
            raise InvalidArgument("a health check is a shell line, such as 'curl -fs localhost:$PORT'")
        if health_failures < 1:
            raise InvalidArgument(f"health_failures must be 1 or more; got {health_failures!r}")
        admit(shell(health))
        terms["health"] = {
            "command": health,
            "every": _positive("health_every", health_every),
            "timeout": _positive("health_timeout", health_timeout),
            "failures": int(health_failures),
        }
    checked = health is not None or any(text.startswith("exec=") for text in conditions)
    if checked and order.sandbox is not None and not order.sandbox["loopback"]:
        from agent_exec.jobs.confined_job import OWN_NETWORK

        order.sandbox["loopback"] = OWN_NETWORK + urandom(8).hex()
    if stop_after_idle is not None:
        terms["stop_after"] = _positive("stop_after_idle", stop_after_idle)


def _positive(name: str, value: float) -> float:
    if not isinstance(value, int | float) or not 0 < value <= LONGEST:
        raise InvalidArgument(f"{name} must be more than 0 seconds, and at most a year; got {value!r}")
    return float(value)


def _admit(conditions: "Sequence[Condition]", admit: "Admit") -> None:
    """Have the commands of conditions judged."""
    for one in conditions:
        if one.kind == "exec":
            admit(shell(one.target))


def ports_of(texts: "Sequence[str]") -> dict[str, int]:
    """Return the port of each variable that texts such as `auto`, `auto:API_PORT` and `3000` name; 0: any."""
    found: dict[str, int] = {}
    for text in map(str, texts):
        port, colon, name = text.partition(":")
        name = name if colon else PORT
        number = int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else -1
        if not (port == AUTO or 0 < number < 1 << 16):
            raise InvalidArgument(f"invalid port {text!r}: use auto, auto:NAME, 3000 or 3000:NAME")
        if not name or not _LETTERS.issuperset(name) or name[0].isdecimal():
            raise InvalidArgument(
                f"{text!r}: {name!r} is not a name of a variable; use letters, digits and _"
            )
        if name in found:
            raise InvalidArgument(f"two ports are named {name}; give the second another name: auto:NAME")
        found[name] = max(0, number)
    return found


def watching_of(
    store: "Store",
    job: "Record",
    conditions: "Sequence[str]",
    gate: "Gate | None",
    *,
    every: bool,
    forks: bool,
) -> "Watching":
    """Return what waits for conditions of a job, to be closed; raise InvalidArgument for invalid ones.

    `forks` says that this process has no threads, and may fork helpers itself.
    """
    from agent_exec.jobs.readiness.watching import Watching

    facts = job.facts
    cwd = str(facts["cwd"])
    parsed = parse_all(conditions, cwd)
    for kind, fact, option in (("ready", "ready_when", "--ready-when"), ("healthy", "health", "--health")):
        if fact not in facts and any(one.kind == kind for one in parsed):
            raise InvalidArgument(f"job {job.id} has no {option}, so it is never {kind}; wait for listen")

    def admit(argv: list[str]) -> None:
        if gate is not None:
            gate.admit(argv, cwd)

    _admit(parsed, admit)
    boxed = "sandbox" in facts and any(one.kind == "exec" for one in parsed)
    if boxed:
        from agent_exec.jobs.readiness.joining import check_joinable

        check_joinable(job)
    detach = None
    if not forks:
        from agent_exec.engine.engine import shared_spawner

        detach = shared_spawner().detach
    watching = Watching(store, job, parsed, every=every, detach=detach)
    if boxed:
        from agent_exec.jobs.readiness.joining import join

        watching.box = lambda: join(watching)
    return watching


def told(job: "Record") -> "Answer":
    """Return what the record says of readiness, health and ports; nothing for a job without any."""
    facts = job.facts
    fields: Answer = {}
    if "ready_when" in facts:
        fields["ready_when"] = facts["ready_when"]
        fields["ready"] = bool(facts.get("ready_at"))
        if fields["ready"]:
            fields |= {"ready_at": facts["ready_at"], "met": facts.get("met", [])}
    for name in ("ports", "health", "health_check", "health_message", "healthy_at", "unhealthy_at"):
        if facts.get(name):
            fields[name] = facts[name]
    if "stop_after_idle_ms" in facts:
        fields["stop_after_idle_ms"] = facts["stop_after_idle_ms"]
    return fields


def unmet(store: "Store", job: "Record") -> "Answer":
    """Return which conditions of a job that is not ready do not hold, and why."""
    from agent_exec.jobs.readiness.watching import Watching

    every = parse_all(job.facts["ready_when"], str(job.facts["cwd"]))
    watching = Watching(store, job, [one for one in every if one.kind != "exec"], every=True)
    try:
        watching.look(final=job.ended)
        found = watching.fields().get("unmet", [])
    finally:
        watching.close()
    found += [{"for": one.text, "message": "it has not exited with 0"} for one in every if one.kind == "exec"]
    return {"unmet": found}
