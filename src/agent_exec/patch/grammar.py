"""The patch format: its text read into hunks, as forgivingly as models have come to expect.

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
_EMPTY: "Edit" = (" ", "")
_HEADERS = "'*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'"


class AddFile(Value):
    """A file with these lines is to be there."""

    path: str
    lines: "tuple[str, ...]"


class DeleteFile(Value):
    """A file is to be gone."""

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

    @property
    def new(self) -> "tuple[str, ...]":
        """The lines that are there after."""
        return tuple(line for sign, line in self.edits if sign != "-")


class UpdateFile(Value):
    """A file is to be changed, and perhaps to get another name."""

    path: str
    move_to: str | None
    chunks: "tuple[Chunk, ...]"


Hunk = AddFile | DeleteFile | UpdateFile


class Patch(Value):
    """What a patch asks for; `environment` is the id it names, for whoever has several."""

    hunks: "tuple[Hunk, ...]"
    environment: str | None = None


def parse(text: str) -> Patch:
    """Read a patch; raise MalformedPatch if it is none."""
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
    return _Reader(lines, first + 1, last - 1).patch()


def _trimmed(lines: list[str], first: int, last: int) -> tuple[int, int]:
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return first, last


class _Reader:
    """The lines between the markers, and how far they have been read."""

    def __init__(self, lines: list[str], at: int, end: int) -> None:
        self._lines = lines
        self._at = at
        self._end = end

    def patch(self) -> Patch:
        environment = self._environment()
        hunks: list[Hunk] = []
        while self._at < self._end:
            line = self._lines[self._at].strip()
            if line:
                hunks.append(self._hunk(line))
            else:
                self._at += 1
        return Patch(tuple(hunks), environment)

    def _environment(self) -> str | None:
        found: str | None = None
        while self._at < self._end and (line := self._lines[self._at].strip()).startswith(ENVIRONMENT):
            if found is not None:
                self._fail("Environment ID is given twice; give it once, below the first line")
            found = line[len(ENVIRONMENT) :].strip()
            if not found:
                self._fail("Environment ID is empty; name an environment or leave the line out")
            self._at += 1
        return found

    def _hunk(self, line: str) -> "Hunk":
        if line.startswith(ADD):
            return self._add(self._path(line, ADD))
        if line.startswith(DELETE):
            return DeleteFile(self._path(line, DELETE))
        if line.startswith(UPDATE):
            return self._update(self._path(line, UPDATE))
        return self._fail(f"'{line}' is not a valid hunk header. Valid hunk headers: {_HEADERS}")

    def _path(self, line: str, marker: str) -> str:
        path = line[len(marker) :].strip()
        if "\0" in path:
            self._fail(f"no path can be {path!r}")
        self._at += 1
        return path

    def _add(self, path: str) -> AddFile:
        begun = self._at
        while self._at < self._end and self._lines[self._at].startswith("+"):
            self._at += 1
        return AddFile(path, tuple(line[1:] for line in self._lines[begun : self._at]))

    def _update(self, path: str) -> UpdateFile:
        header = self._at - 1
        move_to = None
        if self._at < self._end and (line := self._lines[self._at].strip()).startswith(MOVE):
            move_to = self._path(line, MOVE)
        chunks: list[Chunk] = []
        while self._at < self._end and not _marks(self._lines[self._at]):
            if self._lines[self._at]:
                chunks.append(self._chunk(bool(chunks)))
            else:
                self._at += 1
        if not chunks and move_to is None:
            self._fail(f"Update file hunk for path '{path}' is empty", header)
        return UpdateFile(path, move_to, tuple(chunks))

    def _chunk(self, needs_marker: bool) -> Chunk:
        line = self._lines[self._at]
        context = None
        if line.startswith("@@ ") or line.rstrip() == "@@":
            context = line[3:] if line[3:].strip() else None
            self._at += 1
        elif needs_marker:
            self._fail(f"Expected update hunk to start with a @@ context marker, got: '{line}'")
        edits = self._edits()
        if not edits and not (context is not None and self._next().startswith("@@")):
            self._fail_empty()
        at_end = bool(edits) and _marks(self._next()) and self._next().strip() == END_OF_FILE
        self._at += at_end
        return Chunk(context, edits, at_end)

    def _edits(self) -> "tuple[Edit, ...]":
        edits: list[Edit] = []
        blank = 0  # how many of the last lines are empty, without the space that a line of the file has
        while self._at < self._end:
            line = self._lines[self._at]
            if line[:1] in _SIGNS:
                edits.append((line[0], line[1:]))
                blank = 0
            elif not line:
                edits.append(_EMPTY)
                blank += 1
            else:
                break
            self._at += 1
        if all(sign == "+" for sign, _ in edits[: len(edits) - blank]):
            # Lines are only added, and these are to part the hunks: as context they would say nothing.
            del edits[len(edits) - blank :]
        return tuple(edits)

    def _next(self) -> str:
        return self._lines[self._at] if self._at < self._end else END

    def _fail_empty(self) -> "NoReturn":
        line = self._next()
        if _marks(line):
            self._fail("Update hunk does not contain any lines")
        self._fail(
            f"Unexpected line found in update hunk: '{line}'. "
            "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)"
        )

    def _fail(self, message: str, at: int | None = None) -> "NoReturn":
        number = (self._at if at is None else at) + 1
        raise MalformedPatch(f"invalid hunk at line {number}, {message}", line=number)


def _marks(line: str) -> bool:
    """True if a line is a marker and none of the file's."""
    return line[:1] not in _SIGNS and line.lstrip().startswith("***")
