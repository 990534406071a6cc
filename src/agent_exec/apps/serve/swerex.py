"""The server protocol of SWE-ReX, so that its clients, SWE-agent among them, use this server unchanged.

`serve --compat swerex` has these routes beside our own. The API key is a token
of ours. What fails is an answer with status 511, which the client raises; a
request id is an idempotency key, for every request of the last ones.
"""

import asyncio
import os
from collections import OrderedDict
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve.files import opened, write
from agent_exec.apps.serve.operation import Exchange
from agent_exec.apps.serve.problems import HttpError
from agent_exec.apps.serve.swerex_errors import STATUS, SwerexError, of_ours
from agent_exec.apps.serve.swerex_shell import PROMPT, Shell
from agent_exec.apps.serve.swerex_upload import FormError, upload
from agent_exec.apps.serve.tokens import scope_of
from agent_exec.apps.web.guard import fields
from agent_exec.engine.awaiting import in_thread
from agent_exec.model.command import Command, Limits
from agent_exec.model.errors import AgentExecError, ApprovalRequired, CommandDenied, InvalidArgument
from agent_exec.model.jsonline import dump, load
from agent_exec.model.output import Head
from agent_exec.requests.variables import secret_values
from agent_exec.tools.schema import check
from agent_exec.views.reader import mask

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from agent_exec.apps.serve.service import Service
    from agent_exec.apps.web.guard import Guard
    from agent_exec.apps.web.serving import App
    from agent_exec.tools.define import Schema

    Given = dict[str, Any]
    Answer = dict[str, Any]

KEPT = 1000
"""How many answers are remembered by the ids of their requests."""

KEPT_BYTES = 32 << 20
"""The bytes of all of them together."""

LARGEST_OUTPUT = 16 << 20
"""The bytes of each stream of a command that are returned."""

LARGEST_FILE = 64 << 20
"""The bytes of a file that can be read at once."""

_DENIED = 126
"""The exit code of a command that the rules deny: the agent reads why, and goes on."""
_MERGED = ("/bin/sh", "-c", 'exec "$0" "$@" 2>&1')
_SYNTAX = ("bash", "-n")
_SYNTAX_PATIENCE = 30.0
_JSON = b"application/json"

_TEXT: "Schema" = {"type": "string"}
_NAME: "Schema" = {"type": "string", "maxLength": 200}
_SECONDS: "Schema" = {"type": "number", "minimum": 0}
_FLAG: "Schema" = {"type": "boolean"}
_TEXTS: "Schema" = {"type": "array", "items": {"type": "string"}}
_BASH: "Schema" = {"session": _NAME, "session_type": {"type": "string", "enum": ["bash"]}}
_ACTION: "Schema" = {
    "session": _NAME,
    "timeout": _SECONDS,
    "expect": _TEXTS,
    "action_type": {"type": "string", "enum": ["bash", "bash_interrupt"]},
    "command": _TEXT,
    "is_interactive_command": _FLAG,
    "is_interactive_quit": _FLAG,
    "check": {"type": "string", "enum": ["silent", "raise", "ignore"]},
    "error_msg": _TEXT,
    "n_retry": {"type": "integer", "minimum": 0, "maximum": 100},
}
_COMMAND: "Schema" = {
    "timeout": _SECONDS,
    "shell": _FLAG,
    "check": _FLAG,
    "error_msg": _TEXT,
    "cwd": _TEXT,
    "merge_output_streams": _FLAG,
}


class Runtime:
    """What the routes do: shells by name, commands, files; any thread may call."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._sessions = service.sessions.sessions
        self._lock = Lock()
        self._shells: dict[str, Shell | None] = {}  # None is one that is being started

    def is_alive(self, _given: "Given") -> "Answer":
        """Say that the server is there."""
        return {"is_alive": True, "message": ""}

    def create_session(self, given: "Given") -> "Answer":
        """Start a shell, and source files in it."""
        name = given.get("session", "default")
        with self._lock:
            if name in self._shells:
                raise SwerexError("SessionExistsError", f"session {name!r} already exists")
            self._shells[name] = None
        try:
            shell = Shell(self._sessions, name)
        except BaseException:
            with self._lock:
                del self._shells[name]
            raise
        with self._lock:
            self._shells[name] = shell
        output = ""
        for path in given.get("startup_source", ()):
            line = f"source {path}"
            if why := self._denial(line):
                output += why
                continue
            output += shell.run(line, given.get("startup_timeout", 1.0)).output
        return {"output": output, "session_type": "bash"}

    def run_in_session(self, given: "Given") -> "Answer":
        """Run a command in a shell, type into the program that runs there, or interrupt it."""
        shell = self._shell(given.get("session", "default"))
        expect, timeout = given.get("expect", ()), given.get("timeout")
        if given.get("action_type") == "bash_interrupt":
            pressed = shell.interrupt(0.2 if timeout is None else timeout, given.get("n_retry", 3), expect)
            return _observed(pressed.output.strip(), 0, pressed.expected)
        if "command" not in given:
            raise InvalidArgument("a bash action needs a command")
        with shell.lock:
            if given.get("is_interactive_command") or given.get("is_interactive_quit"):
                return self._talk(shell, given, timeout)
            return self._run(shell, given, timeout)

    def close_session(self, given: "Given") -> "Answer":
        """End a shell."""
        name = given.get("session", "default")
        shell = self._shell(name)
        with self._lock:
            self._shells.pop(name, None)
        shell.close(self._sessions)
        return {"session_type": "bash"}

    def close(self, _given: "Given") -> "Answer":
        """End all shells; the server goes on."""
        with self._lock:
            shells = [shell for shell in self._shells.values() if shell is not None]
            self._shells.clear()
        for shell in shells:
            shell.close(self._sessions)
        return {}

    def execute(self, given: "Given") -> "Answer":
        """Run a command to its end."""
        asked, timeout = given["command"], given.get("timeout")
        words = [asked] if isinstance(asked, str) else asked
        if not words or not (given.get("shell") or words[0]):
            raise InvalidArgument("a command needs a program")
        env = given.get("env")
        cwd = self._service.folder(given)
        judged = words[0] if given.get("shell") else words
        if why := self._denial(judged, cwd, tuple(env or ())):
            return _executed(given, "", why, _DENIED)
        argv = ["/bin/sh", "-c", *words] if given.get("shell") else words
        command = Command(
            [*_MERGED, *argv] if given.get("merge_output_streams") else argv,
            cwd=cwd,
            env=env,
            keep=Head(LARGEST_OUTPUT),
            limits=Limits(timeout=timeout or None),
        )
        outcome, _ = self._service.dispatcher.run(command)
        if outcome.timed_out or timeout == 0:
            raise SwerexError("CommandTimeoutError", f"Timeout ({timeout}s) exceeded while running command")
        secrets = secret_values(os.environ)
        stdout, stderr = (
            mask(data, secrets).decode("utf-8", "backslashreplace")
            for data in (outcome.stdout, outcome.stderr)
        )
        return _executed(given, stdout, stderr, outcome.exit_code)

    def read_file(self, given: "Given") -> "Answer":
        """Return the text of a file."""
        fd = opened(self._service, given["path"])
        with os.fdopen(fd, "rb") as file:
            if os.fstat(fd).st_size > LARGEST_FILE:
                raise InvalidArgument(
                    f"{given['path']!r} has more than {LARGEST_FILE} bytes; read it in parts"
                )
            data = file.read(LARGEST_FILE)
        text = data.decode(given.get("encoding", "utf-8"), given.get("errors", "strict"))
        return {"content": text.replace("\r\n", "\n").replace("\r", "\n")}

    def write_file(self, given: "Given") -> "Answer":
        """Write a text to a file."""
        data = given["content"].encode("utf-8", "surrogateescape")
        write(self._service, given["path"], iter((data,)), data[:4096])
        return {}

    def _shell(self, name: str) -> Shell:
        with self._lock:
            shell = self._shells.get(name)
        if shell is None:
            raise SwerexError("SessionDoesNotExistError", f"session {name!r} does not exist")
        return shell

    def _denial(
        self, command: "list[str] | str", cwd: str | None = None, env_names: "tuple[str, ...]" = ()
    ) -> str:
        """Return why the rules do not let a command run, as a program would print it; empty if they do."""
        if isinstance(command, str) and not command.strip():
            return ""
        try:
            self._service.gate.admit(command, cwd, env_names)
        except (CommandDenied, ApprovalRequired) as error:
            return f"agent-exec: {error.message}\n"
        return ""

    def _run(self, shell: Shell, given: "Given", timeout: float | None) -> "Answer":
        command = given["command"]
        checking = given.get("check", "raise")
        self._check_syntax(command)
        if why := self._denial(command):
            output, expected = why, PROMPT
            code: int | None = _DENIED
        else:
            found = shell.run(command, timeout, given.get("expect", ()))
            output, expected = found.output + _changed(shell), found.expected
            if found.exit_code is None and checking == "raise":
                raise SwerexError("NoExitCodeError", f"{command!r} still runs, so it has no exit code yet")
            code = found.exit_code
        if checking == "ignore":
            return _observed(output, None, expected)
        if checking == "raise" and code != 0:
            raise _failed(given, f"Command {command!r} failed with exit code {code}. Output:\n{output!r}")
        return _observed(output, code, expected)

    def _talk(self, shell: Shell, given: "Given", timeout: float | None) -> "Answer":
        command = given["command"]
        if not shell.is_busy and (why := self._denial(command)):
            return _observed(why, _DENIED, PROMPT)
        found = shell.talk(command, timeout, given.get("expect", ()))
        output = found.output
        if given.get("is_interactive_quit"):
            shell.quiet()
        else:
            output = output.lstrip().removeprefix(command).strip()
        return _observed(output, 0, found.expected)

    def _check_syntax(self, command: str) -> None:
        """Raise for what is no command of bash, before anything of it is run."""
        checked = Command(
            _SYNTAX, stdin=command.encode("utf-8", "surrogateescape"), cwd=self._sessions.workspace
        )
        outcome, _ = self._service.dispatcher.run(
            checked.replace(limits=Limits(timeout=_SYNTAX_PATIENCE), keep=Head(1 << 16))
        )
        if outcome.exit_code == 0:
            return
        stdout, stderr = outcome.stdout_text, outcome.stderr_text
        raise SwerexError(
            "BashIncorrectSyntaxError",
            f"bash cannot parse the command {command!r}: {stderr or stdout}",
            extra={"bash_stdout": stdout, "bash_stderr": stderr},
        )


def _changed(shell: Shell) -> str:
    """Return what became of protected paths meanwhile, for the agent to read; empty if nothing did."""
    changes = shell.session.changes()
    if not changes:
        return ""
    from agent_exec.sandbox.report.report import said

    return f"agent-exec: {said(changes)}\n"


def _observed(output: str, exit_code: int | None, expected: str) -> "Answer":
    return {
        "output": output,
        "exit_code": exit_code,
        "failure_reason": "",
        "expect_string": expected,
        "session_type": "bash",
    }


def _executed(given: "Given", stdout: str, stderr: str, exit_code: int | None) -> "Answer":
    if given.get("check") and exit_code != 0:
        told = f"Command {given['command']!r} failed with exit code {exit_code}."
        raise _failed(given, f"{told} Stdout:\n{stdout!r}\nStderr:\n{stderr!r}")
    return {"stdout": stdout, "stderr": stderr, "exit_code": exit_code}


def _failed(given: "Given", message: str) -> SwerexError:
    said = given.get("error_msg")
    return SwerexError("NonZeroExitCodeError", f"{said}: {message}" if said else message)


def _route(
    method: str, fields: "Schema", required: "tuple[str, ...]" = (), *, reads: bool = False
) -> "tuple[str, Schema, bool]":
    return method, {"type": "object", "properties": fields, "required": list(required)}, reads


ROUTES = {
    "is_alive": _route("GET", {}, reads=True),
    "create_session": _route("POST", {**_BASH, "startup_source": _TEXTS, "startup_timeout": _SECONDS}),
    "run_in_session": _route("POST", _ACTION),
    "close_session": _route("POST", _BASH),
    "execute": _route("POST", {**_COMMAND, "command": {}, "env": {}}, ("command",)),
    "read_file": _route("POST", {"path": _TEXT, "encoding": _TEXT, "errors": _TEXT}, ("path",), reads=True),
    "write_file": _route("POST", {"path": _TEXT, "content": _TEXT}, ("path", "content")),
    "upload": _route("POST", {}),
    "close": _route("POST", {}),
    "": _route("GET", {}, reads=True),
}
"""The method, the schema of the body, and whether it only reads, by the paths."""


class Swerex:
    """The routes of the protocol; requests for other paths are for `rest`."""

    def __init__(self, service: "Service", guard: "Guard", token: str, rest: "App") -> None:
        self._service = service
        self._runtime = Runtime(service)
        self._guard = guard
        self._token = token
        self._rest = rest
        self._answers: OrderedDict[str, tuple[str, asyncio.Future[tuple[int, bytes]]]] = OrderedDict()
        self._kept = 0

    async def close(self) -> None:
        """End all that runs."""
        await self._rest.close()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        name = scope["path"].strip("/")
        keys = fields(scope, "x-api-key") if scope["type"] == "http" else []
        if scope["type"] != "http" or name not in ROUTES or (scope["path"] == "/" and not keys):
            await self._rest(scope, receive, send)
            return
        allowed = scope_of(self._token, keys[0]) if len(keys) == 1 else None
        if not keys:
            await self._guard.refuse(403, "Not authenticated", scope, receive, send)
            return
        if not await self._guard.admit(
            scope, receive, send, token=allowed is not None, without="Invalid API Key"
        ):
            return
        assert allowed is not None
        method, schema, reads = ROUTES[name]
        if allowed.job or (allowed.read_only and not reads):
            await self._guard.refuse(403, "this token does not allow that; use another", scope, receive, send)
            return
        if scope["method"] != method:
            await self._guard.refuse(405, f"/{name} takes {method}", scope, receive, send)
            return
        if name == "upload":
            await _send(send, *await self._upload(Exchange(scope, receive, send, allowed)))
            return
        body = await self._guard.body(scope, receive, send)
        if body is None:
            return
        try:
            given = check(name or "/", schema, _object(body))
            _check_command(name, given)
        except InvalidArgument as error:
            await _send(send, 422, _encoded({"detail": error.message}))
            return
        ids = fields(scope, "x-request-id")
        if not ids:
            status, answer = await self._answer(name, given)
        else:
            status, answer = await self._once(ids[0][:200], name, body, given)
        await _send(send, status, answer)

    async def _once(self, key: str, name: str, body: bytes, given: "Given") -> tuple[int, bytes]:
        """Carry a request out, unless one with its id was, or is under way: that one's answer is returned."""
        digest = sha256(name.encode() + b"\0" + body).hexdigest()
        known = self._answers.get(key)
        if known is not None and known[0] != digest:
            error = SwerexError("ValueError", "another request had this X-Request-ID", module="builtins")
            return STATUS, _encoded(error.answer())
        if known is None:
            # A task of its own: it goes on if the client hangs up, and its answer waits for the next try.
            future = asyncio.ensure_future(self._answer(name, given))
            known = self._answers[key] = digest, future
            future.add_done_callback(self._keep)
        return await asyncio.shield(known[1])

    def _keep(self, future: "asyncio.Future[tuple[int, bytes]]") -> None:
        """Forget the oldest answers beyond the bounds, never those that are still to come."""
        if not future.cancelled():
            self._kept += len(future.result()[1])
        for key, (_, one) in list(self._answers.items()):
            if len(self._answers) <= KEPT and self._kept <= KEPT_BYTES:
                return
            if one.done() and one is not future:
                self._kept -= 0 if one.cancelled() else len(one.result()[1])
                del self._answers[key]

    async def _answer(self, name: str, given: "Given") -> tuple[int, bytes]:
        if not name:
            return 200, _encoded({"message": "hello world"})
        act: Callable[[Given], Answer] = getattr(self._runtime, name)

        def call() -> "Answer":
            return act(given)

        try:
            return 200, _encoded(await in_thread(call, lambda: None))
        except (AgentExecError, HttpError, SwerexError, OSError, UnicodeError, LookupError) as error:
            return STATUS, _encoded(of_ours(error).answer())

    async def _upload(self, exchange: Exchange) -> tuple[int, bytes]:
        try:
            await upload(self._service, exchange)
            return 200, _encoded({})
        except (AgentExecError, FormError, HttpError, SwerexError, OSError) as error:
            if not exchange.received:
                await self._guard.drain(exchange.scope, exchange.receive)
            if isinstance(error, FormError):
                return 422, _encoded({"detail": str(error)})
            return STATUS, _encoded(of_ours(error).answer())


def _object(body: bytes) -> "Given":
    try:
        found = load(body.decode().strip()) if body.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"the body must be an object of JSON; {error}") from None
    found = {} if found is None else found
    if not isinstance(found, dict):
        raise InvalidArgument("the body must be an object of JSON")
    return {name: value for name, value in found.items() if value is not None}


def _check_command(name: str, given: "Given") -> None:
    """Raise for a command that is neither a text nor texts, and for variables that are no texts."""
    if name != "execute":
        return
    command, env = given["command"], given.get("env", {})
    if not isinstance(command, str | list) or not all(isinstance(word, str) for word in command):
        raise InvalidArgument("command must be a string or a list of strings")
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise InvalidArgument("env must be an object of strings")


def _encoded(answer: "Answer") -> bytes:
    return dump(answer).encode("utf-8", "backslashreplace")


async def _send(send: "Send", status: int, body: bytes) -> None:
    head = [
        (b"content-type", _JSON),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


def refusal(status: int, message: str) -> "ASGIApp":
    """Return an application that refuses a request, as servers of the protocol do."""

    async def refuse(_scope: "Scope", _receive: "Receive", send: "Send") -> None:
        await _send(send, status, dump({"detail": message}).encode())

    return refuse
