"""The patch format: its text parsed into hunks, as leniently as models have come to expect.

    *** Begin Patch
    *** Environment ID: <id>            optional
    *** Add File: <path>                then lines: +text
    *** Delete File: <path>
    *** Update File: <path>
    *** Move to: <path>                 optional
    @@ <a line of the file>             or a bare @@; the first may be left out
     text, -text, +text                 as it is, removed, added
    *** End of File                     optional
    *** End Patch

Several lines with @@ above one another lead to a place step by step. A line
that begins with a space, + or - is one of the file's, whatever follows: a
marker in the midst of a chunk may be indented with tabs only.
"""

from agent_exec.model.value import Value
from agent_exec.patch.errors import MalformedPatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    Edit = tuple[str, str]

BEGIN = "*** Begin Patch"
END = "*** End Patch"
ENVIRONMENT = "*** Environment ID:"
ADD = "*** Add File: "
DELETE = "*** Delete File: "
UPDATE = "*** Update File: "
MOVE = "*** Move to: "
END_OF_FILE = "*** End of File"

_WRAPPERS = ("<<EOF", "<<'EOF'", '<<"EOF"')
_SIGNS = (" ", "-", "+")
_HEADERS = "'*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'"


class AddFile(Value):
    """A file to be made, or replaced, with these lines."""

    path: str
    lines: "tuple[str, ...]"


class DeleteFile(Value):
    """A file to be removed."""

    path: str


class Chunk(Value):
    """One place of a file: how to get there, and its lines before and after.

    `edits` are pairs of a sign (space, - or +) and a line. Without edits it
    only leads to its context, from where the next chunk is looked for.
    """

    context: str | None
    edits: "tuple[Edit, ...]"
    at_end: bool = False

    @property
    def old(self) -> "tuple[str, ...]":
        """The lines that are there before."""
        return tuple(line for sign, line in self.edits if sign != "+")


class UpdateFile(Value):
    """A file to be changed, and renamed if `move_to` is given."""

    path: str
    move_to: str | None
    chunks: "tuple[Chunk, ...]"


Hunk = AddFile | DeleteFile | UpdateFile


class Patch(Value):
    """A parsed patch; `environment` is the id that it names, for callers that have several."""

    hunks: "tuple[Hunk, ...]"
    environment: str | None = None


def parse(text: str) -> Patch:
    """Return a parsed patch; raise MalformedPatch if the text is not one."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise MalformedPatch("invalid patch: it holds what no file can hold, half a character") from None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    first, last = _trimmed(lines, 0, len(lines))
    if last - first >= 4 and lines[first].strip() in _WRAPPERS and lines[last - 1].strip() == "EOF":
        first, last = _trimmed(lines, first + 1, last - 1)
    if first == last or lines[first].strip() != BEGIN:
        number = min(first + 1, len(lines))
        raise MalformedPatch(f"invalid patch: The first line of the patch must be '{BEGIN}'", line=number)
    if lines[last - 1].strip() != END:
        raise MalformedPatch(f"invalid patch: The last line of the patch must be '{END}'", line=last)
    return _Reader([*lines[: last - 1], END], first + 1).patch()


def _trimmed(lines: list[str], first: int, last: int) -> tuple[int, int]:
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return first, last


class _Reader:
    """The lines of a patch, of which the last is END, and the number of the next one."""

    def __init__(self, lines: list[str], at: int) -> None:
        self._lines = lines
        self._at = at

    @property
    def _next(self) -> str:
        return self._lines[self._at]

    def patch(self) -> Patch:
        environment: str | None = None
        while (line := self._next.strip()).startswith(ENVIRONMENT):
            if environment is not None:
                self._fail("Environment ID is given twice; give it once, below the first line")
            environment = line[len(ENVIRONMENT) :].strip()
            if not environment:
                self._fail("Environment ID is empty; name an environment or leave the line out")
            self._at += 1
        hunks: list[Hunk] = []
        while self._at < len(self._lines) - 1:
            if self._next.strip():
                hunks.append(self._hunk())
            else:
                self._at += 1
        return Patch(tuple(hunks), environment)

    def _hunk(self) -> "Hunk":
        header = self._at
        if path := self._path(ADD):
            while self._next.startswith("+"):
                self._at += 1
            return AddFile(path, tuple(line[1:] for line in self._lines[header + 1 : self._at]))
        if path := self._path(DELETE):
            return DeleteFile(path)
        if path := self._path(UPDATE):
            move_to = self._path(MOVE)
            chunks: list[Chunk] = []
            while not _marks(self._next):
                if self._next:
                    chunks.append(self._chunk(needs_marker=bool(chunks)))
                else:
                    self._at += 1
            if not chunks and move_to is None:
                self._at = header
                self._fail(f"Update file hunk for path '{path}' is empty")
            return UpdateFile(path, move_to, tuple(chunks))
        return self._fail(
            f"'{self._next.strip()}' is not a valid hunk header. Valid hunk headers: {_HEADERS}"
        )

    def _path(self, marker: str) -> str | None:
        """Return the path behind a marker, and go on to the next line; None if the marker is not there."""
        line = self._next.strip()
        if not line.startswith(marker):
            return None
        path = line[len(marker) :].strip()
        if "\0" in path:
            self._fail(f"no path can be {path!r}")
        self._at += 1
        return path

    def _chunk(self, needs_marker: bool) -> Chunk:
        line = self._next
        context = None
        if line.startswith("@@ ") or line.rstrip() == "@@":
            context = line[3:] if line[3:].strip() else None
            self._at += 1
        elif needs_marker:
            self._fail(f"Expected update hunk to start with a @@ context marker, got: '{line}'")
        edits = self._edits()
        line = self._next
        if not edits and (context is None or not line.startswith("@@")):
            if _marks(line):
                self._fail("Update hunk does not contain any lines")
            self._fail(
                f"Unexpected line found in update hunk: '{line}'. "
                "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)"
            )
        at_end = bool(edits) and line.strip() == END_OF_FILE
        self._at += at_end
        return Chunk(context, edits, at_end)

    def _edits(self) -> "tuple[Edit, ...]":
        edits: list[Edit] = []
        blank = 0  # how many of the last lines are empty, without the space that a line of the file has
        while not self._next or self._next[0] in _SIGNS:
            edits.append((self._next[:1] or " ", self._next[1:]))
            blank = 0 if self._next else blank + 1
            self._at += 1
        if all(sign == "+" for sign, _ in edits[: len(edits) - blank]):
            # Lines are only added, and these are to part the hunks: as context they would say nothing.
            del edits[len(edits) - blank :]
        return tuple(edits)

    def _fail(self, message: str) -> "NoReturn":
        number = self._at + 1
        raise MalformedPatch(f"invalid hunk at line {number}, {message}", line=number)


def _marks(line: str) -> bool:
    """True if a line is a marker, not a line of the file."""
    return line[:1] not in _SIGNS and line.lstrip().startswith("***")
