"""A shell that stays, for clients of SWE-ReX: one bash at a terminal, which runs a command at a time.

Commands are not typed as they are, for a terminal takes neither long lines nor
every character: each is typed as a quoted word, and evaluated. The end of a
command is seen by the prompt, which bears a secret, the command's number and
its exit code; it comes as well after an interrupt, which ends the typed line.
"""

import os
import re
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING

from agent_exec.apps.serve.swerex_errors import SwerexError
from agent_exec.faces.session.arguments import ExecArguments
from agent_exec.model.errors import InputClosed
from agent_exec.model.patterns import compiled
from agent_exec.model.value import Value
from agent_exec.requests.shells import find_shell
from agent_exec.sessions.wanted import Wanted
from agent_exec.terminal.parser import patterns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regex import Pattern

    from agent_exec.faces.session.running import Sessions
    from agent_exec.sessions.session import Session

PROMPT = "SHELLPS1PREFIX"
"""How the protocol calls the end of a command, where it says which text was expected."""

START_PATIENCE = 30.0
"""Seconds within which bash must be ready for its first command."""

_HEAD, _TAIL = 4 << 20, 4 << 20
"""Bytes of a command's output that are returned: its first and its last ones."""
_SEARCHED = 64 << 10
"""Bytes before new output in which an expected text may begin."""
_PIECE = 1 << 20
_SEARCH_PATIENCE = 1.0
_TYPED = 2000
"""Characters of a typed line, of which a terminal takes 4095."""
_PLAIN = re.compile(r"[A-Za-z0-9 _./:,;=+@%^*()\[\]{}<>|&$\"#~?`-]")
_LINE = "__agent_exec_line"
_ANY = Wanted(only_exit=True, output=True)
_INTERRUPT, _SUSPEND = b"\x03", b"\x1a"


class Found(Value):
    """What came until a text that was expected: the output before it, the text, the exit code if it ended."""

    output: str
    expected: str
    exit_code: int | None = None


class Shell:
    """One bash; any thread may call, one action at a time."""

    def __init__(self, sessions: "Sessions", name: str) -> None:
        self.lock = RLock()
        self._secret = os.urandom(8).hex()
        self._number = 0  # of the last command
        self._ended = True  # whether that is over
        self._shown = 0  # the offset behind what was returned
        self._searched = 0  # the offset behind what was looked at
        self._marks = re.compile(rb"AX%s\.(\d+):(\d+):XA" % self._secret.encode())
        bash = find_shell("bash")
        argv = [bash.path, "--noediting"]
        asked = ExecArguments(f"bash # {name}", tty=True, login=False)
        self.session: Session = sessions.begin(asked, bash, argv, sessions.workspace)
        try:
            self._type("stty -echo; unset HISTFILE; set +o history; PS0= PS2=")
            self._send(":")
            self._wait(START_PATIENCE, (), f"bash was not ready within {START_PATIENCE:.0f} s")
        except BaseException:
            self.close(sessions)
            raise

    @property
    def is_busy(self) -> bool:
        """True if a command runs that has not ended."""
        return not self._ended

    def run(self, command: str, timeout: float | None, expect: "Sequence[str]" = ()) -> Found:
        """Run a command of bash until it ends, or prints what is expected."""
        began = monotonic()
        if self.is_busy:  # one that timed out; what it printed belongs to no one
            left = "a command before this one still runs; interrupt it"
            self._wait(timeout, (), f"{_late(timeout, command)}: {left}")
        self._send(command)
        rest = None if timeout is None else max(0.0, timeout - (monotonic() - began))
        return self._wait(rest, expect, _late(timeout, command))

    def talk(self, text: str, timeout: float | None, expect: "Sequence[str]") -> Found:
        """Type a line for the program that runs, or for bash if none does."""
        if not self.is_busy:
            return self.run(f"{text}\n", timeout, expect)
        self._type(text)
        return self._wait(timeout, expect, _late(timeout, text))

    def quiet(self) -> None:
        """Keep the terminal from printing what is typed, after a program that may have changed it."""
        if not self.is_busy:
            shown = self._shown
            self.run("stty -echo", START_PATIENCE)
            self._shown = max(shown, self._shown)

    def interrupt(self, timeout: float, retries: int, expect: "Sequence[str]") -> Found:
        """Have the program end as Ctrl-C does; suspend and kill it if it does not."""
        for _ in range(max(1, retries)):
            self._press(_INTERRUPT)
            if self.lock.acquire(timeout=max(timeout, 0.001)):
                try:
                    return self._wait(timeout, expect, "not yet", old=True)
                except SwerexError as error:
                    if error.kind != "CommandTimeoutError":
                        raise
                finally:
                    self.lock.release()
        with self.lock:
            self._press(_SUSPEND)
            found = self._wait(
                max(timeout, 1.0), expect, "the program can be neither interrupted nor stopped"
            )
            if not self.is_busy:
                shown = self._shown
                self.run("kill -9 %%", START_PATIENCE)
                self._shown = shown  # what bash says about it is shown with the next command
            return found

    def close(self, sessions: "Sessions") -> None:
        """End it, with all that it has started."""
        if not self.session.ended:
            self.session.stop()
            self.session.run.wait()
        self.session.changes()  # a last look at protected paths
        sessions.registry.retire(self.session)

    def _send(self, command: str) -> None:
        """Type a command for bash, which waits for one."""
        self._number += 1
        self._ended = False
        half, rest = f"AX{self._secret[:4]}", f"{self._secret[4:]}.{self._number}:"
        # In two parts: if the terminal prints what is typed, that is not taken for the prompt.
        prompt = f"'{half}''{rest}'"
        *lines, last = _quoted(command)
        sign = ""
        for line in lines:
            self._type(f"PS1=; {_LINE}{sign}={line}")
            sign = "+"
        self._type(
            f"{_LINE}{sign}={last}; PS1={prompt}'$?:XA'; "
            f'eval "${_LINE}"; PROMPT_COMMAND= PS1={prompt}$?":XA"'
        )

    def _type(self, line: str) -> None:
        self._press(line.encode("utf-8", "surrogateescape") + b"\n")

    def _press(self, data: bytes) -> None:
        try:
            self.session.type(data)
        except InputClosed:
            raise _gone() from None

    def _wait(self, seconds: float | None, expect: "Sequence[str]", late: str, *, old: bool = False) -> Found:
        """Return what is printed until the command ends or an expected text comes.

        With `old`, the prompt of a command that has ended already counts too.
        """
        deadline = None if seconds is None else monotonic() + seconds
        expressions = [(text, compiled(text)) for text in expect]
        session = self.session
        start = self._searched
        window = b""
        while True:
            session.take()
            total = session.transcript.total
            while self._searched < total:
                at, data = session.read(self._searched, _PIECE)
                if not data:
                    break
                if at > self._searched:  # some is not kept any more
                    start, window = at, b""
                window = (window + data)[-_SEARCHED - len(data) :]
                self._searched = at + len(data)
                begin = max(start, self._searched - len(window))
                found = self._look(window, begin, expressions, old=old)
                if found is not None:
                    return found
            if session.ended:
                raise _gone()
            left = 3600.0 if deadline is None else deadline - monotonic()
            if left <= 0:
                raise SwerexError("CommandTimeoutError", late)
            session.wait(left, _ANY)

    def _look(
        self, window: bytes, begin: int, wanted: "list[tuple[str, Pattern[str]]]", *, old: bool
    ) -> Found | None:
        """Return what ends the wait in some output, which begins at an offset; None if nothing does."""
        end = next((mark for mark in self._marks.finditer(window) if int(mark[1]) == self._number), None)
        if end is not None and self._ended and not old:
            end = None
        if wanted:
            text = window[: end.start() if end else None].decode("utf-8", "surrogateescape")
            first: tuple[int, int, str] | None = None
            for expected, pattern in wanted:
                try:
                    match = pattern.search(text, timeout=_SEARCH_PATIENCE)
                except TimeoutError:
                    continue
                if match is not None and (first is None or match.start() < first[0]):
                    first = match.start(), match.end(), expected
            if first is not None:
                stop, behind = (
                    begin + len(text[:place].encode("utf-8", "surrogateescape")) for place in first[:2]
                )
                return self._found(stop, behind, first[2], None)
        if end is None:
            return None
        self._ended = True
        return self._found(begin + end.start(), begin + end.end(), PROMPT, int(end[2]))

    def _found(self, stop: int, behind: int, expected: str, exit_code: int | None) -> Found:
        output = self._output(self._shown, stop)
        self._shown = self._searched = behind
        return Found(output, expected, exit_code)

    def _output(self, start: int, stop: int) -> str:
        """Return the text between two offsets, without prompts and escape sequences."""
        size = stop - start
        if size <= _HEAD + _TAIL:
            data = self._bytes(start, stop)
        else:
            note = f"\n[... {size - _HEAD - _TAIL} bytes left out ...]\n".encode()
            data = self._bytes(start, start + _HEAD) + note + self._bytes(stop - _TAIL, stop)
        text = self._marks.sub(b"", data).decode("utf-8", "backslashreplace")
        plain = (part for part in patterns().tokens.split(text) if not part.startswith("\x1b"))
        return "".join(plain).replace("\r\n", "\n")

    def _bytes(self, start: int, stop: int) -> bytes:
        pieces = []
        while start < stop:
            at, data = self.session.read(start, min(_PIECE, stop - start))
            if not data or at >= stop:
                break
            pieces.append(data[: stop - at])
            start = at + len(data)
        return b"".join(pieces)


def _quoted(command: str) -> list[str]:
    """Return a text as words of bash, short enough to be typed, whose values together are the text."""
    if "\0" in command:
        raise SwerexError("ValueError", "a command must not contain a NUL character", module="builtins")
    words, word = [], ""
    for character in command:
        if _PLAIN.match(character):
            word += character
        else:
            word += "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
        if len(word) >= _TYPED:
            words.append(f"$'{word}'")
            word = ""
    return [*words, f"$'{word}'"]


def _late(timeout: float | None, command: str) -> str:
    return f"timeout after {timeout} seconds while running command {command!r}"


def _gone() -> SwerexError:
    return SwerexError(
        "NoExitCodeError", "the shell of this session has ended; close the session, and create another"
    )
