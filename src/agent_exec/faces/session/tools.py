"""The tools of sessions: their definitions, and one method for each."""

import os

from agent_exec.faces.session.answer import gone, show_of
from agent_exec.faces.session.arguments import (
    check_size,
    parse,
    parse_exec,
    parse_id,
    parse_read,
    parse_view,
    parse_write,
)
from agent_exec.faces.session.definitions import ASKING, USUAL, definitions, instructions
from agent_exec.faces.session.failures import ToolFailure, failure
from agent_exec.faces.session.running import Sessions, check_keyboard
from agent_exec.faces.session.storage import Storage
from agent_exec.model.cancel import check_cancel
from agent_exec.model.errors import AgentExecError
from agent_exec.model.output import unfinished
from agent_exec.model.visible import visible
from agent_exec.patch.journal import recover
from agent_exec.places import here
from agent_exec.requests.dispatch import Dispatcher
from agent_exec.requests.opening import IN_FORCE
from agent_exec.sessions.registry import Registry
from agent_exec.tools.tool import Call, Result, shows_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Self

    from agent_exec.faces.session.answer import Answer
    from agent_exec.faces.session.definitions import Terms
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.choices import ApprovalPolicy, Sink
    from agent_exec.requests.arguments import Approver, Rules
    from agent_exec.requests.gate import Gate
    from agent_exec.sandbox.profile import Profile
    from agent_exec.sessions.session import Session
    from agent_exec.sessions.sharing.share import Share
    from agent_exec.views.wanted import View


class SessionTools:
    """All tools of sessions; any thread may call, many at once."""

    name = "session"

    def __init__(self, sessions: Sessions, storage: Storage) -> None:
        self.sessions = sessions
        self._storage = storage
        self._tools: dict[str, Callable[[object, Cancel | None], Result]] = {
            "exec_command": self._exec,
            "write_stdin": self._write,
            "read_output": self._read,
            "list_sessions": self._list,
            "kill_session": self._kill,
            "resize": self._resize,
            "close_stdin": self._close_stdin,
            "detach": self._detach,
            "apply_patch": self._patch,
        }

    def definitions(self) -> "list[dict[str, Any]]":
        """Return the definition of each tool."""
        escalates = self.sessions.can_escalate
        told = definitions(
            self.sessions.terms,
            sandbox=None if escalates else self.sessions.sandbox,
            detaches=self.sessions.jobs is not None,
        )
        if self.sessions.terms.brief and not escalates:  # they would be refused
            for name in ASKING:
                told["exec_command"]["parameters"]["properties"].pop(name, None)
        return list(told.values())

    @property
    def instructions(self) -> str:
        """The text about all tools for a model, and where its commands run."""
        sessions = self.sessions
        return instructions(sessions.workspace, sessions.sandbox, escalates=sessions.can_escalate)

    def call(self, name: str, given: object, cancelled: "Cancel | None" = None) -> Result:
        """Call a tool; errors are results too. Once `cancelled` is set, a call that waits returns."""
        try:
            return self.perform(name, given, cancelled)
        except ToolFailure as error:
            return Result(error.message, is_error=True)
        except AgentExecError as error:
            return Result(f"{name} failed: {error.message}", is_error=True)

    def perform(self, name: str, given: object, cancelled: "Cancel | None" = None) -> Result:
        """Call a tool as `call` does; raise an AgentExecError for what goes wrong."""
        check_cancel(cancelled)
        tool = self._tools.get(name)
        if tool is None:
            raise ToolFailure(f"there is no tool {name!r}; there are {', '.join(self._tools)}")
        return tool(given, cancelled)

    async def acall(self, name: str, given: object) -> Result:
        """Call a tool as `call` does, and await its answer, under asyncio or trio.

        If the task is cancelled, the call returns early; a session that this
        call has started is killed, since its number is lost. The cancellation
        is raised again when that is done.
        """
        from agent_exec.engine.awaiting import in_thread

        cancel = Call()

        def call() -> Result:
            answer = self.call(name, given, cancel)
            if cancel.is_set() and name == "exec_command" and cancel.what:
                session_id = int(cancel.what.rpartition(" ")[2])
                self.call("kill_session", {"session_id": session_id})
            return answer

        return await in_thread(call, cancel.set)

    def record(self, session_id: int, file: "Sink") -> None:
        """Write what a session has printed as an asciicast, version 2, to a file opened for text."""
        self.sessions.find(session_id, "record").record(file)

    def picture(self, session_id: int) -> str:
        """Return a picture of a session's last screen, as SVG."""
        return self.sessions.find(session_id, "picture").picture()

    def close(self) -> None:
        """End every session, and remove their files."""
        self.sessions.close()
        self._storage.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exec(self, given: object, cancelled: "Cancel | None") -> Result:
        asked = parse_exec(given, self.sessions.terms, patient=shows_progress(cancelled))
        if self.sessions.share is not None and isinstance(cancelled, Call):
            self.sessions.share.client = cancelled.client
        return _result(self.sessions.execute(asked, cancelled))

    def _write(self, given: object, cancelled: "Cancel | None") -> Result:
        asked = parse_write(given, self.sessions.terms, patient=shows_progress(cancelled))
        return _result(self.sessions.write(asked, cancelled))

    def _kill(self, given: object, cancelled: "Cancel | None") -> Result:
        return _result(self.sessions.kill(parse_id(given), cancelled))

    def _read(self, given: object, _cancelled: "Cancel | None") -> Result:
        number, offset, most = parse_read(given)
        view = parse_view(given)
        session = self.sessions.find(number, "read_output")
        if view is not None:
            return self._view(session, view, offset, most)
        start, data = session.read(offset, most)
        half = unfinished(data)
        if half < len(data) and not (session.ended and start + len(data) == session.transcript.total):
            data = data[: len(data) - half]  # the rest of the character is given with what follows
        told = {
            "session_id": number,
            "from": start,
            "to": start + len(data),
            "size": session.transcript.total,
            "output": data.decode(errors="replace"),
        }
        said = [f"Bytes {start} to {start + len(data)} of {told['size']}"]
        gaps = session.gaps()
        if gaps:
            told |= {"output_complete": False, "dropped": [{"from": at, "to": end} for at, end in gaps]}
            said += [f"Note: {gone(*gap)}" for gap in gaps]
        return Result("\n".join([*said, "Output:", str(told["output"])]), told)

    def _view(self, session: "Session", view: "View", start: int, most: int) -> Result:
        end = session.transcript.total
        start = min(int(view.cursor) if view.kind == "since" else start, end)
        output = show_of(session, view, start, end, most).text
        told = {"session_id": session.number, "from": start, "to": end, "size": end, "output": output}
        return Result(f"Bytes {start} to {end}\nOutput:\n{output}", told)

    def _list(self, given: object, _cancelled: "Cancel | None") -> Result:
        parse("list_sessions", given)
        found = [_listed(one) for one in (*self.sessions.registry.live(), *self.sessions.registry.ended())]
        lines = []
        for one in found:
            state = "running" if one["running"] else "exited"
            state = f"job {one['job_id']}" if "job_id" in one else state
            lines.append(f"{one['session_id']} {state} {visible(one['cmd'])}")
        return Result("\n".join(lines) or "There are no sessions.", {"sessions": found})

    def _resize(self, given: object, _cancelled: "Cancel | None") -> Result:
        number, rows, columns = (parse("resize", given)[name] for name in ("session_id", "rows", "columns"))
        check_size(rows, columns)
        session = self.sessions.find(number, "resize")
        if not session.command.tty:
            raise failure("no_terminal", tool="resize")
        check_keyboard(session, "resize")
        session.resize(rows, columns)
        return Result(f"The terminal has {rows} rows and {columns} columns now.", {"session_id": number})

    def _close_stdin(self, given: object, _cancelled: "Cancel | None") -> Result:
        number = parse_id(given)
        session = self.sessions.find(number, "close_stdin")
        if not session.command.tty:
            raise failure("stdin_closed", tool="close_stdin")
        check_keyboard(session, "close_stdin")
        if not session.ended:
            session.run.end_input()
        return Result("The input of the session has ended.", {"session_id": number})

    def _detach(self, given: object, _cancelled: "Cancel | None") -> Result:
        number = parse_id(given)
        job_id, root = self.sessions.detach(number), self.sessions.jobs
        text = (
            f"Session {number} is job {job_id} now.\n"
            "It goes on without this server, and takes no more input. "
            f"`agent-exec tail {job_id}` shows its output, `agent-exec wait {job_id}` waits for its end, "
            f"`agent-exec kill {job_id}` ends it; if they do not find it, add --root {root}."
        )
        return Result(text, {"session_id": number, "job_id": job_id, "root": root})

    def _patch(self, given: object, _cancelled: "Cancel | None") -> Result:
        asked = parse("apply_patch", given)
        done = self.sessions.patch(asked["input"], asked.get("workdir"))
        paths = {name: list(getattr(done, name)) for name in ("added", "modified", "deleted")}
        return Result(done.text, {**paths, "output": done.text})


def open_tools(
    *,
    workspace: str | None = None,
    sandbox: "Profile | None" = None,
    rules: "Rules" = IN_FORCE,
    approver: "Approver | None" = None,
    approval_policy: "ApprovalPolicy | None" = None,
    gate: "Gate | None" = None,
    terms: "Terms | None" = None,
    limit: int = 64,
    own: "Sequence[str]" = (),
    jobs: str | None = None,
    roots: "Sequence[str]" = (),
    longest: float | None = None,
    share: "bool | str" = False,
) -> SessionTools:
    """Return the tools of sessions in a workspace, the current directory by default; close them.

    `rules`, a file of them or a Policy, judge commands; by default the user's own do, those in
    force for `agent-exec run`, and with None no rules do. `approver` is asked where they say so, as
    `approval_policy` allows ($AGENT_EXEC_APPROVAL_POLICY, what the file says, or "on-request"). A
    `gate` that is open already takes the place of the three. `sandbox` confines every command;
    `own` are more files of yours, beside the rules, that none may change then. `limit` is how many
    sessions there may be at once. `jobs` is the folder of the jobs that `detach` makes of sessions;
    without one it makes none. With `roots`, commands start and patches apply in these folders or
    the workspace, and nowhere else. No call waits longer than `longest` seconds. With `share`, people
    of the same user can watch the sessions and type into them; a text says what kind of server it is.
    """
    recover()
    storage = Storage()
    try:
        registry = Registry(storage.folder, limit)  # refuses a bad limit
        dispatcher = Dispatcher(
            rules,
            approver,
            approval_policy,
            gate=gate,
            sandbox=sandbox,
            own=own,
            hidden=(storage.folder, storage.above, *(() if jobs is None else (jobs,))),
            slots=limit + 64,
        )
        folder = os.path.realpath(workspace or here())
        sessions = Sessions(
            folder,
            terms or USUAL,
            dispatcher,
            registry,
            jobs=None if jobs is None else os.path.abspath(jobs),
            roots=roots,
            longest=longest,
            share=_share(registry, share, folder) if share else None,
        )
    except BaseException:
        storage.close()
        raise
    return SessionTools(sessions, storage)


def _share(registry: Registry, kind: "bool | str", workspace: str) -> "Share":
    from agent_exec.sessions.sharing.share import Share, check_supported

    if kind is True:
        check_supported()
    return Share(registry, "library" if kind is True else str(kind), workspace)


def _result(answer: "Answer") -> Result:
    return Result(answer.text(), answer.structured())


def _listed(session: "Session") -> "dict[str, Any]":
    told = {name: value for name, value in session.summary().items() if name != "signal"}
    return {name: value for name, value in told.items() if value is not None}
