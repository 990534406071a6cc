"""The steps from a call of a model to an answer: shell, escalation, patch, policy, sandbox, spawn, wait."""

import os
from time import monotonic

from agent_exec.faces.session.answer import Answer, excerpt, fit, token_count
from agent_exec.faces.session.arguments import ExecArguments, WriteArguments
from agent_exec.faces.session.failures import ToolFailure, failure, not_run
from agent_exec.model.command import Command, Limits, Terminal, Variables
from agent_exec.model.errors import AgentExecError, ApprovalRequired, CommandDenied, InputClosed
from agent_exec.model.output import Head
from agent_exec.model.visible import visible
from agent_exec.requests import shells, variables
from agent_exec.requests.folders import Workspace
from agent_exec.requests.shells import asked_for, may_mask
from agent_exec.sessions.session import Session
from agent_exec.sessions.transcript import Taken, Transcript
from agent_exec.sessions.wanted import NOTHING
from agent_exec.tools.tool import Retries, tally, watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.faces.session.definitions import Terms
    from agent_exec.model.cancel import Cancel
    from agent_exec.patch.apply import Applied
    from agent_exec.requests.dispatch import Dispatcher
    from agent_exec.sessions.registry import Registry
    from agent_exec.sessions.sharing.share import Share
    from agent_exec.sessions.wanted import Ending

INTERRUPT = b"\x03"
GRACE = 2.0
_REJECTED = 'CreateProcess { message: "Rejected(\\"rejected by user\\")" }'
_LOOKS = ("read_output", "record", "picture")
_LAST_SEEN = 4000
_LINE = 300
_MOST_SHELLS = 100
_AGAIN = (
    "the same call has started this session before, and its answer was not delivered; nothing was started"
)


class Sessions:
    """The sessions of one server, and the terms on which they run; any thread may call.

    `dispatcher` judges and confines their commands. `jobs` is the folder of the jobs that sessions
    can become. Nothing starts outside of `roots`, if there are
    any. No call waits longer than `longest` seconds. People can watch and type through `share`.
    """

    def __init__(
        self,
        workspace: str,
        terms: "Terms",
        dispatcher: "Dispatcher",
        registry: "Registry",
        *,
        jobs: str | None = None,
        roots: "Sequence[str]" = (),
        longest: float | None = None,
        share: "Share | None" = None,
    ) -> None:
        self.workspace = workspace
        self.share = share
        self.terms = terms
        self.sandbox = dispatcher.sandbox
        self.jobs = jobs
        self.registry = registry
        self._roots = Workspace(workspace, *roots) if roots else None
        self._longest = longest
        self._shells: dict[str | None, shells.Shell] = {}
        self._built: dict[bool, tuple[Mapping[str, str], Variables]] = {}
        self._dispatcher = dispatcher
        self._gate = dispatcher.gate
        self._environ = dict(os.environ)
        self._secrets = variables.secret_values(self._environ)
        self._engine = dispatcher.engine
        self._login: dict[shells.Shell, dict[str, str]] = {}
        self._retries = Retries()

    def execute(self, asked: ExecArguments, cancelled: "Cancel | None" = None) -> Answer:
        """Run a command; answer when it has ended, when there is something to say, or when time is up.

        A session that an equal call has started, whose answer was not delivered, is gone on with.
        """
        key = "" if cancelled is None or self.terms.patience_ms is None else repr(asked)
        known = self._retries.find(key)
        if isinstance(known, Session) and not known.ended and not known.job:
            rest = asked.replace(input=())
            return self._exchange(known, rest, monotonic(), cancelled, key=key, notes=[_AGAIN])
        shell = self._shell(asked.shell)
        argv = shells.argv(shell, asked.cmd, asked.login)
        cwd = self._folder(asked.workdir)
        escalated = asked.sandbox_permissions == "require_escalated"
        if escalated and self._gate.approval != "on-request":
            raise failure("escalation_refused", policy=self._gate.approval)
        try:
            if "patch" in asked.cmd.lower() and (patched := self._intercept(argv, cwd)) is not None:
                return patched
            self._gate.admit(asked.cmd, cwd, proposed=asked.prefix_rule)  # a denied command is not asked for
        except (ApprovalRequired, CommandDenied) as error:
            raise not_run("exec_failed", argv, error.message) from None
        if escalated:
            self._let_out(asked, shell, argv, cwd)
        began = monotonic()  # the time in which a person is asked does not count
        session = self.begin(asked, shell, argv, cwd, confined=not escalated)
        return self._exchange(session, asked, began, cancelled, key=key)

    def begin(
        self, asked: ExecArguments, shell: shells.Shell, argv: "list[str]", cwd: str, *, confined: bool = True
    ) -> Session:
        """Start a program that has been judged already, or whose commands are judged one by one."""
        number = self.registry.reserve()
        try:
            return self._start(number, asked, shell, argv, cwd, confined=confined)
        except BaseException:
            self.registry.free(number)
            raise

    def write(self, asked: WriteArguments, cancelled: "Cancel | None" = None) -> Answer:
        """Type into a session, or only look at it; answer as `execute` does."""
        began = monotonic()
        return self._exchange(self.find(asked.session_id, "write_stdin"), asked, began, cancelled)

    def kill(self, number: int, cancelled: "Cancel | None" = None) -> Answer:
        """End a session: politely, then by force, with all that it has started."""
        session = self.find(number, "kill_session")
        began = monotonic()
        if not session.ended:  # before its turn: calls that wait for the session are not waited for
            session.stop()
            session.run.wait()
        asked = WriteArguments(number, yield_seconds=1.0, max_output_tokens=self.terms.max_output_tokens)
        return self._exchange(session, asked, began, cancelled)

    def detach(self, number: int) -> str:
        """Make a durable job of a session, which goes on without this server; return its id."""
        session = self.find(number, "detach")
        if self.jobs is None:
            raise failure("no_jobs")
        from agent_exec.faces.session.handoff import detach

        job_id = detach(session, self.jobs, self._environ)
        self.registry.retire(session)
        return job_id

    def patch(self, text: str, workdir: str | None) -> "Applied":
        """Apply a patch below a folder of the workspace, if it writes only where commands may."""
        from agent_exec.patch.apply import verify, verify_confined
        from agent_exec.patch.errors import UnfitPatch

        cwd = self._folder(workdir)
        guard = self._dispatcher.guard(self._engine.spawner)
        try:
            if guard is not None and guard.plan.backend:
                changes = verify_confined(text, cwd=cwd, plan=guard.plan)
            else:
                roots = self._roots.roots if self._roots is not None else (self.workspace,)
                changes = verify(text, cwd=cwd, inside=None if guard and self._roots is None else list(roots))
        except UnfitPatch as error:
            if not (near := error.details.get("near")):
                raise
            raise UnfitPatch(f"{error.message}\nThe file has:\n{near}", **error.details) from None
        stdin = text.encode("utf-8", "surrogateescape")
        self._gate.admit(("apply_patch",), cwd, stdin=stdin, writes=changes.paths)
        return changes.apply()

    def find(self, number: int, tool: str) -> Session:
        """Return a session that runs, or one that has ended and is remembered; raise if there is none."""
        session = self.registry.find(number)
        if session is None:
            raise failure("unknown_session", session_id=number, tool=tool)
        if session.job and tool not in _LOOKS:
            raise failure("detached", session_id=number, job_id=session.job, tool=tool)
        return session

    def close(self) -> None:
        """End every session, and wait until nothing of them is left."""
        left = self.registry.close()
        for session in left:
            session.stop()
        self._dispatcher.close()
        if self.share is not None:  # while what the sessions printed is still there
            self.share.close()
        for session in left:
            session.changes()  # a last look at protected paths
            session.close()

    @property
    def can_escalate(self) -> bool:
        """True if there is an approver to ask whether a command may leave the sandbox."""
        return self._gate.approval == "on-request" and self._gate.can_ask

    def _shell(self, word: str | None) -> shells.Shell:
        """Return the shell that a word means, or the user's; looked for once, while it is there."""
        found = self._shells.get(word)
        if found is None or not os.path.exists(found.path):
            found = shells.find_shell(word)
            if len(self._shells) < _MOST_SHELLS:
                self._shells[word] = found
        return found

    def _folder(self, workdir: str | None) -> str:
        if workdir and self._roots is not None:
            return self._roots.resolve(workdir, "workdir")
        return os.path.join(self.workspace, workdir) if workdir else self.workspace

    def _intercept(self, argv: "list[str]", cwd: str) -> Answer | None:
        """Apply a patch that the command would apply, instead of running it."""
        from agent_exec.patch.detect import intercept
        from agent_exec.patch.errors import PatchError

        try:
            found = intercept(argv)
            if found is None:
                return None
            text = self.patch(found.patch, found.directory(cwd)).text
        except PatchError as error:
            raise ToolFailure(error.message) from None
        if self.terms.brief:
            return Answer(text, wall_time_seconds=0.0, exit_code=0, brief=True)
        return Answer(f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{text}", wall_time_seconds=0.0)

    def _let_out(self, asked: ExecArguments, shell: shells.Shell, argv: "list[str]", cwd: str) -> None:
        """Ask whether a command may run without the sandbox; raise if not."""
        from agent_exec.requests.leaving import standing, within, writable

        roots = writable(self.sandbox)
        if self.sandbox is not None and within(shell.path, roots):
            problem = f"the shell {shell.path} lies where confined commands may write; name another"
            raise not_run("exec_failed", argv, problem)
        # A profile may change the PATH, and what is typed into a terminal is not known yet.
        path = None if asked.login else self._environ.get("PATH")
        plain = shell.kind in shells.POSIX_KINDS and not asked.tty
        grant = standing(asked.cmd, cwd, roots, path) if plain else None
        reason = asked.justification or "it asks for more than the sandbox allows"
        try:
            self._gate.ask(asked.cmd, cwd, reason, grant)
        except ApprovalRequired as error:
            refused = error.details.get("answer") == "no"
            problem = _REJECTED if refused else error.message
            raise not_run("exec_failed", argv, problem) from None

    def _start(
        self,
        number: int,
        asked: ExecArguments,
        shell: shells.Shell,
        argv: "list[str]",
        cwd: str,
        *,
        confined: bool,
    ) -> Session:
        environ = self._environ
        if asked.login and self.terms.capture_login and shell.kind in shells.POSIX_KINDS:
            environ, argv = self._logged_in(shell), shells.argv(shell, asked.cmd, login=False)
        known = self._variables(asked, environ)
        more = asked_for(shell.kind, asked.cmd, known) if may_mask(asked.cmd) else {}
        command = Command(
            argv,
            cwd=cwd,
            env=known.plus({variables.SESSION_ID.encode(): b"%d" % number, **more}),
            tty=asked.tty,
            size=Terminal(asked.rows, asked.columns),
            keep=Head(0),
            limits=Limits(timeout=asked.timeout, grace=GRACE),
        )
        transcript = Transcript(self.registry.folder(number))
        separate = asked.separate_streams
        session = Session(
            number,
            command,
            transcript,
            asked.cmd,
            render=asked.render,
            separate=separate,
            reports=b"BASH_ENV" in more,
            secrets=self._secrets,
        )
        try:
            session.start(self._engine, self._dispatcher.guard(self._engine.spawner) if confined else None)
        except AgentExecError as error:
            raise not_run("spawn_failed", argv, error.message) from None
        if asked.idle_timeout is not None:
            session.end_when_idle(asked.idle_timeout)
        doomed = self.registry.keep(session)
        if self.share is not None:
            self.share.open()
        if doomed is not None:  # it has to make room
            if not doomed.ended:
                doomed.run.kill()
                doomed.run.wait()
            doomed.changes()  # a last look at protected paths
            self.registry.retire(doomed)
        return session

    def _variables(self, asked: ExecArguments, environ: "Mapping[str, str]") -> Variables:
        screen = asked.tty and asked.render == "screen"
        known = self._built.get(screen)
        if known is None or known[0] is not environ:  # the same for every command, as a rule
            built = variables.build(environ, variables.QUIET, screen=screen)
            encoded = Variables({os.fsencode(name): os.fsencode(value) for name, value in built.items()})
            known = self._built[screen] = environ, encoded
        return known[1]

    def _logged_in(self, shell: shells.Shell) -> dict[str, str]:
        """Return the variables that a login shell makes, taken once."""
        if shell not in self._login:
            from agent_exec.engine.engine import run
            from agent_exec.faces.session.shelling import capture
            from agent_exec.sandbox.environment import inherit

            env = variables.build(self._environ, variables.QUIET)
            self._login[shell] = capture(shell, lambda argv: run(argv, env=env, cwd="/", timeout=30).stdout)
            inherit(self._login[shell])
        return self._login[shell]

    def _exchange(
        self,
        session: Session,
        asked: ExecArguments | WriteArguments,
        began: float,
        cancelled: "Cancel | None",
        *,
        key: str = "",
        notes: "Sequence[str]" = (),
    ) -> Answer:
        """Type and wait, in turn with other calls for this session, and answer with what is new.

        `key` is that of a call which may be repeated if its answer is not delivered.
        """
        first = isinstance(asked, ExecArguments)
        if key and cancelled is not None:
            self._retries.began(key, session, cancelled)
        aborted = "aborted_exec" if first else "aborted_write"
        if not session.take_turn(self._longest, cancelled):
            if cancelled is None or not cancelled.is_set():
                raise failure("taken", session_id=session.number)
            raise failure(aborted, seconds=monotonic() - began)
        try:
            if isinstance(asked, WriteArguments) and asked.chars and not session.ended:
                self._type(session, asked)
            watch(cancelled, f"session {session.number}", session.printed_so_far)
            seconds = (
                asked.yield_seconds if self._longest is None else min(asked.yield_seconds, self._longest)
            )
            if isinstance(asked, ExecArguments) and asked.input:
                notes = [*notes, *_answer_prompts(session, asked.input, began + seconds, cancelled)]
            ending = session.wait(began + seconds - monotonic(), asked.wait_for, cancelled)
            if cancelled is not None and cancelled.is_set() and ending.cause == "deadline":
                raise failure(aborted, seconds=monotonic() - began)  # the output is left for the next answer
            if session.job:
                tool = "exec_command" if first else "write_stdin"
                raise failure("detached", session_id=session.number, job_id=session.job, tool=tool)
            if session.error is not None:
                raise self._broken(session)
            return self._answer(session, asked, ending, began, notes)
        finally:
            if key and cancelled is not None:
                self._retries.answered(key, cancelled)
            session.leave()
            session.give_turn()

    def _type(self, session: Session, asked: WriteArguments) -> None:
        check_keyboard(session, "write_stdin")
        if not session.command.tty:
            if asked.data() != INTERRUPT:
                raise failure("stdin_closed", tool="write_stdin")
            session.run.signal("INT")
            return
        try:
            session.type(asked.data(session.view.application_keys), attentive=True)
        except InputClosed:
            if not session.ended:
                raise failure("write_failed", tool="write_stdin") from None

    def _broken(self, session: Session) -> ToolFailure:
        """Forget a session that could not be started, or retire one that broke; return the failure."""
        if not session.transcript.total:
            self.registry.forget(session)
            return not_run("spawn_failed", [str(word) for word in session.command.argv], str(session.error))
        self.registry.retire(session)
        return failure("process_failed", tool="write_stdin", problem=str(session.error))

    def _answer(
        self,
        session: Session,
        asked: ExecArguments | WriteArguments,
        ending: "Ending",
        began: float,
        notes: "Sequence[str]",
    ) -> Answer:
        """Take what is new, and retire the session if it has ended."""
        outcome = session.outcome  # before the output: what comes in between is for the next answer
        render = asked.render
        covered = taken = session.take(final=outcome is not None)
        text = session.view.show(taken, render, session.read)
        again = outcome is not None and session.seen_to_end
        if again and not text:
            start, data = session.read(max(0, session.transcript.total - _LAST_SEEN), _LAST_SEEN)
            text, render = session.view.again(data), None
            covered = Taken(start, start + len(data), data, 0, b"")
        if session.keyboard is not None:
            notes = [*notes, *session.keyboard.notes()]
        state: dict[str, Any] = {"session_id": session.number, "notes": list(notes)}
        if outcome is not None:
            state = {"exit_code": outcome.exit_code, "signal": outcome.signal, "timed_out": outcome.timed_out}
            state["notes"] = [*notes, *self._notes(session, text, outcome.exit_code, again=again)]
            session.seen_to_end = True
            self.registry.retire(session)
        if ending.place is not None:
            state["notes"] = [self._matched(session, ending.place), *state.get("notes", [])]
        if outcome is None and ending.cause == "input":
            state |= {"awaiting_input": True, "evidence": ending.evidence, "echo": ending.echo}
        missing = taken.start + len(taken.head)
        answer = Answer(
            output=text,
            wall_time_seconds=monotonic() - began,
            chunk_id=os.urandom(3).hex(),
            original_token_count=token_count(taken.end - taken.start),
            omitted=[(missing, missing + taken.omitted)] if taken.omitted else (),
            of=session.number,
            streams=session.take_streams(final=outcome is not None),
            cursor=taken.end,
            changes=session.changes(),
            brief=self.terms.brief,
            **state,
        )
        exact = session.view.is_exact(render)
        if asked.view is not None and exact and not again and answer.streams is None:
            viewed = excerpt(answer, session, asked.view, covered, asked.max_output_tokens)
            if viewed is not None:
                return viewed
        return fit(answer, asked.max_output_tokens, taken.omitted, covered, session.gaps, exact=exact)

    def _matched(self, session: Session, place: int) -> str:
        """Return a note with the line that a wait has found, which the output may not show."""
        start, data = session.read(max(0, place - _LINE), 2 * _LINE)
        at = place - start
        begin = data.rfind(b"\n", 0, max(0, at)) + 1
        line = session.view.again(data[begin:].partition(b"\n")[0]).strip()
        return f"matched at byte {place}: {visible(line)}"

    def _notes(self, session: Session, text: str, exit_code: int | None, *, again: bool) -> list[str]:
        notes = []
        if again:
            notes.append("this session had ended already; its last output is shown again")
        elif session.outcome is not None and (ended := tally(*session.outcome.tally)):
            notes.append(ended)
        elif session.pipeline is not None:
            notes += session.pipeline.notes(exit_code)
        if session.guard is not None and session.guard.plan.backend:
            from agent_exec.sandbox.report.report import denials, human

            found = denials(session.guard.plan, text, str(session.command.cwd))
            notes += [human(found)] if found else []
        return notes


def check_keyboard(session: Session, tool: str) -> None:
    """Raise a ToolFailure if a person has the keyboard of a session."""
    if session.keyboard is not None and (name := session.keyboard.holder):
        raise failure("keyboard_taken", tool=tool, session_id=session.number, name=visible(name))


def _answer_prompts(
    session: Session, texts: "Sequence[str]", deadline: float, cancelled: "Cancel | None"
) -> list[str]:
    """Type each text when the program waits for input; return a note if some could not be typed."""
    for place, text in enumerate(texts):
        if session.wait(deadline - monotonic(), NOTHING, cancelled).cause != "input":
            return [f"{len(texts) - place} of {len(texts)} inputs were not typed; it did not wait for them"]
        if session.keyboard is not None and session.keyboard.holder:
            return [f"{len(texts) - place} of {len(texts)} inputs were not typed; a person has the keyboard"]
        try:
            session.type(text.encode("utf-8", "surrogateescape"), attentive=True)
        except InputClosed:  # it has ended meanwhile
            return [f"{len(texts) - place} of {len(texts)} inputs were not typed; it has ended"]
    return []
