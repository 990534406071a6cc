"""The verb `serve`: serves everything over HTTP until a signal comes; `serve token` makes a token."""

from time import time

from agent_exec.apps.parse import UsageError, end_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.mcp.toolset import Settings
    from agent_exec.apps.parse import Parsed
    from agent_exec.apps.web.listening import Where

MISSING = (
    "the server's libraries are missing: install agent-exec[serve], in a clone with pip install '.[serve]'"
)
PORT = 8700
MOST = 2048
"""How many connections of clients with a token there may be."""

TOKEN_OPTIONS = ("read-only", "expires", "job")
"""Options that are valid only with `serve token`."""


def serve(asked: "Parsed") -> "dict[str, Any]":
    """Serve, and end the process; only `serve token` returns an answer."""
    try:
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

        require_descriptors("serve")
        where = where_of(asked, port=PORT)
        settings, prepare = settings_of(asked, hidden=(where.token_file,))
        if prepare is not None:
            prepare()
        return _run(settings(), where, all_jobs="all-jobs" in asked.options)

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
    scope = Scope(read_only="read-only" in options, job=job, expires=expires)
    told = {
        "token": issue(token_of_file(file, "serve"), scope),
        "read_only": scope.read_only,
        "job_id": job or None,
        "expires_at": stamp(expires) if expires else None,
    }
    return answer("serve_token", {name: value for name, value in told.items() if value is not None})


def _run(settings: "Settings", where: "Where", *, all_jobs: bool) -> int:
    from agent_exec.apps.serve.app import Api, refusal
    from agent_exec.apps.serve.keys import Keys
    from agent_exec.apps.serve.service import Service
    from agent_exec.apps.web import serving
    from agent_exec.apps.web.guard import Guard
    from agent_exec.apps.web.listening import announce, listen, names, url_of
    from agent_exec.apps.web.token_file import token_of_file
    from agent_exec.apps.web.visitors import Visitors

    token = token_of_file(where.token_file, "serve")
    listener = listen(where, "serve")

    visitors = Visitors(MOST)
    guard = Guard(visitors, refusal, names(where), any_address=where.remote)

    async def opened() -> Api:
        service = Service(settings, all_jobs=all_jobs)
        keys = Keys(service.jobs)
        keys.clean_up()
        return Api(service, keys, guard, token)

    def ready() -> None:
        announce("jobs, sessions and commands", url_of(listener), where)

    number = serving.serve(listener, visitors, opened, ready)
    return 0 if number == 2 else 128 + number
