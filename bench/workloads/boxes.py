"""What a box costs: over a plain run, beside bubblewrap's own, and with the weaker backends."""

import os
import shutil
from collections.abc import Mapping

from bench.blocks import Contestant, Measured, at_most, errors, interleave, remarks
from bench.ground import Guest, guest, site
from bench.stage import Stage
from bench.table import Goal, Result, fast_ratio, micro, ratio, times
from bench.worker import python

PLAIN, STANDARD, THEIRS = "agent_exec.run", "subprocess.run", "bubblewrap itself, by agent_exec.run"
COLD_BOX = "box, made for it"
WARM, SINGLE, LANDLOCK = "box, warm", "box, single use, one waits", "box, warm, Landlock alone"
BESIDE = {"planned": "box, warm, planned anew each time", "made": "box, made when it is needed"}
GUEST, BWRAP = "agent_exec.run, not root", "box, warm, behind bubblewrap, not root"
FOLDERS, FILES = 200, 100
COUNT = FOLDERS * FILES
TRUE, FIND, COLD = "`true`", f"`find -links 1` over {COUNT} files", "the first command"


def measure(stage: Stage) -> Result:
    """Give microseconds of each, the ratio to a plain run of the same work, and the first command's time."""
    result = Result(
        "21. Commands in a box",
        ("contestant", "work", "median us", "p10 us", "x plain", "p10 x plain", "n"),
    )
    with site() as folder:
        for work, measured in (
            (TRUE, small(stage, folder)),
            (FIND, large(stage, folder)),
            (COLD, first(stage, folder)),
        ):
            result.rows += rows(work, measured)
            result.notes += [*remarks(measured, work), *missing(measured)]
            result.errors += errors(measured)
            result.goals += goals(work, measured)
    result.notes.append(
        "A box keeps its plan unless it is planned anew. A box for single use is awaited before the clock"
        " starts; the next one is begun while it runs. Bubblewrap is given: / read-only, the root writable,"
        " a /tmp, /dev and /proc of its own, all namespaces, no capability; neither Landlock nor a filter."
    )
    return result


def small(stage: Stage, folder: str) -> dict[str, Measured]:
    """Measure `true`, where all that counts is what is around it."""
    root = os.path.join(folder, "empty")
    os.mkdir(root)
    work = ("0", shutil.which("true") or "/bin/true")
    other = guest(folder)
    return interleave(
        [
            Contestant(STANDARD, python("boxes", "standard", root, *work)),
            Contestant(PLAIN, python("boxes", "plain", root, *work)),
            Contestant(WARM, python("boxes", "warm", root, *work)),
            Contestant(SINGLE, python("boxes", "single", root, *work)),
            Contestant(LANDLOCK, python("boxes", "landlock", root, *work)),
            *(Contestant(name, python("boxes", kind, root, *work)) for kind, name in BESIDE.items()),
            Contestant(THEIRS, _if_there(python("boxes", "bubblewrap", root, *work))),
            _of(other, GUEST, "plain", *work),
            _of(other, BWRAP, "bwrap", *work),
        ],
        stage.gate,
        rounds=stage.pick(16, 6),
        count=10,
    )


def large(stage: Stage, folder: str) -> dict[str, Measured]:
    """Measure a walk over many files, each of which is looked at."""
    root = os.path.join(folder, "full")
    for at in range(FOLDERS):
        place = os.path.join(root, str(at))
        os.makedirs(place)
        for number in range(FILES):
            with open(os.path.join(place, str(number)), "wb"):
                pass
    find = shutil.which("find")
    work = (root, str(COUNT), find or "", ".", "-type", "f", "-links", "1")
    kinds = {"standard": STANDARD, "plain": PLAIN, "warm": WARM, "landlock": LANDLOCK}
    return interleave(
        [
            *(
                Contestant(name, python("boxes", kind, *work) if find else None)
                for kind, name in kinds.items()
            ),
            Contestant(THEIRS, _if_there(python("boxes", "bubblewrap", *work)) if find else None),
        ],
        stage.gate,
        rounds=stage.pick(8, 4),
        count=3,
    )


def first(stage: Stage, folder: str) -> dict[str, Measured]:
    """Measure the first command of a fresh interpreter."""
    root = os.path.join(folder, "first")
    os.mkdir(root)
    program = shutil.which("true") or "/bin/true"
    return interleave(
        [
            Contestant(PLAIN, python("cold", "plain", root, program)),
            Contestant(COLD_BOX, python("cold", "boxed", root, program)),
            Contestant(THEIRS, _if_there(python("cold", "bubblewrap", root, program))),
        ],
        stage.gate,
        rounds=stage.pick(8, 4),
        count=3,
    )


def goals(work: str, measured: Mapping[str, Measured]) -> list[Goal]:
    """Return what is to be reached in a work."""
    if work == COLD:
        cold = measured[COLD_BOX]
        shown = cold.sum.median * 1e3 if cold.sum else None
        return [Goal(f"{work} in a box, cold", shown, 70, 50, "ms", disturbed=cold.disturbed)]
    plain, warm = measured[PLAIN], measured[WARM]
    if work == FIND:
        return [at_most(f"{work}, inside / outside", warm, plain, 1.25, 1.25)]
    return [
        at_most(f"{WARM} / {PLAIN}", warm, plain, 1.6, 1.3),
        at_most(f"{SINGLE} / {PLAIN}", measured[SINGLE], plain, 2.2, 1.5),
        at_most(f"{BWRAP} / {GUEST}", measured[BWRAP], measured[GUEST], 10, 10),
        at_most(f"{LANDLOCK} / {PLAIN}", measured[LANDLOCK], plain, 4, 4),
    ]


def rows(work: str, measured: Mapping[str, Measured]) -> list[list[str]]:
    """Return the rows of a work; whoever is not root is compared with their own plain run."""
    found: list[list[str]] = []
    for name, one in measured.items():
        sums = one.sum
        if sums is None:
            found.append([name, work, "missing", *["-"] * 4])
            continue
        against = measured[GUEST if name in (GUEST, BWRAP) else PLAIN].sum
        ratios = [times(ratio(sums, against)), times(fast_ratio(sums, against))]
        found.append([name, work, micro(sums.median), micro(sums.p10), *ratios, str(sums.count)])
    return found


def missing(measured: Mapping[str, Measured]) -> list[str]:
    """Say who cannot be had on this machine, and why."""
    reasons = {name: one.answers[0].get("missing") for name, one in measured.items() if one.answers}
    return [f"{name} is missing: {reason}." for name, reason in reasons.items() if reason]


def _of(other: Guest | None, name: str, kind: str, *work: str) -> Contestant:
    """Return a contestant that is not root."""
    if other is None:
        return Contestant(name, None)
    return Contestant(name, other.python("boxes", kind, other.folder, *work), other.env)


def _if_there(argv: list[str]) -> list[str] | None:
    return argv if shutil.which("bwrap") else None
