"""The verb `serve`: serves everything over HTTP until a signal comes; `serve token` makes a token."""

import sys
from time import time

from agent_exec.apps.parse import UsageError, end_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable
    from typing import Any

    from agent_exec.apps.mcp.toolset import Settings
    from agent_exec.apps.parse import Parsed
    from agent_exec.apps.serve.preview import Previews
    from agent_exec.apps.web.listening import Where
    from agent_exec.apps.web.serving import App
    from agent_exec.apps.web.visitors import Visitors

    Mount = Callable[[Visitors, str], Awaitable[App]]

MISSING = (
    "the server's libraries are missing: install agent-exec[serve], in a clone with pip install '.[serve]'"
)
PORT = 8700
COMPAT = "swerex"
MOST_PREVIEWS = 512
"""How many connections to previews there may be."""
MOST = 2048
"""How many connections of clients with a token there may be."""

STRANGERS = 640
"""How many connections may be open that have shown none: hundreds of requests that come at once."""

TOKEN_OPTIONS = ("read-only", "no-approvals", "expires", "job")
"""Options that are valid only with `serve token`."""


def serve(asked: "Parsed") -> "dict[str, Any]":
    """Serve, and end the process; only `serve token` returns an answer."""
    try:
        import websockets  # noqa: F401 - loaded when the first terminal is opened

        from agent_exec.apps.web.listening import where_of
    except ImportError as error:
        if (error.name or "").startswith("agent_exec"):
            raise
        raise UsageError(f"{MISSING} ({error})", "serve") from None
    if asked.words[:1] == ["token"] and len(asked.words) == 1:
        return _token(asked, where_of(asked).token_file)
    if asked.words:
        raise UsageError(f"{asked.words[0]!r} is not known here; there is `serve token`", "serve")
    for option in TOKEN_OPTIONS:
        if option in asked.options:
            raise UsageError(f"--{option} is for `serve token`", "serve")

    def work() -> int:
        from agent_exec.apps.mcp.main import require_descriptors, settings_of
        from agent_exec.apps.serve.browser import refusal

        require_descriptors("serve")
        if asked.options.get("compat", COMPAT) != COMPAT:
            raise UsageError(f"--compat takes {COMPAT}; got {asked.options['compat']!r}", "serve")
        where = where_of(asked, port=PORT)
        if "open" in asked.options and (why := refusal(where)):
            raise UsageError(why, "serve")
        settings, prepare = settings_of(asked, hidden=(where.token_file,))
        mounts = _mounts(asked, settings, where)
        if prepare is not None:
            prepare()
        return _run(asked, settings(), where, mounts)

    return end_after("serve", work)


def _token(asked: "Parsed", file: str) -> "dict[str, Any]":
    """Return a new token with the scope that the options say."""
    from agent_exec.apps.serve.tokens import Scope, issue
    from agent_exec.apps.web.token_file import token_of_file
    from agent_exec.faces.answers import answer
    from agent_exec.jobs.record import stamp

    options = asked.options
    job = asked.store().find(options["job"]).id if "job" in options else ""
    expires = int(time() + options["expires"]) if "expires" in options else 0
    scope = Scope(
        read_only="read-only" in options, job=job, no_answers="no-approvals" in options, expires=expires
    )
    told = {
        "token": issue(token_of_file(file, "serve"), scope),
        "read_only": scope.read_only,
        "no_approvals": scope.no_answers or None,
        "job_id": job or None,
        "expires_at": stamp(expires) if expires else None,
    }
    return answer("serve_token", {name: value for name, value in told.items() if value is not None})


def _mounts(asked: "Parsed", settings: "Callable[[], Settings]", where: "Where") -> "dict[str, Mount]":
    """Return what else is served, by the first part of its path: how each is opened."""
    found: dict[str, Mount] = {}
    if "mcp" in asked.options:
        from agent_exec.apps.mcp.main import toolsets

        names = toolsets(asked)

        async def mcp(visitors: "Visitors", token: str) -> "App":
            from agent_exec.apps.mcp.toolset import Offer
            from agent_exec.apps.mcp.transport.http import open_gate

            def offered() -> Offer:
                own = settings()
                return Offer(names, own.replace(workspaces=own.roots))  # never the roots of a client

            return await open_gate(offered, where, visitors, token)

        found["mcp"] = mcp
    elif "toolset" in asked.options:
        raise UsageError("--toolset goes with --mcp", "serve")
    return found


def _previews(
    asked: "Parsed", where: "Where", token: str
) -> "tuple[Previews | None, list[tuple[socket.socket, Visitors, App]]]":
    """Return what shows previews, and its socket beside the server's; neither without --preview-port."""
    if "preview-port" not in asked.options:
        return None, []
    from agent_exec.apps.serve.preview import Previews, refusal
    from agent_exec.apps.web.guard import Guard
    from agent_exec.apps.web.listening import listen, names
    from agent_exec.apps.web.visitors import Visitors

    place = where.replace(path="", port=asked.options["preview-port"])
    listener = listen(place, "serve")
    visitors = Visitors(MOST_PREVIEWS)
    guard = Guard(visitors, refusal, names(place), any_address=place.remote)
    previews = Previews(guard, token, listener.getsockname()[1])
    return previews, [(listener, visitors, previews)]


def _run(asked: "Parsed", settings: "Settings", where: "Where", mounts: "dict[str, Mount]") -> int:
    from agent_exec.apps.serve.app import Api, refusal
    from agent_exec.apps.serve.browser import invite
    from agent_exec.apps.serve.keys import Keys
    from agent_exec.apps.serve.mounts import Mounts
    from agent_exec.apps.serve.service import Service
    from agent_exec.apps.web import serving
    from agent_exec.apps.web.guard import Guard
    from agent_exec.apps.web.listening import announce, listen, names, url_of
    from agent_exec.apps.web.token_file import token_of_file
    from agent_exec.apps.web.visitors import Visitors

    token = token_of_file(where.token_file, "serve")
    listener = listen(where, "serve")
    visitors = Visitors(MOST, STRANGERS)
    guard = Guard(visitors, refusal, names(where), any_address=where.remote)
    previews, beside = _previews(asked, where, token)

    async def opened() -> "App":
        mounted = {name: await mount(visitors, token) for name, mount in mounts.items()}
        service = Service(settings, all_jobs="all-jobs" in asked.options)
        keys = Keys(service.jobs)
        keys.clean_up()
        api: App = Api(service, keys, guard, token)
        if "compat" in asked.options:
            from agent_exec.apps.serve import swerex

            told = Guard(visitors, swerex.refusal, names(where), any_address=where.remote)
            api = swerex.Swerex(service, told, token, api)
        if previews is not None:
            previews.service, service.previews = service, previews
        return Mounts(mounted, api)

    def ready() -> None:
        what = ["jobs, sessions and commands", *(f"/{name}" for name in mounts)]
        announce(" and ".join(what), url_of(listener), where)
        for place, _, _ in beside:
            sys.stderr.write(f"agent-exec: shows what jobs serve below {url_of(place, '/p/JOB/PORT/')}\n")
            sys.stderr.flush()
        if not where.path:
            invite(url_of(listener), token, browse="open" in asked.options)

    number = serving.serve(listener, visitors, opened, ready, websockets=True, beside=beside)
    return 0 if number == 2 else 128 + number
