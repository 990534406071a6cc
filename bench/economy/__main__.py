"""Does the tasks through our server, prints calls, tokens, seconds and success, and writes ECONOMY.md."""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from bench import machine
from bench.economy import ours, peers
from bench.economy.agent import Agent
from bench.economy.ours import Task
from bench.economy.tokens import counter
from bench.table import table
from bench.worker import ROOT

PROGRAMS = Path(__file__).parent / "programs"
"""What a task finds in its folder: programs that behave like those of real projects."""
COLUMNS = ("task", "calls", "tokens", "seconds", "right")


def main() -> int:
    """Return 1 if a task came to a wrong answer."""
    parser = argparse.ArgumentParser(prog="python -m bench.economy", description=__doc__)
    parser.add_argument("--sandbox", default="workspace-write", help="what the server confines commands by")
    parser.add_argument(
        "--toolset", default="", help="the tools to offer; by default the server's own choice"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="tasks whose name contains this")
    parser.add_argument("--no-write", action="store_true", help="leave ECONOMY.md as it is")
    asked = parser.parse_args()
    words = ["-m", "agent_exec", "mcp", "--sandbox", asked.sandbox]
    words += ["--toolset", asked.toolset] if asked.toolset else []
    name, count = counter()
    when = time.strftime("%Y-%m-%d %H:%M %z")
    server = f"`agent-exec {' '.join(words[2:])}`"
    parts = [
        "# What an agent pays",
        "",
        f"Written by `python -m bench.economy` on {when}; tokens by {name}; {server}.",
        "",
        "; ".join(f"{what}: {value}" for what, value in machine.describe()),
    ]
    wrong = definitions = 0
    for title, tasks in (("Expert", ours.EXPERT), ("Plain", ours.PLAIN)):
        rows, definitions = run(
            [*words, "--workspace", "."], {k: v for k, v in tasks.items() if asked.only in k}, count
        )
        wrong += sum(row[4] != "yes" for row in rows)
        parts += ["", f"## {title}", "", table(COLUMNS, [*rows, total_of(rows)])]
    parts += ["", f"The definitions of its tools cost {definitions} tokens, once."]
    peer = peers.words()
    parts += ["", f"## Plain, {peers.PROGRAM}{'' if peer else ': not installed'}"]
    if peer:
        rows, _ = run(peer, {k: v for k, v in peers.TASKS.items() if asked.only in k}, count)
        parts += ["", table(COLUMNS, [*rows, total_of(rows)])]
    text = "\n".join(parts) + "\n"
    print(text)
    if not (asked.no_write or asked.only):
        Path(ROOT, "bench", "ECONOMY.md").write_text(text)
    return int(wrong > 0)


def total_of(rows: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the last row: the sums, and how many are right."""
    sums = (f"{sum(float(row[place]) for row in rows):.0f}" for place in (1, 2, 3))
    return ("sum", *sums, f"{sum(row[4] == 'yes' for row in rows)} of {len(rows)}")


def run(
    words: list[str],
    tasks: Mapping[str, Task],
    count: Callable[[str], int],
) -> tuple[list[tuple[str, ...]], int]:
    """Do each task in a folder and by a server of its own; return the rows, and the cost of the tools."""
    rows: list[tuple[str, ...]] = []
    definitions = 0
    for name, task in tasks.items():
        with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
            folder = Path(place).resolve()
            shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
            agent = Agent(words, folder, count)
            definitions = agent.definitions
            agent.forget()
            start = time.monotonic()
            try:
                right = "yes" if task(agent) else "NO"
            except (AssertionError, RuntimeError) as error:
                right = f"NO: {error}"[:120].replace("\n", " ").replace("|", "/")
            finally:
                agent.close()
            rows.append((name, str(agent.calls), str(agent.tokens), f"{time.monotonic() - start:.1f}", right))
    return rows, definitions


if __name__ == "__main__":
    raise SystemExit(main())
