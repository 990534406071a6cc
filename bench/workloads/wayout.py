"""What the way out of a box costs: connections through its proxy, and bytes."""

from bench.blocks import Contestant, Measured, errors, interleave, remarks
from bench.ground import site
from bench.stage import Stage
from bench.table import Goal, Result, micro, ratio, times
from bench.worker import python
from bench.workloads.boxes import missing

DIRECT, PROXY = "directly, without a box", "from a box, through the proxy"
WAYS = {"direct": DIRECT, "proxy": PROXY}
BYTES = 256_000_000
CONNECT, VOLUME = "connect, send 8 bytes, get 1", f"{BYTES // 1_000_000} MB to the client"


def measure(stage: Stage) -> Result:
    """Return microseconds of a connection, megabytes per second of a long one, and what the proxy adds."""
    with site() as root:
        short = interleave(
            [Contestant(name, python("wayout", way, root, "1")) for way, name in WAYS.items()],
            stage.gate,
            rounds=stage.pick(15, 5),
            count=50,
        )
        long = interleave(
            [Contestant(name, python("wayout", way, root, str(BYTES))) for way, name in WAYS.items()],
            stage.gate,
            rounds=stage.pick(8, 3),
            count=1,
        )
    result = Result(
        "22. The way out of a box", ("contestant", "work", "median us", "p10 us", "MB/s", "x direct", "n")
    )
    for work, measured in ((CONNECT, short), (VOLUME, long)):
        for name, one in measured.items():
            sums = one.sum
            if sums is None:
                result.rows.append([name, work, "missing", *["-"] * 4])
                continue
            rate = f"{_rate(sums.median):.0f}" if work == VOLUME else "-"
            against = times(ratio(sums, measured[DIRECT].sum))
            cells = [micro(sums.median), micro(sums.p10), rate, against, str(sums.count)]
            result.rows.append([name, work, *cells])
        result.notes += [*remarks(measured, work), *missing(measured)]
        result.errors += errors(measured)
    result.goals += goals(short, long)
    result.notes.append(
        "The proxy is a thread of the process that owns the box; the server is another process, and the"
        " client is a Python that runs once for each block. Bubblewrap has no proxy."
    )
    return result


def goals(short: dict[str, Measured], long: dict[str, Measured]) -> list[Goal]:
    """Return what is to be reached: what a connection takes longer, and how fast a tunnel is."""
    ours, theirs, volume = short[PROXY].sum, short[DIRECT].sum, long[PROXY].sum
    extra = (ours.median - theirs.median) * 1e3 if ours and theirs else None
    disturbed = short[PROXY].disturbed or short[DIRECT].disturbed
    rate = _rate(volume.median) if volume else None
    return [
        Goal("the proxy's share of a connection", extra, 2, 2, "ms", disturbed=disturbed),
        Goal("one tunnel", rate, 150, 150, "MB/s", higher=True, disturbed=long[PROXY].disturbed),
    ]


def _rate(seconds: float) -> float:
    return BYTES / seconds / 1e6
