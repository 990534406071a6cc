"""The command line with --server: verbs of jobs are requests to a server, with the same answers and codes."""

import os
from ipaddress import ip_address
from urllib.parse import urlsplit

from agent_exec.apps.cli.act import act, job_of
from agent_exec.apps.cli.redirect import has_unread_pipe, redirected
from agent_exec.apps.cli.run import command_of, environment_of, observation, refuse_both, warn
from agent_exec.apps.parse import UsageError
from agent_exec.apps.web.token_file import token_of_file
from agent_exec.faces import defaults
from agent_exec.faces.remote import connect
from agent_exec.faces.remote_jobs import MOMENT
from agent_exec.faces.verbs import exit_code
from agent_exec.host import Interrupts
from agent_exec.model.errors import InputRequired, Interrupted, InvalidArgument
from agent_exec.places import here, token_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed
    from agent_exec.faces.remote_jobs import RemoteJobs

_READING = "status tail wait kill list ps delete gc events plan group tag timeout approvals".split()
_BEGINNING = "run create start restart".split()
_HERE = "abandon watch logs top notify up down policy".split()
"""Verbs that are about the jobs and rules of this machine: refused while a server is named in any way.

All others have nothing to do with a server, and refuse only --server.
"""
_SAME = (
    "timeout health health-every health-timeout health-failures after needs at retry restart sandbox".split()
)
_FIELDS = {
    "kill-after": "grace",
    "tag": "tags",
    "max-log-bytes": "max_log_bytes",
    "every": "interval",
    "for": "conditions",
    "all": "every",
    "port": "ports",
    **{name: name.replace("-", "_") for name in _SAME},
}
"""The fields of a job that options stand for, as they are."""
_ALSO = """
    priority stop-after cwd env env-file inherit-env mask stdin stdin-file stdin-max-bytes shell shell-wrapper
    no-auto-gc snapshot-after wait until forever no-wait wait-poll-ms tail-lines max-bytes exit-code signal
    server token-file config yaml human verbose
""".split()
"""Options that are understood here, or by what prints the answer."""
_MOST_INPUT = 3 << 20
"""Bytes of input that fit into one request, however they have to be written there."""


def over_server(
    asked: "Parsed", url: str, interrupts: "Interrupts | None"
) -> "tuple[dict[str, Any], int] | None":
    """Carry a verb out by a server; return the answer and the exit status, None if servers do not concern it.

    Raise UsageError for what no server does.
    """
    verb, options = str(asked.verb), asked.options
    if verb not in _READING and verb not in _BEGINNING:
        if "server" not in options and verb not in _HERE:
            return None
        way = "leave out --server" if "server" in options else "say --server '', or unset AGENT_EXEC_SERVER"
        raise UsageError(f"{verb} works on this machine only, and not by a server; {way}", verb)
    if "root" in options:
        raise UsageError("--root and --server contradict each other; the server has its own folder", verb)
    if "rules" in options:
        raise UsageError("--rules works without --server only; the server has its own rules", verb)
    near = _is_near(url)
    try:
        jobs = connect(url, _token(asked, url, near=near)).jobs
    except InvalidArgument as error:
        raise UsageError(f"--server: {error.message}", verb) from None
    asked.remote, asked.far = jobs, not near
    if "verbose" in options:
        warn(asked, f"{verb} at {url}")
    if verb in _BEGINNING:
        told = _begin(asked, jobs, interrupts or Interrupts())
    else:
        try:
            return act(asked)
        except Interrupted:
            if verb != "wait":
                raise
            for name in ("until", "forever", "timeout-ms"):
                options.pop(name, None)
            options["until"] = 0.0
            told = {**act(asked)[0], "interrupted": True}
    if "exit-code" in options:
        return told, exit_code(told)
    return told, 0 if told["ok"] else 1


def _is_near(url: str) -> bool:
    """True if a server is on this machine, as far as its URL says."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        return parts.scheme == "http+unix" or host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _token(asked: "Parsed", url: str, *, near: bool) -> str:
    """Return the token for a server; our own is shown to servers on this machine only."""
    if "token-file" in asked.options:
        return token_of_file(os.path.abspath(asked.options["token-file"]), str(asked.verb), make=False)
    if token := os.environ.get("AGENT_EXEC_TOKEN"):
        return token
    if not near:
        raise UsageError(
            f"a token for {url} is needed; set AGENT_EXEC_TOKEN, or name a file with --token-file", asked.verb
        )
    return token_of_file(os.path.abspath(token_place()), str(asked.verb), make=False)


def _begin(asked: "Parsed", jobs: "RemoteJobs", interrupts: Interrupts) -> "dict[str, Any]":
    """Begin a job, and watch it."""
    verb, options = str(asked.verb), asked.options
    observe = observation(asked)
    refuse_both(asked, ("stdin", "stdin-file"))
    for name in options:
        if name not in _ALSO and name not in _FIELDS:
            raise UsageError(f"--{name} works without --server only; leave it out", verb)
    environment = environment_of(asked, None, interrupts)
    given = {name: os.fsdecode(environment.values[os.fsencode(name)]) for name in environment.given}
    fields: dict[str, Any] = {
        "env": given or None,
        "stdin": _input(asked, interrupts, taken=verb in ("run", "create")),
    }
    if verb in ("run", "create"):
        fields |= _order(asked)
    elif "signal" in options:
        fields["signal"] = options["signal"]
    if verb in ("start", "restart"):
        fields["job"] = job_of(asked)
    if verb != "create":
        fields["tail_lines"] = options.get("tail-lines", defaults.TAIL_LINES)
        fields["max_bytes"] = options.get("max-bytes", defaults.MAX_BYTES)
    once = jobs.once(os.urandom(16).hex())
    try:
        told = once.begin(verb, fields, observe, interrupts)
    except Interrupted:
        told = {**once.begin(verb, fields, min(observe or MOMENT, MOMENT), None), "interrupted": True}
    if environment.shown and "job_id" in told:
        told["env_vars"] = environment.shown
    if verb == "run" and fields["stdin"] is None and has_unread_pipe():
        warn(asked, "the command does not get what is piped in here; add --stdin - to pass it on")
    return told


def _order(asked: "Parsed") -> "dict[str, Any]":
    """Return what is asked of a new job, by the names of a server."""
    options = asked.options
    fields = {field: options[name] for name, field in _FIELDS.items() if name in options}
    if "timeout" in fields:
        fields["timeout"] = fields["timeout"] or None
    if "shell" in options and "shell-wrapper" not in options:
        command_of(asked)
        fields["line"] = asked.words[0]  # for the shell of the server
    else:
        fields["argv"] = command_of(asked)
    if "cwd" in options:
        fields["cwd"] = options["cwd"] if asked.far else os.path.abspath(options["cwd"])
    elif not asked.far:
        fields["cwd"] = here()
    if "priority" in options:
        try:
            fields["priority"] = int(options["priority"])
        except ValueError:
            raise UsageError(
                f"--priority takes a whole number; got {options['priority']!r}", asked.verb
            ) from None
    if "stop-after" in options:
        from agent_exec.apps.cli.readiness import idle

        fields["stop_after_idle"] = idle(options["stop-after"])
    return fields


def _input(asked: "Parsed", interrupts: Interrupts, *, taken: bool) -> "bytes | None":
    """Return the input that the options give; `taken` if a file that is redirected here is one, too."""
    from agent_exec.jobs.stdin import too_large
    from agent_exec.logs.folders import chunks, open_own_file

    options = asked.options
    given = options.get("stdin")
    most = min(options.get("stdin-max-bytes", _MOST_INPUT), _MOST_INPUT)
    if given is None and "stdin-file" not in options and not (taken and redirected()):
        return None
    if given == "-" and os.isatty(0):
        raise InputRequired("--stdin - reads a pipe or a file, and standard input is a terminal; pipe it in")
    data = b""
    if given not in (None, "-"):
        data = os.fsencode(given)
    else:
        fd = open_own_file(options["stdin-file"], None) if "stdin-file" in options else os.dup(0)
        try:
            for chunk in chunks(fd, interrupts):
                data += chunk
                if len(data) > most:
                    break
        finally:
            os.close(fd)
    if len(data) > most:
        raise too_large("the input", most, "put it into a file where the server is, and have it read there")
    return data
