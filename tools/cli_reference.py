"""Generates docs/cli.md and the man page from the table of verbs: writes them, or with `--check` compares."""

import sys
from pathlib import Path

from agent_exec.apps.options import GLOBAL, SAME_OPTIONS, SAME_VERBS, SHORT, VERBS, Verb

DOCS = Path(__file__).parents[1] / "docs"
KINDS = {"many": "may be repeated", "ms": "bare: milliseconds", "s": "bare: seconds"}
HEAD = """\
# The command line

<!-- Generated from src/agent_exec/apps/cli/options.py by `python3 dev.py fix`; do not edit. -->

`agent-exec VERB [OPTION …] [WORD …]`. Every verb except `mcp`, `shell`, `serve`, `watch`, `logs` of a job and
`completions` prints one JSON object on one line, also when it fails: `ok` says whether the request was
carried out, `error` why not; `--human` prints text instead. A command that fails is not an error: see `state`
and `exit_code`. `agent-exec schema` prints the JSON Schema of every answer; [jobs.md](jobs.md) explains the
verbs for jobs.

Exit status: 0 done · 1 refused or failed, see `error` · 2 usage error, explained on stderr. The command's own
status is that of `watch`, and of `run` and `wait` with `--exit-code`.

A JOB is its id, or the beginning or the end of it; `last`, `%2` (the second newest of this folder), or `@tag`
(the newest of that tag). A TIME is `250ms`, `2s`, `5m`, `1h` or `30d`; a bare
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


def manual() -> str:
    """Return the text of the man page."""
    plain = HEAD.replace("`", "").replace("[jobs.md](jobs.md)", "docs/jobs.md")
    parts = [
        '.TH AGENT-EXEC 1 "" "agent-exec" "User commands"\n',
        ".SH NAME\nagent-exec \\- run commands for AI agents, as jobs that outlive the caller\n",
        ".SH SYNOPSIS\n.B agent-exec\n.I VERB\n[OPTION ...] [WORD ...]\n",
        ".SH DESCRIPTION\n",
        *(f".PP\n{roff(text)}\n" for text in plain.split("\n\n")[2:]),
        ".SH OPTIONS OF EVERY VERB\n",
        terms(GLOBAL),
        ".SH VERBS\n",
    ]
    for name, verb in VERBS.items():
        usage = f"agent-exec {name} [OPTION …] {verb.words}".rstrip()
        parts += [f".SS {name}\n{roff(verb.about[0].upper() + verb.about[1:])}.\n", f".PP\n{roff(usage)}\n"]
        parts.append(terms(verb.options))
        parts += [".PP\nExamples:\n.PP\n.nf\n", *(f"{roff(line)}\n" for line in verb.examples), ".fi\n"]
    return "".join(parts)


def terms(options: tuple[tuple[str, str, str, str], ...]) -> str:
    """Return options as paragraphs of a man page."""
    return "".join(
        f".TP\n\\fB{roff(f'--{name}')}\\fR {roff(value)}".rstrip() + f"\n{roff(about)}\n"
        for name, _, value, about in options
    )


def roff(text: str) -> str:
    """Return a text in which nothing is a request or an escape, on one line."""
    plain = (
        " ".join(text.split())
        .replace("\\", "\\e")
        .replace("-", "\\-")
        .replace("…", "...")
        .replace("·", "\\(pc")
    )
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


PAGES = {"cli.md": page, "agent-exec.1": manual}


def main(words: list[str]) -> int:
    """Write the pages, or with --check return 1 if one is not up to date."""
    for name, text in PAGES.items():
        file = DOCS / name
        if words != ["--check"]:
            file.write_text(text())
        elif not file.exists() or file.read_text() != text():
            sys.stderr.write(f"docs/{name} is not up to date; run `python3 dev.py fix`\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
