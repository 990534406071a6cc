"""Prints how fast views are made of generated outputs, and how small: `python -m bench.views`."""

import sys
import time
from pathlib import Path

from agent_exec.views.reader import Source, of_bytes
from agent_exec.views.show import show

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from outputs.corpus import captures


def main() -> None:
    """Print a line for each output that is generated."""
    print(f"{'output':32} {'bytes':>10} {'view':>6} {'MB/s':>6}")
    for capture in captures():
        if not capture.is_generated:
            continue
        data = capture.data
        times = []
        for _ in range(5):
            times.append(-time.process_time())
            size = len(show(Source(of_bytes(data), 0, len(data)), limit=40_000, exit_code=capture.exit).text)
            times[-1] += time.process_time()
            if len(times) == 5:
                print(f"{capture.name:32} {len(data):10} {size:6} {len(data) / 1e6 / min(times):6.0f}")


if __name__ == "__main__":
    main()
