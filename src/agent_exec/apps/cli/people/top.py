"""The verb `top`: the jobs that run now, in all folders, drawn anew while one watches."""

import os
import sys
from select import select
from time import strftime

from agent_exec.apps.cli.act import nothing_more
from agent_exec.apps.cli.people.output import put
from agent_exec.apps.cli.people.paint import paint_for
from agent_exec.apps.cli.people.render import command, mark, state, took
from agent_exec.faces.verbs import Jobs
from agent_exec.jobs.output import last_line
from agent_exec.model.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.cli.people.paint import Paint
    from agent_exec.apps.parse import Parsed

_ENTER, _LEAVE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l"
_HOME, _REST = "\x1b[H", "\x1b[J"
_ROWS = 24
_ENDED = 5
"""How many jobs are shown that have ended last."""


def top(asked: "Parsed") -> "dict[str, Any]":
    """Draw the jobs until q or Ctrl+C is typed; once, if this is no terminal."""
    nothing_more(asked)
    jobs = Jobs(asked.store())
    if not (os.isatty(0) and os.isatty(1)):
        put(1, "".join(f"{line}\n" for line in _lines(jobs, paint_for(1), 0)).encode())
        return {}
    _draw(jobs, asked.options.get("every", 1.0))
    return {}


def _draw(jobs: Jobs, every: float) -> None:
    import termios
    import tty

    if sys.platform == "win32":
        return
    former = termios.tcgetattr(0)
    put(1, _ENTER)
    try:
        tty.setcbreak(0)
        while True:
            rows = os.get_terminal_size(1).lines or _ROWS
            lines = _lines(jobs, paint_for(1), rows - 1)
            put(1, (_HOME + "".join(f"{line}\x1b[K\n" for line in lines) + _REST).encode())
            if select([0], [], [], every)[0] and os.read(0, 100)[:1] in (b"q", b"Q", b""):
                return
    except KeyboardInterrupt:
        return
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, former)
        put(1, _LEAVE)


def _lines(jobs: Jobs, paint: "Paint", rows: int) -> list[str]:
    """Return the header and as many jobs as there are rows for, 0 for all."""
    running = jobs.list(states=("running",), limit=0)["jobs"]
    ended = jobs.list(states=("exited", "killed", "failed"), limit=_ENDED)["jobs"]
    head = f"agent-exec · {len(running)} running · {strftime('%H:%M:%S')} · q leaves"
    table = [[("", ""), *((name, "dim") for name in ("job", "took", "state", "tags", "command  last line"))]]
    for job in (*running, *ended):
        sign, style = mark(job)
        line = last_line(jobs.store.folder(job["job_id"]), "stdout")
        table.append(
            [
                (sign, style),
                (job["short_job_id"], ""),
                (took(job), ""),
                (state(job), style),
                (",".join(job.get("tags", ())), "cyan"),
                (f"{command(job)}  {visible(line)}" if line else command(job), ""),
            ]
        )
    lines = [paint(head, "bold"), "", *paint.table(table)]
    if len(table) == 1:
        lines[2:] = ["no jobs yet: `agent-exec run --no-wait -- COMMAND` starts one"]
    return lines[:rows] if rows else lines
