"""The verb `mcp`: serves a toolset over stdio or HTTP, or adds the server to a client's configuration."""

import os

from agent_exec.apps.parse import UsageError, end_after
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from agent_exec.apps.mcp.toolset import Settings
    from agent_exec.apps.parse import Parsed
    from agent_exec.apps.web.listening import Where
    from agent_exec.tools.tool import Toolset

MISSING = "the parser of HTTP is missing: install agent-exec[mcp], in a clone with pip install '.[mcp]'"
_ADRIFT = (
    "Without roots nothing can be written, for the server was started in the home folder or above it:"
    " have the user add --workspace DIR to its arguments."
)

HTTP_OPTIONS = ("port", "host", "allow-remote", "token-file", "idle-timeout")
"""Options that are valid only with --http."""

INSTALL_OPTIONS = ("client", "scope", "name", "allow", "dry-run", "yes")
"""Options that are valid only with `mcp install`."""

_DESCRIPTORS = 16
"""How many descriptors a server must be able to open at its start."""


def mcp(asked: "Parsed") -> "dict[str, Any]":
    """Serve, and end the process, whose stdout is the protocol's; only `mcp install` returns an answer.

    Raise UsageError for options that make no sense, and for a server that cannot run.
    """
    if asked.words[:1] == ["install"]:
        from agent_exec.apps.mcp.install.install import install

        return install(asked)
    for option in INSTALL_OPTIONS:
        if option in asked.options:
            raise UsageError(f"--{option} is for `mcp install`", "mcp")
    if asked.words:
        raise UsageError(f"{asked.words[0]!r} is one word too many", "mcp")

    def work() -> int:
        from agent_exec.apps.mcp.toolset import Offer

        require_descriptors("mcp")
        names = toolsets(asked)
        http = _where(asked)
        settings, prepare = settings_of(asked, hidden=() if http is None else (http.token_file,))
        return serve(lambda: Offer(names, settings()), http, prepare)

    return end_after("mcp", work)


def require_descriptors(verb: str) -> None:
    """Raise a UsageError if a server could not open what it needs: the libraries below it would break off."""
    found: list[int] = []
    try:
        while len(found) < _DESCRIPTORS:
            found += os.pipe()
    except OSError as error:
        raise UsageError(
            f"this process may open too few files for a server ({error.strerror}): raise `ulimit -n`", verb
        ) from None
    finally:
        for fd in found:
            os.close(fd)


def serve(
    open_toolset: "Callable[[], Toolset]",
    http: "Where | None" = None,
    prepare: "Callable[[], object] | None" = None,
) -> int:
    """Open a toolset, serve it over stdin and stdout, or there over HTTP, close it; return the exit status.

    `prepare` is called first, and goes on while all else is loaded.
    """
    from agent_exec.apps.mcp.transport.stdio_fds import Wire

    wire = Wire()  # before all else: a library may print when it is loaded
    if prepare is not None:
        prepare()
    if http is None:
        from agent_exec.apps.mcp.transport import stdio

        return stdio.run(open_toolset, wire)
    from agent_exec.apps.mcp.transport import http as over_http

    return over_http.run(open_toolset, http)


def _where(asked: "Parsed") -> "Where | None":
    """Return where to serve over HTTP; None without --http."""
    options = asked.options
    if "http" not in options:
        for name in HTTP_OPTIONS:
            if name in options:
                raise UsageError(f"--{name} is for --http", "mcp")
        return None
    try:
        from agent_exec.apps.web.listening import where_of
    except ImportError as error:
        if (error.name or "").startswith("agent_exec"):
            raise
        raise UsageError(f"{MISSING} ({error})", "mcp") from None
    return where_of(asked)


def toolsets(asked: "Parsed") -> list[str]:
    """Return the names of the toolsets that are asked for; refuse those that there are not."""
    from agent_exec.apps.mcp.toolset import LEAN, check_names

    asked_for = asked.options.get("toolset", [LEAN])
    names = [name for words in asked_for for name in words.split(",")]
    check_names(names)
    return names


def settings_of(
    asked: "Parsed", hidden: "Sequence[str]" = ()
) -> "tuple[Callable[[], Settings], Callable[[], object] | None]":
    """Return what tells the settings, and what has to be begun before; boxes cannot read what is `hidden`."""
    from agent_exec.apps.mcp.toolset import Settings, Trial, is_wide
    from agent_exec.apps.profile import is_file
    from agent_exec.apps.profile import profile as make
    from agent_exec.places import jobs_root
    from agent_exec.requests.opening import IN_FORCE, rule_files

    options = asked.options
    folders = options.get("workspace", [])
    for folder in folders:
        if not os.path.isdir(folder):
            raise UsageError(f"--workspace takes a folder that exists; got {folder!r}", asked.verb)
    rules = options.get("rules", IN_FORCE)
    wide = [folder for folder in folders or [here()] if is_wide(folder)]
    profile = make(asked, "sandbox", "workspace", rootless=bool(wide))
    if hidden:
        profile = profile.replace(deny_read=(*profile.deny_read, *hidden))
    named = options.get("sandbox", "")
    if wide and folders and profile.name == "workspace-write":
        raise UsageError(
            f"--workspace {wide[0]!r} is or holds your home folder, which no sandbox gives away:"
            " name a folder below it, or say --sandbox read-only or full-access",
            asked.verb,
        )
    max_wait, until = _patience(asked)
    approvals, approval_timeout = _approvals(asked)
    settings = Settings(
        workspaces=tuple(dict.fromkeys(map(os.path.realpath, folders))),
        sandbox=profile,
        follows=not is_file(named) or profile.roots in ((), (os.path.realpath(here()),)),
        note=_ADRIFT if wide and profile.name == "workspace-write" and not profile.roots else "",
        rules=rules,
        own=(*rule_files(rules), *([os.path.abspath(named)] if is_file(named) else [])),
        jobs=jobs_root(options.get("root")),
        approvals=approvals,
        approval_timeout=approval_timeout,
        max_wait=max_wait,
        until=until,
        output_schemas="output-schemas" in options,
    ).checked()
    if profile.name == "full-access":
        return lambda: settings, None
    trial = Trial(settings)
    return trial.settings, trial.start


def _approvals(asked: "Parsed") -> "tuple[str, float | None]":
    """Return where questions are asked, and how many seconds they wait in the inbox; None is the default."""
    from agent_exec.apps.mcp.toolset import APPROVALS

    ways = [way for way in APPROVALS if way != "client" or "mcp" in (asked.verb, *asked.options)]
    way = asked.options.get("approvals", "auto")
    if way not in ways:
        raise UsageError(f"--approvals takes one of {', '.join(ways)}; got {way!r}", asked.verb)
    timeout = asked.options.get("approval-timeout")
    if timeout is not None and timeout < 1:
        raise UsageError("--approval-timeout takes a second at least", asked.verb)
    return way, timeout


def _patience(asked: "Parsed") -> "tuple[float, float | None]":
    """Return the maximum wait of a call and its default; None is each tool's own."""
    from agent_exec.apps.mcp.toolset import MAX_WAIT

    most, usual = (_seconds(f"AGENT_EXEC_MCP_{name}_UNTIL_SECONDS") for name in ("MAX", "DEFAULT"))
    longest = asked.options.get("max-wait", MAX_WAIT if most is None else most)
    said = "--max-wait" if "max-wait" in asked.options else "AGENT_EXEC_MCP_MAX_UNTIL_SECONDS"
    if 0 < longest < 1:
        raise UsageError(f"{said} takes 0, or a second at least", "mcp")
    if longest == 0 and (timed := {"oneshot", "executor"}.intersection(toolsets(asked))):
        raise UsageError(
            f"{said} takes a second at least with the toolset {min(timed)}: its commands live no longer",
            "mcp",
        )
    return float(longest), usual


def _seconds(variable: str) -> float | None:
    text = os.environ.get(variable)
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError(f"{variable} must be a whole number of seconds; got {text!r}", "mcp")
    return float(text)
