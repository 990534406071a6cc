"""Interleaving: all contestants of a workload take turns, in shuffled order, in blocks."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.machine import Gate
from bench.table import Goal, Range, Seconds, ratio
from bench.worker import Misbehaved, Worker

_RESAMPLES = 400


@dataclass(frozen=True)
class Contestant:
    """Someone to be measured; without a command line it is missing on this machine."""

    name: str
    argv: Sequence[str] | None
    env: Mapping[str, str] | None = None


@dataclass
class Measured:
    """What was measured of one contestant: the answer of every block, and whether the block was calm."""

    name: str
    wanted: int
    answers: list[dict[str, Any]] = field(default_factory=list)
    calm: list[bool] = field(default_factory=list)
    error: str | None = None

    @property
    def disturbed(self) -> bool:
        """True if too few blocks were calm to use those alone."""
        return bool(self.answers) and sum(self.calm) * 2 < self.wanted

    @property
    def blocks(self) -> list[list[float]]:
        """Return the seconds of the calm blocks, or of all when it was disturbed."""
        every = self.disturbed
        pairs = zip(self.answers, self.calm, strict=True)
        return [answer["seconds"] for answer, calm in pairs if (calm or every) and answer["seconds"]]

    @property
    def seconds(self) -> list[float]:
        """Return the seconds of every iteration of those blocks."""
        return [second for block in self.blocks for second in block]

    @property
    def sum(self) -> Seconds | None:
        """Sum up the seconds; None if there are none, or if it misbehaved."""
        return None if self.error else Seconds.of(self.seconds)


def interleave(
    contestants: Sequence[Contestant], gate: Gate, *, rounds: int, count: int, warm: int | None = None
) -> dict[str, Measured]:
    """Have every contestant do `rounds` blocks of `count` iterations.

    A first block of `warm` iterations (the count, if not said) is not
    measured. A block that others disturbed is done once more, up to half as
    many as were wanted. Who misbehaves is out, and its error is kept.
    """
    measured = {contestant.name: Measured(contestant.name, rounds) for contestant in contestants}
    workers: dict[str, Worker] = {}
    try:
        for contestant in contestants:
            if contestant.argv is not None:
                workers[contestant.name] = Worker(contestant.argv, contestant.env)
                _ask(workers, measured[contestant.name], count if warm is None else warm)
        for at in range(rounds + rounds // 2):
            order = [name for name in workers if at < rounds or sum(measured[name].calm) < rounds]
            random.shuffle(order)
            for name in order:
                gate.wait()
                answer = _ask(workers, measured[name], count)
                if answer is not None:
                    measured[name].answers.append(answer)
                    measured[name].calm.append(gate.stayed_calm())
    finally:
        for worker in workers.values():
            worker.close()
    return measured


def remarks(measured: Mapping[str, Measured], where: str = "") -> list[str]:
    """Say whose numbers are doubtful because too few of its blocks were calm."""
    disturbed = "; ".join(one.name for one in measured.values() if one.disturbed)
    if not disturbed:
        return []
    found = f"**Disturbed** by other load{', ' if where else ''}{where}"
    return [f"{found}, so that every block counts and the numbers are doubtful: {disturbed}."]


def errors(measured: Mapping[str, Measured]) -> list[str]:
    """Say who misbehaved, and how."""
    return [f"{name}: {one.error}" for name, one in measured.items() if one.error]


def at_most(what: str, ours: Measured, theirs: Measured, must: float, stretch: float) -> Goal:
    """Return the goal that ours takes at most so many times as long as theirs."""
    spread, disturbed = _range(ours, theirs), ours.disturbed or theirs.disturbed
    return Goal(what, ratio(ours.sum, theirs.sum), must, stretch, spread=spread, disturbed=disturbed)


def at_least(what: str, ours: Measured, theirs: Measured, must: float, stretch: float) -> Goal:
    """Return the goal that ours is at least so many times as fast as theirs."""
    spread, disturbed = _range(theirs, ours), ours.disturbed or theirs.disturbed
    return Goal(
        what, ratio(theirs.sum, ours.sum), must, stretch, higher=True, spread=spread, disturbed=disturbed
    )


def _range(one: Measured, other: Measured) -> Range | None:
    """Return the middle 80 % of the ratio of the medians, when the blocks are drawn again and again."""
    ours, theirs = ([median(block) for block in measured.blocks] for measured in (one, other))
    if one.error or other.error or len(ours) < 3 or len(theirs) < 3:
        return None
    draw = random.Random(1)
    ratios = sorted(
        median(draw.choices(ours, k=len(ours))) / median(draw.choices(theirs, k=len(theirs)))
        for _ in range(_RESAMPLES)
    )
    return ratios[_RESAMPLES // 10], ratios[-_RESAMPLES // 10]


def _ask(workers: dict[str, Worker], measured: Measured, count: int) -> dict[str, Any] | None:
    """Have one block done; None if the contestant misbehaved, which puts it out."""
    try:
        return workers[measured.name].ask(count)
    except Misbehaved as error:
        measured.error = str(error)
        workers.pop(measured.name).close()
        return None
