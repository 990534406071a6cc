"""Promise 4: memory is flat whatever the child prints, and the counts are exact."""

import sys

import pytest

import agent_exec
from support import python

GIB = 1 << 30
MIB = 1 << 20

MEASURE = """
import sys
sys.path.append(sys.argv[1])
import agent_exec

def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024

keep = eval("agent_exec." + sys.argv[2])
with agent_exec.Engine() as engine:
    engine.start(agent_exec.Command(["true"])).outcome()
    open("/proc/self/clear_refs", "w").write("5")
    before = peak()
    out = engine.start(agent_exec.Command(sys.argv[3:], keep=keep)).outcome()
    print(peak() - before, out.stdout_observed, len(out.stdout))
"""

ONE_LINE = "import os\nzeros = bytes(1 << 20)\nfor _ in range(1024): os.write(1, zeros)"
MANY_LINES = "import os\nlines = b'0123456789abcdefghi\\n' * 51200\nfor _ in range(1049): os.write(1, lines)"


@pytest.mark.parametrize(
    ("keep", "kept_zeros", "kept_lines"),
    [
        ("Head(1 << 20)", MIB, MIB),
        ("Tail(1 << 20)", MIB, MIB),
        ("HeadTail(1 << 20, 1 << 20)", 2 * MIB, 2 * MIB),
        ("Lines(4000, 2 << 20)", 2 * MIB, 4000 * 20),
    ],
)
@pytest.mark.parametrize("shape", ["one line", "many lines"])
def test_a_gibibyte_grows_memory_by_less_than_8_mib(
    keep: str, kept_zeros: int, kept_lines: int, shape: str
) -> None:
    source = agent_exec.__file__.rpartition("/agent_exec/")[0]
    one_line = shape == "one line"
    writer = python(ONE_LINE if one_line else MANY_LINES)
    out = agent_exec.run([sys.executable, "-IS", "-c", MEASURE, source, keep, *writer])
    assert out.ok, out.stderr_text
    growth, observed, kept = map(int, out.stdout_text.split())
    assert observed == (GIB if one_line else 1049 * 51200 * 20)
    assert observed >= GIB
    assert kept == (kept_zeros if one_line else kept_lines)
    assert growth < 8 * MIB, f"{growth / MIB:.1f} MiB"


def test_a_dribble_of_single_bytes_costs_no_object_a_byte() -> None:
    tail = agent_exec.Tail(100_000)
    lines = agent_exec.Lines(1000, 100_000)
    for index in range(300_000):
        byte = b"\n" if index % 10 == 9 else b"x"
        tail.feed(byte)
        lines.feed(byte)
    assert sys.getsizeof(tail.value()) < 110_000
    assert (tail.observed, tail.kept) == (300_000, 100_000)
    assert lines.newlines_observed == 30_000
    assert lines.value() == b"xxxxxxxxx\n" * 1000
    assert len(tail._pieces.parts) < 80
