"""The verb `demo`: a tour of a minute in a folder of its own, which runs what it shows."""

import os
import sys

from agent_exec.apps.cli.act import nothing_more
from agent_exec.apps.cli.people.output import Output, put
from agent_exec.apps.cli.people.paint import paint_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed

_BUILD = 'for n in 1 2 3; do echo "step $n"; sleep 0.3; done; exit 3'
_STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "A command is a job, which outlives this terminal. Programs get JSON; people add --human.",
        ("run", "--human", "--", "echo", "hello"),
    ),
    (
        "It can go on in the background.",
        ("run", "--human", "--no-wait", "--tag", "build", "--", "sh", "-c", _BUILD),
    ),
    ("Its output, as it comes, by its tag; `last` and %1 name jobs as well.", ("logs", "-f", "@build")),
    ("It has failed, and its exit code is on record.", ("list", "--human")),
    (
        "`watch` runs a command as you would: output as it comes, its exit status, Ctrl+C.",
        ("watch", "--", "sh", "-c", "echo out; echo err >&2"),
    ),
    (
        "A sandbox: only this folder can be written, there is no network, and what was blocked is said.",
        ("sandbox", "run", "--human", "--", "sh", "-c", "echo ok > here; cat here; echo no > /etc/there"),
    ),
    (
        "Rules judge a command before it runs. Without any, what would end its caller is denied.",
        ("policy", "explain", "--human", "--", "kill", "-9", "1"),
    ),
    ("Nothing is left running.", ("ps", "--human", "--all")),
)
_END = """\
That was all in a folder of its own, which is gone now. Next:
  agent-exec mcp install          give these tools to your coding agent
  agent-exec serve --open         see what your agents do, in a browser
  agent-exec shell                the same in this terminal
  agent-exec --help               every verb
"""


def demo(asked: "Parsed") -> "dict[str, Any]":
    """Show each step and its command, and run that; all of it is deleted at the end."""
    import shutil
    import tempfile
    from shlex import join

    from agent_exec.engine.engine import run

    nothing_more(asked)
    paint = paint_for(1)
    folder = os.path.realpath(tempfile.mkdtemp(prefix="agent-exec-demo-"))
    work = os.path.join(folder, "work")
    os.mkdir(work)
    own = {"AGENT_EXEC_ROOT": os.path.join(folder, "jobs"), "AGENT_EXEC_RULES": "", "AGENT_EXEC_CONFIG": ""}
    colours = {"FORCE_COLOR": "1"} if paint.on else {"NO_COLOR": "1"}
    try:
        for number, (text, words) in enumerate(_STEPS, 1):
            put(1, f"\n{paint(f'{number}/{len(_STEPS)}', 'cyan')} {text}\n".encode())
            put(1, f"{paint(f'$ agent-exec {join(words)}', 'bold')}\n".encode())
            output = Output()
            argv = [sys.executable, "-P", "-m", "agent_exec", *words]
            run(argv, cwd=work, env={**os.environ, **own, **colours}, on_output=output.write)
            output.finish()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    put(1, f"\n{_END}".encode())
    return {}
