"""The steps from a call of a model to an answer: shell, escalation, patch, policy, sandbox, spawn, wait."""

import os
from time import monotonic

from agent_exec.faces.session.admission import admit, can_escalate, escalates, let_out
from agent_exec.faces.session.answer import Answer, new_chunk_id
from agent_exec.faces.session.failures import (
    ToolFailure,
    aborted_exec,
    aborted_write,
    detached,
    exec_failed,
    no_jobs,
    process_failed,
    spawn_failed,
    stdin_closed,
    unknown_session,
    write_failed,
)
from agent_exec.faces.session.fitting import Fitting
from agent_exec.faces.session.masked_failures import Pipelines
from agent_exec.faces.session.omitted_ranges import omitted
from agent_exec.faces.session.rendering import Seen, View
from agent_exec.faces.session.truncate import token_count
from agent_exec.faces.session.waiting import take_turn, wanted
from agent_exec.model.command import Command, Terminal, Variables
from agent_exec.model.errors import AgentExecError, ApprovalRequired, CommandDenied, InputClosed
from agent_exec.model.limits import Limits
from agent_exec.model.output import Head
from agent_exec.requests import shells, variables
from agent_exec.requests.folders import Workspace
from agent_exec.sessions.registry import Registry
from agent_exec.sessions.session import Session, told
from agent_exec.sessions.transcript import Taken, Transcript
from agent_exec.tools.tool import watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_exec.faces.session.arguments import Condition, ExecArguments, WriteArguments
    from agent_exec.faces.session.terms import Terms
    from agent_exec.model.cancel import Cancel
    from agent_exec.patch.apply import Applied, Changes
    from agent_exec.requests.dispatch import Dispatcher

INTERRUPT = b"\x03"
GRACE = 2.0
_LOOKS = ("read_output", "record", "picture")
_LAST_SEEN = 4000
_MOST_SHELLS = 100


class Sessions:
    """The sessions of one server, and the terms on which they run; any thread may call.

    Their output goes to `folder`. `dispatcher` judges and confines their
    commands. `jobs` is the folder of the jobs that sessions can become. Nothing starts outside of
    `roots`, if there are any. No call waits longer than `longest` seconds.
    """

    def __init__(
        self,
        workspace: str,
        folder: str,
        terms: "Terms",
        dispatcher: "Dispatcher",
        *,
        policy: variables.EnvironmentPolicy | None = None,
        jobs: str | None = None,
        limit: int = 64,
        environ: "Mapping[str, str] | None" = None,
        roots: "Sequence[str]" = (),
        longest: float | None = None,
    ) -> None:
        self.workspace = workspace
        self._roots = Workspace(workspace, *roots) if roots else None
        self._longest = longest
        self.terms = terms
        self.registry = Registry(folder, limit)
        self._pipelines = Pipelines(folder)
        self._shells: dict[str | None, shells.Shell] = {}
        self._built: dict[bool, tuple[Mapping[str, str], Variables]] = {}
        self._dispatcher = dispatcher
        self._gate = dispatcher.gate
        self.sandbox = dispatcher.sandbox
        self._policy = policy or variables.QUIET
        self.jobs = jobs
        self._environ = dict(os.environ if environ is None else environ)
        self._engine = dispatcher.engine
        self._login: dict[shells.Shell, dict[str, str]] = {}

    def execute(self, asked: "ExecArguments", cancelled: "Cancel | None" = None) -> Answer:
        """Run a command; answer when it has ended, when there is something to say, or when time is up."""
        shell = self._shell(asked.shell)
        argv = shells.argv(shell, asked.cmd, asked.login)
        cwd = self._folder(asked.workdir)
        number = self.registry.reserve()
        try:
            escalated = escalates(self._gate, asked)
            patched = self._intercept(argv, cwd)
            if patched is not None:
                self.registry.free(number)
                return patched
            admit(self._gate, asked, argv, cwd)  # first: what is denied is not asked for
            if escalated:
                path = self._environ.get("PATH")
                let_out(self._gate, asked, shell, argv, cwd, self.sandbox, path)
            began = monotonic()  # the time in which a person is asked does not count
            session = self._start(number, asked, shell, argv, cwd, confined=not escalated)
        except BaseException:
            self.registry.free(number)
            raise
        take_turn(session, began, cancelled, self._longest, first=True)
        try:
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
        finally:
            session.give_turn()

    def write(self, asked: "WriteArguments", cancelled: "Cancel | None" = None) -> Answer:
        """Type into a session, or only look at it; answer as `execute` does."""
        began = monotonic()
        session = self.find(asked.session_id, "write_stdin")
        take_turn(session, began, cancelled, self._longest)
        try:
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
        finally:
            session.leave()
            session.give_turn()

    def kill(self, number: int, cancelled: "Cancel | None" = None) -> Answer:
        """End a session: politely, then by force, with all that it has started."""
        session = self.find(number, "kill_session")
        began = monotonic()
        if not session.ended:  # whoever waits for it is not waited for
            session.stop()
            session.run.wait()
        take_turn(session, began, cancelled, self._longest)
        try:
            return self._answer(session, 1.0, (), self.terms.max_output_tokens, None, began, None)
        finally:
            session.give_turn()

    def resize(self, number: int, rows: int, columns: int) -> None:
        """Give a session's terminal another size."""
        session = self.find(number, "resize")
        if not session.command.tty:
            raise ToolFailure("resize failed: this session has no terminal; rerun exec_command with tty=true")
        if not session.ended:
            session.run.resize(rows, columns)
        session.view.resize(rows, columns)

    def end_input(self, number: int) -> None:
        """Tell a session's program that no more input comes."""
        session = self.find(number, "close_stdin")
        if not session.command.tty:
            raise stdin_closed("close_stdin")
        if not session.ended:
            session.run.end_input()

    def detach(self, number: int) -> str:
        """Make a durable job of a session, which goes on without this server; return its id."""
        session = self.find(number, "detach")
        if self.jobs is None:
            raise no_jobs()
        from agent_exec.faces.session.handoff import detach

        job_id = detach(session, self.jobs, self._environ, session.plan)
        self.registry.retire(session)
        return job_id

    def read(self, number: int, start: int, most: int) -> "tuple[Session, int, bytes]":
        """Return some of what a session has printed again."""
        session = self.find(number, "read_output")
        return session, *session.read(start, most)

    def patch(self, text: str, workdir: str | None) -> "Applied":
        """Apply a patch below a folder of the workspace; return what it has done."""
        cwd = self._folder(workdir)
        changes = self._verify(text, cwd)
        stdin = text.encode("utf-8", "surrogateescape")
        self._gate.admit(("apply_patch",), cwd, stdin=stdin, writes=changes.paths)
        return changes.apply()

    def close(self) -> None:
        """End every session, and wait until nothing of them is left."""
        left = self.registry.close()
        for session in left:
            session.stop()
        self._dispatcher.close()
        for session in left:
            if session.run.guard is not None and not session.job:
                session.run.guard.look()
            session.close()

    def _shell(self, word: str | None) -> shells.Shell:
        """Return the shell that a word means, or the user's; looked for once, while it is there."""
        found = self._shells.get(word)
        if found is None or not os.path.exists(found.path):
            found = shells.user_shell() if word is None else shells.named_shell(word)
            if len(self._shells) < _MOST_SHELLS:
                self._shells[word] = found
        return found

    def _folder(self, workdir: str | None) -> str:
        if workdir and self._roots is not None:
            return self._roots.resolve(workdir, "workdir")
        return os.path.join(self.workspace, workdir) if workdir else self.workspace

    def find(self, number: int, tool: str) -> Seen:
        """Return a session that runs, or one that has ended and is remembered; raise if there is none."""
        session = self.registry.find(number)
        if not isinstance(session, Seen):
            raise unknown_session(number, tool)
        if session.job and tool not in _LOOKS:
            raise detached(number, session.job, tool)
        return session

    @property
    def can_escalate(self) -> bool:
        """True if somebody can be asked to let a command out of the sandbox."""
        return can_escalate(self._gate)

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
        except (ApprovalRequired, CommandDenied) as error:
            raise exec_failed(argv, error.message) from None
        body = f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{text}"
        return Answer(output=body, wall_time_seconds=0.0)

    def _start(
        self,
        number: int,
        asked: "ExecArguments",
        shell: shells.Shell,
        argv: "list[str]",
        cwd: str,
        *,
        confined: bool,
    ) -> Seen:
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
        session = Seen(
            number,
            command,
            Transcript(self.registry.folder(number)),
            asked.cmd,
            View(asked.render, asked.rows, asked.columns, tty=asked.tty),
            separate=asked.separate_streams,
        )
        try:
            guard = self._dispatcher.guard(self._engine.spawner) if confined else None
            session.plan = None if guard is None else guard.plan
            session.start(self._engine, guard)
        except AgentExecError as error:
            raise spawn_failed(argv, error.message) from None
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
    ) -> Variables:
        known = self._built.get(screen)
        if known is None or known[0] is not environ:  # the same for every command, as a rule
            built = variables.build(environ, self._policy, screen=screen)
            encoded = Variables({os.fsencode(name): os.fsencode(value) for name, value in built.items()})
            known = self._built[screen] = environ, encoded
        more = {variables.SESSION_ID.encode(): b"%d" % number}
        if not confined or self.sandbox is None:  # from a box, nothing can be written down for us
            more |= self._pipelines.variables(asked.cmd, shell, known[1])
        return known[1].plus(more)

    def _give_up(self, session: Session) -> None:
        """End a session that had to make room."""
        if not session.ended:
            session.run.kill()
            session.run.wait()
        if session.run.guard is not None and not session.job:
            session.run.guard.look()
        self.registry.retire(session)

    def _type(self, session: Seen, asked: "WriteArguments") -> None:
        if not session.command.tty:
            if asked.data() != INTERRUPT:
                raise stdin_closed()
            session.run.signal("INT")
            return
        try:
            session.type(asked.data(session.view.application_keys), attentive=True)
        except InputClosed:
            if not session.ended:
                raise write_failed() from None

    def _answer(
        self,
        session: Seen,
        seconds: float,
        conditions: "tuple[Condition, ...]",
        tokens: int,
        render: str | None,
        began: float,
        cancelled: "Cancel | None",
        *,
        first: bool = False,
    ) -> Answer:
        """Wait, take what is new, and tell it."""
        regexes = [one.regex for one in conditions if one.regex is not None]
        if regexes:
            session.look_for(*regexes)
        watch(cancelled, f"session {session.number}", session.printed_so_far)
        if self._longest is not None:
            seconds = min(seconds, self._longest)
        try:
            ending = session.wait(began + seconds - monotonic(), wanted(conditions), cancelled)
        finally:
            if regexes:
                session.look_for(None)
        if cancelled is not None and cancelled.is_set() and ending.cause == "deadline":
            waited = monotonic() - began  # what was printed is left for the next answer
            raise aborted_exec(waited) if first else aborted_write(waited)
        if session.job:
            raise detached(session.number, session.job, "exec_command" if first else "write_stdin")
        if session.error is not None:
            if not session.transcript.total:
                self.registry.forget(session)
                raise spawn_failed([str(word) for word in session.command.argv], told(session.error))
            self.registry.retire(session)
            raise process_failed(told(session.error))
        outcome = session.outcome  # before the output: what comes in between is for the next answer
        again = outcome is not None and session.seen_to_end
        covered = taken = session.take(final=outcome is not None)
        view = session.view
        text = view.show(session, taken, render)
        if again and not text:
            start, data = session.read(max(0, session.transcript.total - _LAST_SEEN), _LAST_SEEN)
            text, render = view.again(data), None
            covered = Taken(start, start + len(data), data, 0, b"")
        observed = token_count(taken.end - taken.start)
        waits = ending.cause == "input" and outcome is None
        answer = Answer(
            output=text,
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
            omitted=omitted(taken),
            of=session.number,
            notes=() if outcome is None else self._notes(session, text, again=again),
            streams=session.take_streams(final=outcome is not None),
            cursor=taken.end,
            changes=session.new_changes(),
        )
        exact = view.is_exact(render)
        answer = Fitting(answer, taken, covered, session.gaps, exact=exact).fitted(tokens)
        if outcome is not None:
            session.seen_to_end = True
            self.registry.retire(session)
        return answer

    def _notes(self, session: Seen, text: str, *, again: bool) -> list[str]:
        notes = []
        if again:
            notes.append("this session had ended already; its last output is shown again")
        elif session.outcome is not None and "|" in session.text:
            masked = self._pipelines.note(session.number, session.outcome.exit_code)
            notes += [masked] if masked else []
        plan = session.plan
        if plan is not None and session.outcome is not None and plan.backend:
            from agent_exec.sandbox.report.denials import denials, human

            found = denials(plan, text, str(session.command.cwd))
            if found:
                notes.append(human(found))
        return notes

    def _verify(self, text: str, cwd: str) -> "Changes":
        """Return what a patch would do, if it writes only where commands may."""
        from agent_exec.patch.apply import verify, verify_confined

        guard = self._dispatcher.guard(self._engine.spawner)
        if guard is not None and guard.plan.backend:
            return verify_confined(text, cwd=cwd, plan=guard.plan)
        roots = self._roots.roots if self._roots is not None else (self.workspace,)
        return verify(text, cwd=cwd, inside=None if guard and self._roots is None else list(roots))

    def _logged_in(self, shell: shells.Shell) -> dict[str, str]:
        """Return the variables that a login shell makes, taken once."""
        if shell not in self._login:
            from agent_exec.engine.engine import run
            from agent_exec.faces.session.login import capture
            from agent_exec.sandbox.environment import inherit

            env = variables.build(self._environ, self._policy)
            self._login[shell] = capture(shell, lambda argv: run(argv, env=env, cwd="/", timeout=30).stdout)
            inherit(self._login[shell])
        return self._login[shell]
