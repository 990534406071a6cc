"""A failure that an exit code hides: `make | tail`, `make || true`, `make; echo done` succeed if make fails.

Bash reads a small file of ours before such a line. At its end, if it has succeeded although a part of a
pipeline or an earlier command has failed, it writes their statuses to its stderr as an escape sequence, which
is taken out of the output here. Nothing of the command is changed. Other shells cannot tell: dash and sh know
only the last status, and zsh would have to read another profile than the user's.
"""

from agent_exec.places import PIPELINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

_START, _END = b"\x1b]agent-exec;pipeline;", b"\x07"
_MOST = 300
"""How many bytes the sequence may have."""
_BROKEN_PIPE = 141
"""The status of a program that wrote to `head`, which is no failure."""


def may_mask(line: str) -> bool:
    """True if a line is one whose exit code may hide a failure."""
    return "|" in line or ";" in line or "\n" in line


def shell_line(argv: "Sequence[str]") -> str:
    """Return the line that bash is to run by these words; "" if they are of another form."""
    if argv[0].rpartition("/")[2] == "bash":
        for place, word in enumerate(argv[1:-1], 2):
            if not word.startswith("-") or "x" in word:  # which traces what is ours too
                break
            if word.endswith("c") and not word.startswith("--"):
                return argv[place]
    return ""


def asked_for(shell: str, line: str, environ: "Container[object]") -> "dict[bytes, bytes]":
    """Return the variables that have a shell report; none if its kind cannot, or the line hides nothing."""
    import os

    if shell != "bash" or not may_mask(line) or b"BASH_ENV" in environ:
        return {}
    return {b"BASH_ENV": os.fsencode(PIPELINE)}


class Pipeline:
    """The report of one shell, taken out of what it prints."""

    __slots__ = ("_held", "statuses")

    def __init__(self) -> None:
        self.statuses: tuple[int, ...] = ()
        self._held = b""

    def strip(self, chunk: bytes) -> bytes:
        """Return a chunk of stderr without the report; last bytes are held if they may begin one."""
        data = self._held + chunk
        self._held = b""
        at = data.find(_START)
        if at < 0:
            half = next(
                (n for n in range(min(len(_START) - 1, len(data)), 0, -1) if data.endswith(_START[:n])), 0
            )
            self._held = data[len(data) - half :]
            return data[: len(data) - half]
        end = data.find(_END, at)
        if end < 0 and len(data) - at < _MOST:
            self._held = data[at:]
            return data[:at]
        words = data[at + len(_START) : end].split(b";")
        if end < 0 or not all(word.isdigit() for word in words):
            return data
        self.statuses = tuple(map(int, words))
        return data[:at] + data[end + 1 :]

    def rest(self) -> bytes:
        """Return what was held, since nothing follows."""
        held, self._held = self._held, b""
        return held

    def notes(self, exit_code: int | None) -> list[str]:
        """Return a note if a part has failed although the whole did not."""
        if exit_code != 0 or all(status in (0, _BROKEN_PIPE) for status in self.statuses):
            return []
        statuses = " | ".join(map(str, self.statuses))
        if len(self.statuses) == 1:
            return [f"the exit code is that of the last command, and an earlier one ended with {statuses}"]
        return [f"the exit code is that of the last command; in a pipeline, others failed: {statuses}"]
