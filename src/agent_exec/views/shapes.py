"""What the output of known tools looks like: one table of lines that report a failure, one of signatures.

A row of MARKS is tried only on a line that holds one of its words, which is faster.
"""

import re
from bisect import bisect
from itertools import accumulate

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from re import Pattern
    from typing import Any

WEAK, PLACE, ERROR, BLOCK, VERDICT = 1, 2, 3, 4, 5
"""A word that may be harmless; a place or a word of failures; an error; a part of a report; a failure."""

_STRONG = (
    r"err(?=ors?\b|[!_:])",
    r"f(?=ail(?:s|ed|ures?|ing)?\b|atal\b|ile or directory|ound\b)",
    r"x(?=ceptions?\b)",
    r"p(?=anic|ed\))",
    r"b(?=orted|ack \(most)",
    r"k(?=illed)",
    r"d(?=enied)",
)
_OTHERS = (
    r"f(?=ault|ined|used|er|lict|ile:\d)",
    r"b(?=le\b|y: )",
    r"w(?=arn)",
    r"p(?=lete\b)",
    r"v(?=ere|alid)",
    r"u(?=ld not|ch )",
    r"m(?=issing|eout|ed out)",
    r"g(?=oroutine)",
    r"j(?=ected\])",
    r"c(?=annot|ritical)",
    r"d(?=oes not)",
    *("returned", "thread", "not ok", " line ", "stdout ----"),
)
"""Words of failures in lower case, each from its rarest letter on: the search for one letter is fast."""
_SIGNS = tuple(mark.encode().decode("latin-1").lower() for mark in "\u2715\u2717\u2716\u00d7\u25cf")
_BEGIN = re.compile(
    rb"\n(?=\s*+\d++(?::\d+|\)) |[A-Z]{1,4}+\d++ |[^\s:]++:\d++:\d++: [A-Z]|[>E]\s|_{3,} |-{4} )"
)
_FILE = re.compile(rb"\.[A-Za-z]{1,5}(?:\", line |:|\()\d")
FOREIGN = re.compile(
    rb"\s+(?:File |at |\S*:)?.*(?:site-packages|node_modules|node:internal|/lib/python\d|/rustc/|java\.base/)"
)
"""A frame of a stack trace that is not the user's code; lines that are indented by four belong to it."""
_FRAME = re.compile(rb"\s{4,}(?!\s|File |at )")
_COLOUR = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


def plain(line: bytes) -> bytes:
    """Return a line without colours."""
    return _COLOUR.sub(b"", line) if b"\x1b" in line else line


class Row(Value):
    """A line that matters, and the lines after it that belong to it.

    These are the lines that match `more`, or all up to one that matches `stop`, at most `most`, and
    then `last` lines. `titled`: the nearest line above it that is not indented belongs to it, too.
    `is_id`: it names what has failed. `words`: a line that holds none of these, in any case, does not match.
    The pattern is looked for at the beginning of a line, or `anywhere` in it.
    """

    weight: int
    pattern: bytes
    words: "tuple[bytes, ...]" = ()
    more: "Pattern[bytes] | None" = None
    stop: "Pattern[bytes] | None" = None
    most: int = 80
    last: int = 0
    titled: bool = False
    is_id: bool = True
    anywhere: bool = False

    @property
    def folds(self) -> bool:
        """True if of very many that are alike, only some are shown."""
        return self.weight <= ERROR or not self.is_id

    @property
    def is_block(self) -> bool:
        """True if lines may follow that belong to it."""
        return self.more is not None or self.stop is not None

    def end(self, lines: "Sequence[bytes]", at: int) -> int:
        """Return the index behind the last line of the block that begins at a line."""
        limit = min(len(lines), at + 1 + self.most)
        end = at + 1
        if self.more is not None:
            while end < limit and self.more.match(lines[end]):
                end += 1
        elif self.stop is not None:
            while end < limit and not self.stop.match(lines[end]):
                end += 1
        else:
            return end
        return min(end + self.last, len(lines))


def own_parts(lines: "Sequence[bytes]", start: int, end: int) -> "list[tuple[int, int]]":
    """Return the ranges of a block without runs of frames that are not the user's code."""
    found = [(start, end)]
    at = start + 1
    while at < end:
        behind = at
        while behind < end and (
            FOREIGN.match(lines[behind]) or (behind > at and _FRAME.match(lines[behind]))
        ):
            behind += 1
        if behind > at + 2:
            found[-1:] = [(found[-1][0], at), (behind, end)] if behind < end else [(found[-1][0], at)]
        at = max(behind, at + 1)
    return found


def _row(
    weight: int, pattern: bytes, words: bytes = b"", more: bytes = b"", stop: bytes = b"", **rest: "Any"
) -> Row:
    goes_on, ends = (re.compile(text) if text else None for text in (more, stop))
    return Row(weight, pattern, tuple(filter(None, words.split(b"|"))), goes_on, ends, **rest)


_WEAK_WORDS = b"warn|warning|cannot|unable|denied|refused|timed out|differ|missing|invalid|could not|does not"
_PLACE = rb"(?:[\w./\\@+~<>-]|:(?=[\\/]))+"
_BLANK = rb"\s*$"

_COUNTED = [
    re.compile(
        rb"[\s,(\[=]%s (?:failed|failures?|errors?|failing)\b|"
        rb"(?:[Ff]ailures|[Ee]rrors|[Ff]ailed)[:=] *%s|\bfail %s" % ((number,) * 3)
    )
    for number in (rb"[1-9]\d*", rb"\d+")
]
_DIGIT = re.compile(rb"\d")
BROKEN = re.compile(rb"HTTP/[\d.]+\" 5\d\d")
"""A request that a server could not answer."""

MARKS = (
    # pytest: ids, assertion blocks, summary
    _row(VERDICT, rb"(?:FAILED|ERROR) \S+\.py\b", b".py"),
    _row(VERDICT, rb"\S+\.py::.* (?:FAILED|ERROR)\b", b" failed| error"),
    _row(VERDICT, rb"_{3,} \S.* _{3,}\s*$"),
    _row(BLOCK, rb">\s{2,}\S", more=rb"E(?:\s|$)|>|\s*$|\s{4,}", last=1),
    _row(BLOCK, rb"\S+\.py:\d+: in ", b".py:", more=rb"\s+\S|E(?:\s|$)"),
    _row(BLOCK, rb"\S+\.py:\d+: \w", b".py:"),
    _row(BLOCK, rb"E\s+\S", more=rb"E(?:\s|$)"),
    # unittest
    _row(VERDICT, rb"(?:FAIL|ERROR): .*\(", b"fail: |error: ", stop=rb"={60,}|Ran \d"),
    _row(VERDICT, rb"FAILED \(", b"failed ("),
    # jest, vitest, mocha, TAP
    _row(
        VERDICT,
        rb"\s?FAIL\s+\S.* > ",
        b"fail",
        stop=rb"\xe2\x8e\xaf{2}|(?:\xe2\x8e\xaf){3}|\s?FAIL|\s*Test Files",
    ),
    _row(VERDICT, rb"\s?FAIL\s", b"fail"),
    _row(
        VERDICT,
        rb"\s*\xe2\x97\x8f ",
        b"\xe2\x97\x8f",
        stop=rb"\s*\xe2\x97\x8f |Test Suites:|PASS |FAIL |Snapshot Summary",
    ),
    _row(VERDICT, rb"\s*not ok ", b"not ok ", stop=rb"\s*(?:\.\.\.$|ok |not ok )"),
    _row(
        VERDICT,
        rb"\s*(?:\xe2\x9c[\x95-\x97]|\xc3\x97)(?! \d+ problems? \(0 errors)",
        b"\xe2\x9c|\xc3\x97",
        more=rb"\s{2,}(?!\xe2|\xc3)\S|\s*$",
        most=40,
    ),
    _row(VERDICT, rb"\s+\d+\) \S", stop=rb"\s+\d+\) |\s*$"),
    _row(ERROR, rb"\s+[\w.$]*(?:Error|Exception)\b", b"error|exception", more=rb"\s+\S|\s*$", most=40),
    # go
    _row(VERDICT, rb"\s*--- FAIL: ", b"--- fail: ", more=rb"\s+(?![-=]{3}|\s)"),
    _row(PLACE, rb"\s+\S+\.go:\d+: ", b".go:"),
    _row(VERDICT, rb"FAIL$", b"fail"),
    _row(VERDICT, rb"panic: |fatal error: |runtime: ", b"panic: |fatal error: |runtime: ", stop=_BLANK),
    _row(ERROR, rb"goroutine \d+ \[", b"goroutine", stop=_BLANK, most=16),
    # cargo, rustc
    _row(VERDICT, rb"error(?:\[\w+\])?: ", b"error", stop=_BLANK),
    _row(WEAK, rb"warning: ", b"warning: ", stop=_BLANK),
    _row(
        VERDICT,
        rb"test .* \.\.\. FAILED|test result: FAILED|---- .* stdout ----",
        b"... failed|result: failed|stdout ----",
    ),
    _row(VERDICT, rb"thread '.*panicked at", b"panicked", stop=rb"note: |stack backtrace:|\s*$"),
    _row(VERDICT, rb"failures:", b"failures:", more=rb"\s{4}\S"),
    # tsc, eslint, ruff, mypy, gcc, clang, javac
    _row(VERDICT, rb"error TS\d+", b"error ts", more=rb"\s*$|\d+ |\s", is_id=False, anywhere=True),
    _row(VERDICT, rb"\s+\d+:\d+\s+error\s", b"error", titled=True, is_id=False),
    _row(BLOCK, rb"\s+\d+:\d+\s+warning\s", b"warning", titled=True, is_id=False),
    _row(
        VERDICT,
        _PLACE + rb":\d+:(?:\d+:)? (?:fatal )?error",
        b"error",
        more=rb"\s*\d* *\||\s+\S",
        is_id=False,
    ),
    _row(VERDICT, _PLACE + rb":\d+:\d+: [A-Z]+\d+ ", is_id=False),
    _row(VERDICT, rb"[A-Z]{1,4}\d+ (?:\[|\S+ )", stop=_BLANK, is_id=False),
    _row(WEAK, _PLACE + rb":\d+:(?:\d+:)? (?:warning|note)", b"warning|note", more=rb"\s*\d* *\||\s+\S"),
    _row(
        VERDICT,
        rb"undefined reference|ld returned|linker command failed",
        b"undefined reference|ld returned|linker command",
        is_id=False,
        anywhere=True,
    ),
    # make, ninja, cmake, ctest
    _row(VERDICT, rb"\w(?:\[\d+\])?: \*\*\*", b": ***", anywhere=True),
    _row(VERDICT, rb"ninja: (?:error|build stopped)|FAILED: ", b"ninja: |failed: "),
    _row(VERDICT, rb"CMake Error", b"cmake error", more=rb"\s", most=30),
    _row(WEAK, rb"CMake Warning", b"cmake warning", more=rb"\s", most=30),
    _row(
        VERDICT,
        rb"-- Configuring incomplete|\s*\d+ - .*\((?:Failed|Timeout|SEGFAULT)",
        b"incomplete|(failed|(timeout|(segfault",
    ),
    _row(VERDICT, rb"\*\*\*Failed", b"***failed", anywhere=True),
    # npm, pnpm, pip, uv, docker, maven, gradle
    _row(VERDICT, rb"npm (?:ERR!|error)|\s*ERR_|error Command|\[ERROR\]|FAILURE: ", b"err|failure: "),
    _row(VERDICT, rb"(?:ERROR|error|Error): ", b"error: ", more=rb"\s+\S"),
    _row(VERDICT, rb"\s*\xc3\x97 ", b"\xc3\x97", more=rb"\s+\S"),
    _row(
        VERDICT,
        rb"#\d+ ERROR|ERROR \[|Dockerfile:\d+",
        b"error|dockerfile:",
        more=rb"-{3,}|\s*\d* \| |\s*>>> ",
    ),
    # stack traces
    _row(ERROR, rb"\s*Traceback \(most recent call last\)", b"traceback", more=rb"\s|\|", last=1),
    _row(ERROR, rb"(?:Current thread|Thread) 0x", b"thread 0x", more=rb"\s+File ", most=12),
    _row(
        ERROR,
        rb"Exception in thread|Caused by: ",
        b"exception in|caused by",
        more=rb"\s+(?:at |\.\.\. )",
        most=24,
    ),
    _row(
        ERROR,
        rb"(?:Uncaught )?[\w.$]*(?:Error|Exception)\b(?:: |\s|$)",
        b"error|exception",
        more=rb"\s+\S",
        most=24,
    ),
    # git
    _row(VERDICT, rb"CONFLICT |fatal: | ! \[|error: ", b"conflict |fatal: | ! [|error: "),
    # logs with times, JSON lines, and any other words
    _row(
        ERROR,
        rb"\b(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC)\b",
        b"error|fatal|critical|severe|panic",
        anywhere=True,
    ),
    _row(ERROR, rb"""\blevel["']?[=:]\s*["']?(?i:error|fatal|critical)""", b"level", anywhere=True),
    _row(
        ERROR,
        rb"egmentation fault|core dumped|command not found|No such file|Permission denied",
        b" fault|core dumped|not found|no such file|permission denied",
        anywhere=True,
    ),
    _row(
        PLACE,
        rb"\b(?:[Ee]rror|FAIL(?:ED|URE)?|[Ff]ail(?:ed|ure)|[Ff]atal|[Pp]anic|Killed|Aborted)\b",
        b"error|fail|fatal|panic|killed|aborted",
        anywhere=True,
    ),
    _row(PLACE, _FILE.pattern, b".", anywhere=True),
    _row(PLACE, rb"\.\w{1,5}\"? line \d", b" line ", anywhere=True),
    _row(WEAK, rb"\b(?i:%s)\b" % _WEAK_WORDS, _WEAK_WORDS, anywhere=True),
)
_COUNT = _row(VERDICT, b"", is_id=False)
_WORDLESS = sum(1 << place for place, row in enumerate(MARKS) if not row.words)
_MAYBE_WORDLESS = re.compile(b"|".join(row.pattern for row in MARKS if not row.words))
_ROWS = {
    word.decode("latin-1").lower(): sum(1 << place for place, row in enumerate(MARKS) if word in row.words)
    for word in sorted({word for row in MARKS for word in row.words})
}
"""Each word, and the set of bits of the rows that may match a line which holds it."""
_FINDERS: "dict[int, Callable[[bytes], object]]" = {}
_LONG = 4000


def candidates(lines: "Sequence[bytes]") -> "set[int]":
    """Return the indexes of the lines that have something in them that a row may look for."""
    data = b"\n".join(lines)
    starts = [*accumulate(map((1).__add__, map(len, lines)), initial=0)]
    places = [*likely(data, every=True), *(found.start() for found in _FILE.finditer(data))]
    places += (found.start() for found in _BEGIN.finditer(b"\n" + data))
    return {bisect(starts, place) - 1 for place in places}


def counts(line: bytes, *, zero: bool = False) -> bool:
    """True if a line reports failures by a number; with `zero`, also if that is their absence."""
    if (b"ail" in line or b"rror" in line) and _DIGIT.search(line) and _COUNTED[zero].search(b" " + line):
        return True
    return not zero and b"HTTP/" in line and BROKEN.search(line) is not None


def likely(data: bytes, *, every: bool = False) -> list[int]:
    """Return where in an output words of failures are, or `every` word that a row looks for."""
    text = data.decode("latin-1").lower()
    patterns = [*_STRONG, *_OTHERS] if every else [*_STRONG]
    patterns += _SIGNS * (not text.isascii()) + ("\\*{3}",) * ("*" in text)
    return [found.start() for pattern in patterns for found in re.finditer(pattern, text)]


def row_of(line: bytes) -> Row | None:
    """Return the first row that a line matches."""
    if len(line) > _LONG:  # its beginning, and what is around the first word
        place = min(likely(line[_LONG // 2 :]), default=0) + _LONG // 2
        line = line[: _LONG // 2] + line[max(_LONG // 2, place - _LONG // 4) : place + _LONG // 4]
    text = line.decode("latin-1").lower()
    rows = _WORDLESS if _MAYBE_WORDLESS.match(line) else 0
    for word, places in _ROWS.items():
        if word in text:
            rows |= places
    row = None
    while rows:
        place = (rows & -rows).bit_length() - 1
        if place not in _FINDERS:
            pattern = re.compile(MARKS[place].pattern)
            _FINDERS[place] = pattern.search if MARKS[place].anywhere else pattern.match
        if _FINDERS[place](line):
            row = MARKS[place]
            break
        rows &= rows - 1
    if row is not None and row.weight <= ERROR and FOREIGN.match(line):
        row = None
    return _COUNT if (row is None or row.weight <= ERROR) and counts(line) else row


TOOLS = {
    "pytest": rb"^=+ test session starts|\b\d+ (?:passed|failed|error)\w*.* in [\d.]+s",
    "unittest": rb"^Ran \d+ tests? in ",
    "jest": rb"^Test Suites: |^Tests: +\d",
    "vitest": rb"^ *Test Files +\d|^ *RUN +v\d",
    "mocha": rb"^ +\d+ passing\b|^ +\d+ failing\b",
    "tap": rb"^(?:# |\xe2\x84\xb9 )tests \d|^1\.\.\d+$",
    "playwright": rb"^Running \d+ tests? using|^ +\d+ (?:passed|failed|flaky) \(",
    "go": rb"^(?:ok|FAIL|\?) *\t|^=== RUN|^--- (?:PASS|FAIL)",
    "cargo": rb"^ +(?:Compiling|Finished|Checking|Downloaded) |^test result: |^running \d+ tests?$",
    "tsc": rb"error TS\d+",
    "eslint": rb"\d+ problems? \(",
    "ruff": rb"^Found \d+ errors?\b|^All checks passed",
    "mypy": rb"^Found \d+ errors? in|^Success: no issues found",
    "compiler": rb":\d+:\d+: (?:fatal error|error|warning): ",
    "make": rb"^g?make(?:\[\d+\])?: |^\[\d+/\d+\] |^ *(?:gcc|g\+\+|cc|c\+\+|clang|ar|ld) -?\S+ ",
    "cmake": rb"^-- (?:Configuring|Generating|Build files|The C)|^\[ *\d+%\] (?:Building|Built|Linking)",
    "npm": rb"^(?:added|changed|up to date|removed).*\d+ packages?|^npm |^Packages: \+|^Progress: resolved",
    "pip": rb"^ *(?:Collecting|Downloading|Requirement already|Successfully installed|Using cached) ?",
    "uv": rb"^(?:Resolved|Installed|Prepared|Audited|Uninstalled) \d+ packages?",
    "docker": rb"^#\d+ (?:\[|DONE|CACHED|ERROR|sha256)|^Step \d+/\d+ : ",
    "java": rb"^\[INFO\] |^Tests run: |^BUILD (?:SUCCESS|FAILURE|FAILED)",
}
"""Tools whose successful output is a summary for its readers, not the answer itself."""

_TOOL = re.compile(
    b"|".join(b"(?P<%s>%s)" % (name.encode(), text) for name, text in TOOLS.items()), re.MULTILINE
)
CONTENT = "git"
"""What prints an answer of which no line is like another."""
_CONTENT = re.compile(rb"\A(?:diff --git |commit [0-9a-f]{7,40}\b|On branch |HEAD detached )")


def tool_of(head: bytes, tail: bytes) -> str:
    """Return the name of the tool that prints such a beginning and such an end; "" if none is known."""
    if _CONTENT.match(plain(head)):
        return CONTENT
    found = _TOOL.search(plain(tail)) or _TOOL.search(plain(head))
    return found.lastgroup or "" if found else ""
