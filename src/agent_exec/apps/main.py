"""The `agent-exec` program: it always prints one JSON object on one line."""

import gc
import os
import sys
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from agent_exec.apps.parse import Parsed
    from agent_exec.host import Interrupts
    from agent_exec.jobs.start import Launcher

_STARTING = ("run", "watch", "create", "start", "restart")
_SECRET = ("--env", "--stdin")
_LATER = ("--stdin", "--server", "--help", "-h")
"""Options of `run` that need something done before a supervisor is started."""


def program() -> "NoReturn":
    """Be the program: serve this process's command line, and end without taking the interpreter apart."""
    _fill_gaps()
    status = main()
    if os.environ.get("AGENT_EXEC_SITE"):
        sys.exit(status)  # a tool that watches this process from inside has work to do at its end
    os._exit(status)


def _fill_gaps() -> None:
    """Put the null device in place of a closed stdin, stdout or stderr, or our files would come there."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Serve a command line, this process's own by default; return the exit status."""
    began = monotonic()
    gc.disable()  # a call is over before there is anything to collect
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if words in (["--version"], ["-V"], ["version"]):
        from agent_exec.version import __version__

        return _print(f"agent-exec {__version__}\n", 0)
    try:
        text, status = _serve(words, began)
    except BaseException as error:
        from agent_exec.apps.parse import UsageError

        if isinstance(error, UsageError):
            of = f" {error.verb}" if error.verb else ""
            _complain(f"agent-exec{of}: {error}\nTry: agent-exec{of} --help\n")
            return 2
        text, status = _text(_refuse(error, words)), 1
    return _print(text, status)


def _serve(words: list[str], began: float) -> tuple[str, int]:
    """Do what the words ask; return what is to be printed, and the exit status."""
    interrupts, launcher = _launch(words)
    try:
        from agent_exec.apps.parse import parse
        from agent_exec.places import name_config

        asked = parse(words)
        name_config(asked.options.get("config"))
        if "help" in asked.options:
            from agent_exec.apps.cli import help as helping

            return helping.of_verb(asked.verb) if asked.verb else helping.general(), 0
        if asked.verb == "completions":
            from agent_exec.apps.cli.completions import completions

            return completions(asked), 0
        try:
            told, status = _act(asked, began, interrupts, launcher)
        except BaseException as error:
            if asked.form == "json":
                raise
            told, status = _refuse(error, words), 1
    finally:
        if launcher is not None:
            launcher.close()
    return _text(told, asked.form), status


def _act(
    asked: "Parsed", began: float, interrupts: "Interrupts | None", launcher: "Launcher | None"
) -> "tuple[dict[str, Any], int]":
    """Pass a parsed command line to the program that has its verb; return the answer and the exit status."""
    if asked.verb is None:
        from agent_exec.apps.parse import UsageError

        raise UsageError("a verb is needed, such as: agent-exec run -- echo hello")
    if server := asked.options.get("server", os.environ.get("AGENT_EXEC_SERVER")):
        from agent_exec.apps.cli.remote import over_server

        done = over_server(asked, server, interrupts)
        if done is not None:
            return done
    if asked.verb == "run":
        from agent_exec.apps.cli.run import run

        return run(asked, began, interrupts, launcher)
    if asked.verb == "watch":
        from agent_exec.apps.cli.people.watch import watch

        return watch(asked, began, interrupts, launcher)
    if asked.verb == "shell":
        from agent_exec.apps.shell.main import shell

        shell(asked)
    if asked.verb == "mcp":
        from agent_exec.apps.mcp.main import mcp

        told = mcp(asked)
        return told, 0 if told["ok"] else 1
    if asked.verb == "serve":
        from agent_exec.apps.serve.main import serve

        return serve(asked), 0
    from agent_exec.apps.cli.act import act

    return act(asked)


def _launch(words: list[str]) -> "tuple[Interrupts | None, Launcher | None]":
    """Start a supervisor before all else, if one will be needed: it gets ready while this process parses.

    Values of variables and input may be secrets, and anyone may read the
    arguments of a process: they are hidden first.
    """
    if not words or words[0] not in _STARTING:
        return None, None
    if any(word.startswith(_SECRET) for word in words):
        from agent_exec.host import hide_arguments

        hide_arguments(f"agent-exec {words[0]}")
    if words[0] not in ("run", "watch"):
        return None, None
    from agent_exec.apps.cli.redirect import redirected

    launcher = None
    later = redirected() or "AGENT_EXEC_SERVER" in os.environ
    if not (later or any(word.startswith(_LATER) for word in words)):
        from agent_exec.host import detach
        from agent_exec.jobs.start import BOXED, SUPERVISOR, Launcher

        confined = any(word.startswith("--sandbox") for word in words)
        launcher = Launcher(detach, entry=BOXED if confined else SUPERVISOR)
    from agent_exec.host import Interrupts

    return Interrupts(), launcher


def _text(told: "dict[str, Any]", form: str = "json") -> str:
    """Return an answer as it is printed; a verb that has printed all by itself has an empty one."""
    if not told:
        return ""
    if form == "human":
        from agent_exec.apps.cli.people.paint import paint_for
        from agent_exec.apps.cli.people.render import render

        return render(told, paint_for(1))
    if form == "yaml":
        from agent_exec.model.yaml import dump_yaml

        return dump_yaml(told)
    from agent_exec.model.jsonline import dump

    return dump(told) + "\n"


def _refuse(error: BaseException, words: list[str]) -> "dict[str, Any]":
    """Return the answer for an error, unless it is one of usage; print an unexpected one on request."""
    from agent_exec.apps.parse import UsageError
    from agent_exec.faces.answers import of_the_system, refusal
    from agent_exec.model.errors import AgentExecError, Interrupted

    if isinstance(error, UsageError):
        raise error
    if isinstance(error, KeyboardInterrupt):
        nothing = words[:1] == ["run"]
        error = Interrupted(
            "interrupted before a job was started; nothing was done"
            if nothing
            else "interrupted before it was done; look what has been done, and try again"
        )
    if isinstance(error, OSError):
        error = of_the_system(error)
    if not isinstance(error, AgentExecError):
        if "--verbose" in words or "-v" in words:
            sys.excepthook(type(error), error, error.__traceback__)
        error = AgentExecError(
            f"an error of agent-exec's own: {error!r}; try again with --verbose to see more, and report it"
        )
    return refusal(error)


def _print(text: str, status: int) -> int:
    """Write to stdout, all of it; a reader that has gone is no reason for a traceback."""
    if sys.stdout is None:
        _complain("agent-exec: the answer could not be written: stdout is closed\n")
        return 1
    view = memoryview(text.encode("utf-8", "surrogateescape"))
    try:
        while view:
            view = view[os.write(1, view) :]
    except OSError as error:
        _complain(f"agent-exec: the answer could not be written: {error.strerror}\n")
        return 1
    return status


def _complain(text: str) -> None:
    try:
        os.write(2, text.encode("utf-8", "backslashreplace"))
    except OSError:
        return
