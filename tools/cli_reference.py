"""Generates docs/cli.md from the table of verbs: `cli_reference.py` writes it, `--check` compares it."""

import sys
from pathlib import Path

from agent_exec.apps.options import GLOBAL, SAME_OPTIONS, SAME_VERBS, SHORT, VERBS, Verb

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
KINDS = {"many": "may be repeated", "ms": "bare: milliseconds", "s": "bare: seconds"}
HEAD = """\
# The command line

<!-- Generated from src/agent_exec/apps/cli/options.py by `python3 dev.py fix`; do not edit. -->

`agent-exec VERB [OPTION …] [WORD …]`. Every verb except `mcp`, `shell` and `completions` prints one JSON
object on one line, also when it fails: `ok` says whether the request was carried out, `error` why not. A
command that fails is not an error: see `state` and `exit_code`. `agent-exec schema` prints the
JSON Schema of every answer; [jobs.md](jobs.md) explains the verbs for jobs.

Exit status: 0 done · 1 refused or failed, see `error` · 2 usage error, explained on stderr.

A JOB is its id, or the beginning or the end of it. A TIME is `250ms`, `2s`, `5m`, `1h` or `30d`; a bare
number is in the unit that the option names. Before COMMAND, `--` ends the options.
"""


def page() -> str:
    """Return the text of docs/cli.md."""
    parts = [HEAD, "\n| verb | |\n|---|---|\n"]
    parts += [f"| [`{name}`](#{name}) | {cell(verb.about)} |\n" for name, verb in VERBS.items()]
    parts += ["\n## Options of every verb\n\n", table(GLOBAL), "| `--version` | show the version |\n"]
    same = {**SHORT, **{f"--{name}": other for name, other in SAME_OPTIONS.items()}}
    synonyms = [f"`{name}` is `--{other}`" for name, other in same.items()]
    synonyms += [f"`{name}` is `{other}`" for name, other in SAME_VERBS.items()]
    parts.append(f"\nShort forms and synonyms: {', '.join(synonyms)}.\n")
    parts += [section(name, verb) for name, verb in VERBS.items()]
    return "".join(parts)


def section(name: str, verb: Verb) -> str:
    """Return the part about one verb."""
    usage = f"agent-exec {name} [OPTION …] {verb.words}".rstrip()
    about = verb.about[0].upper() + verb.about[1:]
    options = f"{table(verb.options)}\n" if verb.options else ""
    examples = "".join(f"{line}\n" for line in verb.examples)
    return f"\n## {name}\n\n{about}.\n\n```text\n{usage}\n```\n\n{options}```sh\n{examples}```\n"


def table(options: tuple[tuple[str, str, str, str], ...]) -> str:
    """Return options as the rows of a table."""
    rows = ["| option | |\n|---|---|\n"]
    for name, kind, value, about in options:
        note = f" ({KINDS[kind]})" if kind in KINDS else ""
        rows.append(f"| `{cell(f'--{name} {value}'.rstrip())}` | {cell(about)}{note} |\n")
    return "".join(rows)


def cell(text: str) -> str:
    """Return a text in which no character ends a cell of a table."""
    return text.replace("|", "\\|")


def main(words: list[str]) -> int:
    """Write the page, or with --check return 1 if it is not up to date."""
    if words == ["--check"]:
        if PAGE.exists() and PAGE.read_text() == page():
            return 0
        sys.stderr.write("docs/cli.md is not up to date; run `python3 dev.py fix`\n")
        return 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
