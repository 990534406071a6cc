"""The steps from a call of a model to an answer: shell, escalation, patch, policy, sandbox, spawn, wait."""

import os
from time import monotonic
from weakref import WeakKeyDictionary

from agent_exec.engine.engine import Engine
from agent_exec.faces.session import environment, shells
from agent_exec.faces.session.answer import Answer, new_chunk_id
from agent_exec.faces.session.failures import (
    ToolFailure,
    aborted_exec,
    aborted_write,
    escalation_refused,
    exec_failed,
    process_failed,
    spawn_failed,
    stdin_closed,
    unknown_session,
    write_failed,
)
from agent_exec.faces.session.pipeline import Pipelines
from agent_exec.faces.session.rendering import View
from agent_exec.faces.session.truncate import cut_middle, shown, token_count
from agent_exec.model.command import Command, Terminal
from agent_exec.model.errors import AgentExecError, ApprovalRequired, CommandDenied, InputClosed
from agent_exec.model.limits import Limits
from agent_exec.model.output import Head
from agent_exec.sessions.registry import Registry
from agent_exec.sessions.session import Session, told
from agent_exec.sessions.transcript import Transcript
from agent_exec.sessions.wanted import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from agent_exec.engine.gate import Gate
    from agent_exec.faces.patch.answer import Applied
    from agent_exec.faces.session.arguments import Condition, ExecArguments, Terms, WriteArguments
    from agent_exec.sandbox.plan import Plan
    from agent_exec.sandbox.profile import Profile
    from agent_exec.sessions.session import Ending

    class Cancelled(Protocol):
        """Whether the caller has lost interest."""

        def is_set(self) -> bool:
            """Tell whether it has."""


INTERRUPT = b"\x03"
GRACE = 2.0
_SLICE = 0.25
"""How often it is asked whether the caller is still there."""

_LAST_SEEN = 4000
_MOST_SHELLS = 100


class Sessions:
    """The sessions of one server, and the terms on which they run; any thread may call."""

    def __init__(
        self,
        workspace: str,
        folder: str,
        terms: "Terms",
        gate: "Gate",
        *,
        sandbox: "Profile | None" = None,
        policy: environment.EnvironmentPolicy | None = None,
        limit: int = 64,
        environ: "Mapping[str, str] | None" = None,
    ) -> None:
        self.workspace = workspace
        self.terms = terms
        self.registry = Registry(folder, limit)
        self._pipelines = Pipelines(folder)
        self._shells: dict[str | None, shells.Shell] = {}
        self._built: dict[bool, tuple[Mapping[str, str], dict[str, str]]] = {}
        self._gate = gate
        self._sandbox = sandbox
        self._policy = policy
        self._environ = dict(os.environ if environ is None else environ)
        self._engine = Engine(slots=limit + 64)
        self._views: WeakKeyDictionary[Session, View] = WeakKeyDictionary()
        self._plans: WeakKeyDictionary[Session, Plan] = WeakKeyDictionary()
        self._login: dict[shells.Shell, dict[str, str]] = {}

    def execute(self, asked: "ExecArguments", cancelled: "Cancelled | None" = None) -> Answer:
        """Run a command; answer when it has ended, when there is something to say, or when time is up."""
        began = monotonic()
        shell = self._shell(asked.shell)
        argv = shells.argv(shell, asked.cmd, asked.login)
        cwd = self._folder(asked.workdir)
        number = self.registry.reserve()
        try:
            escalated = self._escalates(asked)
            patched = self._intercept(argv, cwd)
            if patched is not None:
                self.registry.free(number)
                return patched
            self._admit(asked, argv, cwd, escalated=escalated)
            session = self._start(number, asked, shell, argv, cwd, confined=not escalated)
        except BaseException:
            self.registry.free(number)
            raise
        with session.turn:
            return self._answer(
                session,
                asked.yield_seconds,
                asked.wait_for,
                asked.max_output_tokens,
                None,
                began,
                cancelled,
                first=True,
            )

    def write(self, asked: "WriteArguments", cancelled: "Cancelled | None" = None) -> Answer:
        """Type into a session, or only look at it; answer as `execute` does."""
        began = monotonic()
        session = self.find(asked.session_id, "write_stdin")
        with session.turn:
            if asked.chars and not session.ended:
                self._type(session, asked)
            return self._answer(
                session,
                asked.yield_seconds,
                asked.wait_for,
                asked.max_output_tokens,
                asked.render,
                began,
                cancelled,
            )

    def kill(self, number: int) -> Answer:
        """End a session: politely, then by force, with all that it has started."""
        session = self.find(number, "kill_session")
        began = monotonic()
        if not session.ended:  # whoever waits for it is not waited for
            session.stop()
            session.run.wait()
        with session.turn:
            return self._answer(session, 1.0, (), self.terms.max_output_tokens, None, began, None)

    def resize(self, number: int, rows: int, columns: int) -> None:
        """Give a session's terminal another size."""
        session = self.find(number, "resize")
        if not session.command.tty:
            raise ToolFailure("resize failed: this session has no terminal; rerun exec_command with tty=true")
        if not session.ended:
            session.run.resize(rows, columns)
        self._views[session].resize(rows, columns)

    def end_input(self, number: int) -> None:
        """Tell a session's program that no more input comes."""
        session = self.find(number, "close_stdin")
        if not session.command.tty:
            raise stdin_closed("close_stdin")
        if not session.ended:
            session.run.end_input()

    def read(self, number: int, start: int, most: int) -> "tuple[Session, int, bytes]":
        """Give some of what a session has printed again."""
        session = self.find(number, "read_output")
        return session, *session.read(start, most)

    def patch(self, text: str, workdir: str | None) -> "Applied":
        """Apply a patch below a folder of the workspace; give what it has done."""
        from agent_exec.faces.patch.answer import apply_patch

        cwd = self._folder(workdir)
        inside, protected = self._writable()
        return apply_patch(text, cwd=cwd, inside=inside, protected=protected)

    def close(self) -> None:
        """End every session, and wait until nothing of them is left."""
        left = self.registry.close()
        for session in left:
            session.stop()
        self._engine.close()
        for session in left:
            session.close()

    def _shell(self, word: str | None) -> shells.Shell:
        """Give the shell that a word means, or the user's; looked for once, while it is there."""
        found = self._shells.get(word)
        if found is None or not os.path.exists(found.path):
            found = shells.user_shell() if word is None else shells.named_shell(word)
            if len(self._shells) < _MOST_SHELLS:
                self._shells[word] = found
        return found

    def _folder(self, workdir: str | None) -> str:
        return os.path.join(self.workspace, workdir) if workdir else self.workspace

    def find(self, number: int, tool: str) -> Session:
        """Give a session that runs, or one that has ended and is remembered; raise if there is none."""
        session = self.registry.find(number)
        if session is None:
            raise unknown_session(number, tool)
        return session

    def _escalates(self, asked: "ExecArguments") -> bool:
        """Say whether it asks to run without the sandbox; raise if nobody may be asked for that."""
        if asked.sandbox_permissions != "require_escalated":
            return False
        if self._gate.approval != "on-request" or not self._gate.can_ask:
            raise escalation_refused(self._gate.approval)
        return True

    def _intercept(self, argv: "list[str]", cwd: str) -> Answer | None:
        """Apply a patch that the command would apply, instead of running it."""
        from agent_exec.faces.patch.detect import intercept
        from agent_exec.faces.patch.errors import PatchError

        try:
            found = intercept(argv)
            if found is None:
                return None
            text = self.patch(found.patch, found.directory(cwd)).text
        except PatchError as error:
            raise ToolFailure(error.message) from None
        body = f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{text}"
        return Answer(output=body, wall_time_seconds=0.0)

    def _admit(self, asked: "ExecArguments", argv: "list[str]", cwd: str, *, escalated: bool) -> None:
        """Have it judged, then ask if it is to run without the sandbox: what is denied is not asked for."""
        try:
            self._gate.admit(asked.cmd, cwd, proposed=asked.prefix_rule)
        except (ApprovalRequired, CommandDenied) as error:
            raise exec_failed(argv, error.message) from None
        if not escalated:
            return
        try:
            self._gate.ask(asked.cmd, cwd, asked.justification or "it asks for more than the sandbox allows")
        except ApprovalRequired:
            raise exec_failed(argv, 'CreateProcess { message: "Rejected(\\"rejected by user\\")" }') from None

    def _start(
        self,
        number: int,
        asked: "ExecArguments",
        shell: shells.Shell,
        argv: "list[str]",
        cwd: str,
        *,
        confined: bool,
    ) -> Session:
        environ = self._environ
        if asked.login and self.terms.capture_login and shell.kind in shells.POSIX_KINDS:
            from agent_exec.faces.session.login import as_nonlogin

            environ, argv = self._logged_in(shell), as_nonlogin(argv)
        screen = asked.tty and asked.render == "screen"
        command = Command(
            argv,
            cwd=cwd,
            env=self._variables(number, asked, shell, environ, screen=screen, confined=confined),
            tty=asked.tty,
            size=Terminal(asked.rows, asked.columns),
            keep=Head(0),
            limits=Limits(timeout=asked.timeout, grace=GRACE),
        )
        session = Session(
            number,
            command,
            Transcript(self.registry.folder(number)),
            asked.cmd,
            separate=asked.separate_streams,
        )
        try:
            plan = self._plan() if confined and self._sandbox is not None else None
            session.start(self._engine, plan)
        except AgentExecError as error:
            raise spawn_failed(argv, error.message) from None
        self._views[session] = View(asked.render, asked.rows, asked.columns, tty=asked.tty)
        if plan is not None:
            self._plans[session] = plan
        if asked.idle_timeout is not None:
            session.end_when_idle(asked.idle_timeout)
        doomed = self.registry.keep(session)
        if doomed is not None:
            self._give_up(doomed)
        return session

    def _variables(
        self,
        number: int,
        asked: "ExecArguments",
        shell: shells.Shell,
        environ: "Mapping[str, str]",
        *,
        screen: bool,
        confined: bool,
    ) -> dict[str, str]:
        known = self._built.get(screen)
        if known is None or known[0] is not environ:  # the same for every command, as a rule
            known = self._built[screen] = environ, environment.build(environ, self._policy, screen=screen)
        found = known[1] | {environment.SESSION_ID: str(number)}
        if confined and self._sandbox is not None:
            return found  # from a box, nothing can be written down for us
        return found | self._pipelines.variables(asked.cmd, shell, found)

    def _give_up(self, session: Session) -> None:
        """End a session that had to make room."""
        if not session.ended:
            session.run.kill()
            session.run.wait()
        self.registry.retire(session)

    def _type(self, session: Session, asked: "WriteArguments") -> None:
        if not session.command.tty:
            if asked.data() != INTERRUPT:
                raise stdin_closed()
            session.run.signal("INT")
            return
        try:
            session.type(asked.data(self._views[session].application_keys))
        except InputClosed:
            if not session.ended:
                raise write_failed() from None

    def _answer(
        self,
        session: Session,
        seconds: float,
        conditions: "tuple[Condition, ...]",
        tokens: int,
        render: str | None,
        began: float,
        cancelled: "Cancelled | None",
        *,
        first: bool = False,
    ) -> Answer:
        """Wait, take what is new, and tell it."""
        regex = next((one.regex for one in conditions if one.kind == "match"), None)
        session.look_for(regex)
        try:
            ending = self._wait(session, began + seconds, _wanted(conditions), cancelled)
        finally:
            session.look_for(None)
        if cancelled is not None and cancelled.is_set() and ending.cause == "deadline":
            waited = monotonic() - began  # what was printed is left for the next answer
            raise aborted_exec(waited) if first else aborted_write(waited)
        if session.error is not None:
            if not session.transcript.total:
                self.registry.forget(session)
                raise spawn_failed([str(word) for word in session.command.argv], told(session.error))
            self.registry.retire(session)
            raise process_failed(told(session.error))
        outcome = session.outcome  # before the output: what comes in between is for the next answer
        again = outcome is not None and session.seen_to_end
        taken = session.take()
        text = self._views[session].show(session, taken, render)
        if again and not text:
            _, data = session.read(max(0, session.transcript.total - _LAST_SEEN), _LAST_SEEN)
            text = self._views[session].again(data)
        observed = token_count(taken.end - taken.start)
        waits = ending.cause == "input" and outcome is None
        answer = Answer(
            output=shown(text, tokens, original_tokens=observed, omitted=taken.omitted),
            wall_time_seconds=monotonic() - began,
            chunk_id=new_chunk_id(),
            exit_code=None if outcome is None else outcome.exit_code,
            session_id=session.number if outcome is None else None,
            original_token_count=observed,
            awaiting_input=waits,
            evidence=ending.evidence if waits else None,
            echo=ending.echo if waits else None,
            signal=None if outcome is None else outcome.signal,
            timed_out=outcome is not None and outcome.timed_out,
            omitted=_omitted(taken),
            notes=self._notes(session, text, again=again),
            streams=_within(session.take_streams(), tokens),
            cursor=taken.end,
        )
        if outcome is not None:
            session.seen_to_end = True
            self.registry.retire(session)
        return answer

    def _wait(
        self, session: Session, deadline: float, wanted: Wanted, cancelled: "Cancelled | None"
    ) -> "Ending":
        while True:
            left = max(0.0, deadline - monotonic())
            ending = session.wait(left if cancelled is None else min(left, _SLICE), wanted)
            if ending.cause != "deadline" or left <= _SLICE or cancelled is None or cancelled.is_set():
                return ending

    def _notes(self, session: Session, text: str, *, again: bool) -> list[str]:
        notes = []
        if again:
            notes.append("this session had ended already; its last output is shown again")
        elif session.outcome is not None and "|" in session.text:
            masked = self._pipelines.note(session.number, session.outcome.exit_code)
            notes += [masked] if masked else []
        plan = self._plans.get(session)
        if plan is not None and session.outcome is not None and plan.backend:
            from agent_exec.sandbox.denials import denials, human

            found = denials(plan, text, str(session.command.cwd))
            if found:
                notes.append(human(found))
        return notes

    def _plan(self) -> "Plan":
        """Give the plan of the sandbox as things stand now."""
        assert self._sandbox is not None
        return self._engine.warm(self._sandbox, 0)

    def _writable(self) -> "tuple[list[str] | None, tuple[str, ...]]":
        """Give the folders that a patch may write to, and what in them it may not; None if anywhere."""
        if self._sandbox is None:
            return [self.workspace], ()
        plan = self._plan()
        if not plan.backend:
            return None, ()
        return [root.path for root in plan.roots], (*plan.protected, *plan.missing)

    def _logged_in(self, shell: shells.Shell) -> dict[str, str]:
        """Give the variables that a login shell makes, taken once."""
        if shell not in self._login:
            from agent_exec.engine.engine import run
            from agent_exec.faces.session.login import capture

            env = environment.build(self._environ, self._policy)
            self._login[shell] = capture(
                shell, lambda argv: run(argv, env=env, cwd=self.workspace, timeout=30).stdout
            )
        return self._login[shell]


def _wanted(conditions: "tuple[Condition, ...]") -> Wanted:
    found = {condition.kind: condition for condition in conditions}
    return Wanted(
        only_exit=set(found) == {"exit"},
        output="output" in found,
        idle=found["idle"].seconds if "idle" in found else None,
        port=found["port"].port if "port" in found else None,
    )


def _within(streams: "dict[str, str] | None", tokens: int) -> "dict[str, str] | None":
    """Give each stream within the budget."""
    return None if streams is None else {name: cut_middle(text, tokens) for name, text in streams.items()}


def _omitted(taken: object) -> "list[tuple[int, int]]":
    from agent_exec.sessions.transcript import Taken

    assert isinstance(taken, Taken)
    if not taken.omitted:
        return []
    start = taken.start + len(taken.head)
    return [(start, start + taken.omitted)]
