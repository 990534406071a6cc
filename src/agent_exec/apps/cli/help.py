"""The help texts, generated from the table of verbs."""

from agent_exec.apps.options import GLOBAL, VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.apps.option_groups import Option

_WIDTH = 28


def general() -> str:
    """Return the help of the whole program."""
    verbs = "".join(f"  {name:<16}{verb.about}\n" for name, verb in VERBS.items())
    return f"""\
agent-exec runs commands for AI agents, as background jobs that outlive the caller.

usage: agent-exec VERB [OPTION …] [WORD …]

{verbs}
Every verb except mcp, shell, serve, watch, logs, completions and events --follow prints one JSON object on
one line, also when it fails: "ok" says whether the request was carried out, "error" why not. --human prints
text instead. A command that fails is not an error: see "state" and "exit_code".
Exit status: 0 done, 1 refused or failed (see "error"), 2 usage error. The command's own status is that of
`watch`, and of `run` and `wait` with --exit-code: `run -- make && deploy` deploys after a failure as well.

A JOB is its id, or the beginning or the end of it; last, %2 (the second newest of this folder), or @tag.

options:
{_options(GLOBAL)}  --version                 show the version

first steps:
  agent-exec demo                       a tour of a minute
  agent-exec run -- echo hello          run, and see the output at once
  agent-exec run --no-wait -- make      run in the background
  agent-exec logs -f last               follow its output
  agent-exec watch -- make test         run, print what comes, exit as it does
  agent-exec list                       the jobs of this folder
  agent-exec VERB --help                more about a verb
"""


def of_verb(name: str) -> str:
    """Return the help of one verb."""
    verb = VERBS[name]
    words = f" {verb.words}" if verb.words else ""
    examples = "".join(f"  {line}\n" for line in verb.examples)
    own = f"{_options(verb.options)}\n" if verb.options else ""
    named = {option[0] for option in verb.options}  # a verb may use a name for something else
    common = [option for option in GLOBAL if option[0] not in named]
    return f"""\
agent-exec {name}: {verb.about}

usage: agent-exec {name} [OPTION …]{words}

options:
{own}{_options(common)}
examples:
{examples}
{_times(verb.options)}"""


def _options(options: "Sequence[Option]") -> str:
    lines = []
    for name, _, value, about in options:
        shown = f"  --{name} {value}".rstrip()
        gap = " " * (_WIDTH - len(shown)) if len(shown) < _WIDTH - 1 else "\n" + " " * _WIDTH
        lines.append(f"{shown}{gap}{about}\n")
    return "".join(lines)


def _times(options: "Sequence[Option]") -> str:
    """Return how to write a duration, if an option takes one."""
    lines = ["", "A TIME is 250ms, 2s, 5m, 1h or 30d. A bare number is in"]
    for unit, kind in (("milliseconds", "ms"), ("seconds", "s")):
        names = [f"--{name}" for name, of, _, _ in options if of == kind]
        if names:
            lines.append(f"  {unit} for {', '.join(names)}")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""
