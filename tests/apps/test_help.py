"""Help: true to the table of verbs, and its examples can be copied."""

import shlex
import sys

import pytest

import agent_exec
from agent_exec.apps.cli import help as helping
from agent_exec.apps.options import GLOBAL, SAME_VERBS, VERBS
from agent_exec.apps.parse import parse
from cli import Cli


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_a_verb_is_in_its_help(verb: str) -> None:
    lines = helping.of_verb(verb).splitlines()
    own = {option[0] for option in VERBS[verb].options}
    for name, _, value, about in (*VERBS[verb].options, *(one for one in GLOBAL if one[0] not in own)):
        shown = f"  --{name} {value}".rstrip()
        assert any(line == shown or line.startswith(f"{shown}  ") for line in lines), shown
        assert about
        assert any(about in line for line in lines)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_examples_that_parse(verb: str) -> None:
    assert VERBS[verb].examples
    for example in VERBS[verb].examples:
        assert example in helping.of_verb(verb)
        program, *words = shlex.split(example)
        assert program == "agent-exec"
        assert parse(words).verb == verb


@pytest.mark.parametrize("verb", VERBS)
def test_help_names_the_unit_of_a_bare_number(verb: str) -> None:
    text = helping.of_verb(verb)
    for name, kind, _, _ in VERBS[verb].options:
        unit = {"ms": "milliseconds", "s": "seconds"}.get(kind)
        if unit:
            line = next(line for line in text.splitlines() if line.startswith(f"  {unit} for "))
            assert f"--{name}" in line


def test_the_general_help_names_every_verb() -> None:
    lines = helping.general().splitlines()
    for name, verb in VERBS.items():
        assert f"  {name:<16}{verb.about}" in lines


def test_help_fits_a_terminal() -> None:
    for text in (helping.general(), *map(helping.of_verb, VERBS)):
        assert all(len(line) <= 110 for line in text.splitlines())


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_is_printed_on_stdout(cli: Cli, word: str) -> None:
    out = cli.raw(word)
    assert (out.returncode, out.stdout.decode(), out.stderr) == (0, helping.general(), b"")


@pytest.mark.parametrize("verb", [*VERBS, "rm"])
def test_every_verb_has_help(cli: Cli, verb: str) -> None:
    for words in ((verb, "--help"), ("-h", verb)):
        out = cli.raw(*words)
        assert (out.returncode, out.stderr) == (0, b"")
        assert out.stdout.decode() == helping.of_verb(SAME_VERBS.get(verb, verb))
    assert not cli.root.exists()


def test_help_is_a_verb_too(cli: Cli) -> None:
    assert cli.raw("help").stdout == cli.raw("--help").stdout != b""
    assert cli.raw("help", "run").stdout == cli.raw("run", "--help").stdout != b""
    assert cli.raw("help", "nonsense").returncode == 2


def test_the_module_is_the_program() -> None:
    out = agent_exec.run([sys.executable, "-m", "agent_exec", "--version"])
    assert out.stdout_text == f"agent-exec {agent_exec.__version__}\n"
