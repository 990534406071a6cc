"""What the output of known tools looks like: one table of lines that report a failure, one of signatures.

A row of MARKS is tried on a line only if `may_match` says so, which is faster.
"""

import re
from bisect import bisect
from itertools import accumulate

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from re import Pattern
    from typing import Any

WEAK, PLACE, ERROR, BLOCK, VERDICT = 1, 2, 3, 4, 5
"""A word that may be harmless; a place or a word of failures; an error; a part of a report; a failure."""

WORDS = (
    *"err fail panic fatal xcept traceb warn assert expect undefined cannot can't unable denied".split(),
    *"refused killed abort dumped fault critical severe goroutine differ conflict *** problem".split(),
    *"incomplete missing invalid unused reject timeout .py: .go: http/ dockerfile: returned thread".split(),
    *(
        "not found",
        "no such",
        "caused by",
        "did not",
        "could not",
        "does not",
        " line ",
        "timed out",
        "stdout ----",
        "not ok",
    ),
    *(mark.encode().decode("latin-1").lower() for mark in "\u2715\u2717\u2716\u00d7\u25cf"),
)
_COMMON = (*WORDS[:8], "denied", "no such", "not found", "killed", "abort", "***")
"""In lower case: a line with none of these, and without a _BEGIN, matches no row."""
_BEGIN = re.compile(rb"\s*\d+:\d+ |[A-Z]{1,4}\d+ |[^\s:]+:\d+:\d+: [A-Z]|[>E]\s|_{3,} |-{4} |\s+\d+\) ")
_FILE = re.compile(rb"\.[A-Za-z]{1,5}(?:\", line |:|\()\d")
FOREIGN = re.compile(
    rb"\s+(?:File |at |\S*:)?.*(?:site-packages|node_modules|node:internal|/lib/python\d|/rustc/|java\.base/)"
)
"""A frame of a stack trace that is not the user's code; lines that are indented by four belong to it."""
_FRAME = re.compile(rb"\s{4,}(?!\s|File |at )")
COLOUR = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


class Row(Value):
    """A line that matters, and the lines after it that belong to it.

    These are the lines that match `more`, or all up to one that matches `stop`, at most `most`, and
    then `last` lines. `titled`: the nearest line above it that is not indented belongs to it, too.
    `is_id`: it names what has failed. A row with `needles` looks for its pattern anywhere in a line that
    holds one of these, in any case if all are in lower case; others at the beginning.
    """

    weight: int
    pattern: bytes
    more: "Pattern[bytes] | None" = None
    stop: "Pattern[bytes] | None" = None
    most: int = 80
    last: int = 0
    titled: bool = False
    is_id: bool = True
    needles: "tuple[bytes, ...]" = ()

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


def _row(weight: int, pattern: bytes, more: bytes = b"", stop: bytes = b"", **rest: "Any") -> Row:
    goes_on, ends = (re.compile(text) if text else None for text in (more, stop))
    return Row(weight, pattern, goes_on, ends, **rest)


_WEAK_WORDS = (
    *(b"warn", b"warning", b"cannot", b"unable", b"denied", b"refused", b"timed out", b"differ", b"missing"),
    *(b"invalid", b"could not", b"does not"),
)
_PLACE = rb"(?:[\w./\\@+~<>-]|:(?=[\\/]))+"
_BLANK = rb"\s*$"

_COUNTED = [
    re.compile(
        rb"[\s,(\[=]%s (?:failed|failures?|errors?|failing)\b|"
        rb"(?:[Ff]ailures|[Ee]rrors|[Ff]ailed)[:=] *%s|\bfail %s" % ((number,) * 3)
    )
    for number in (rb"[1-9]\d*", rb"\d+")
]
BROKEN = re.compile(rb"HTTP/[\d.]+\" 5\d\d")
"""A request that a server could not answer."""

MARKS = (
    # pytest: ids, assertion blocks, summary
    _row(VERDICT, rb"(?:FAILED|ERROR) \S+\.py\b"),
    _row(VERDICT, rb"\S+\.py::.* (?:FAILED|ERROR)\b"),
    _row(VERDICT, rb"_{3,} \S.* _{3,}\s*$"),
    _row(BLOCK, rb">\s{2,}\S", more=rb"E(?:\s|$)|>|\s*$|\s{4,}", last=1),
    _row(BLOCK, rb"\S+\.py:\d+: in ", more=rb"\s+\S|E(?:\s|$)"),
    _row(BLOCK, rb"\S+\.py:\d+: \w"),
    _row(BLOCK, rb"E\s+\S", more=rb"E(?:\s|$)"),
    # unittest
    _row(VERDICT, rb"(?:FAIL|ERROR): .*\(", stop=rb"={60,}|Ran \d"),
    _row(VERDICT, rb"FAILED \("),
    # jest, vitest, mocha, TAP
    _row(VERDICT, rb"\s?FAIL\s+\S.* > ", stop=rb"\xe2\x8e\xaf{2}|(?:\xe2\x8e\xaf){3}|\s?FAIL|\s*Test Files"),
    _row(VERDICT, rb"\s?FAIL\s"),
    _row(VERDICT, rb"\s*\xe2\x97\x8f ", stop=rb"\s*\xe2\x97\x8f |Test Suites:|PASS |FAIL |Snapshot Summary"),
    _row(VERDICT, rb"\s*not ok ", stop=rb"\s*(?:\.\.\.$|ok |not ok )"),
    _row(
        VERDICT,
        rb"\s*(?:\xe2\x9c[\x95-\x97]|\xc3\x97)(?! \d+ problems? \(0 errors)",
        more=rb"\s{2,}(?!\xe2|\xc3)\S|\s*$",
        most=40,
    ),
    _row(VERDICT, rb"\s+\d+\) \S", stop=rb"\s+\d+\) |\s*$"),
    _row(ERROR, rb"\s+[\w.$]*(?:Error|Exception)\b", more=rb"\s+\S|\s*$", most=40),
    # go
    _row(VERDICT, rb"\s*--- FAIL: ", more=rb"\s+(?![-=]{3}|\s)"),
    _row(PLACE, rb"\s+\S+\.go:\d+: "),
    _row(VERDICT, rb"FAIL$"),
    _row(VERDICT, rb"panic: |fatal error: |runtime: ", stop=_BLANK),
    _row(ERROR, rb"goroutine \d+ \[", stop=_BLANK, most=16),
    # cargo, rustc
    _row(VERDICT, rb"error(?:\[\w+\])?: ", stop=_BLANK),
    _row(WEAK, rb"warning: ", stop=_BLANK),
    _row(VERDICT, rb"test .* \.\.\. FAILED|test result: FAILED|---- .* stdout ----"),
    _row(VERDICT, rb"thread '.*panicked at", stop=rb"note: |stack backtrace:|\s*$"),
    _row(VERDICT, rb"failures:", more=rb"\s{4}\S"),
    # tsc, eslint, ruff, mypy, gcc, clang, javac
    _row(VERDICT, rb"error TS\d+", more=rb"\s*$|\d+ |\s", is_id=False, needles=(b"error TS",)),
    _row(VERDICT, rb"\s+\d+:\d+\s+error\s", titled=True, is_id=False),
    _row(BLOCK, rb"\s+\d+:\d+\s+warning\s", titled=True, is_id=False),
    _row(VERDICT, _PLACE + rb":\d+:(?:\d+:)? (?:fatal )?error", more=rb"\s*\d* *\||\s+\S", is_id=False),
    _row(VERDICT, _PLACE + rb":\d+:\d+: [A-Z]+\d+ ", is_id=False),
    _row(VERDICT, rb"[A-Z]{1,4}\d+ (?:\[|\S+ )", stop=_BLANK, is_id=False),
    _row(WEAK, _PLACE + rb":\d+:(?:\d+:)? (?:warning|note)", more=rb"\s*\d* *\||\s+\S"),
    _row(
        VERDICT, rb"", is_id=False, needles=(b"undefined reference", b"ld returned", b"linker command failed")
    ),
    # make, ninja, cmake, ctest
    _row(VERDICT, rb"\w(?:\[\d+\])?: \*\*\*", needles=(b": ***",)),
    _row(VERDICT, rb"ninja: (?:error|build stopped)|FAILED: "),
    _row(VERDICT, rb"CMake Error", more=rb"\s", most=30),
    _row(WEAK, rb"CMake Warning", more=rb"\s", most=30),
    _row(VERDICT, rb"-- Configuring incomplete|\s*\d+ - .*\((?:Failed|Timeout|SEGFAULT)"),
    _row(VERDICT, rb"", needles=(b"***Failed",)),
    # npm, pnpm, pip, uv, docker, maven, gradle
    _row(VERDICT, rb"npm (?:ERR!|error)|\s*ERR_|error Command|\[ERROR\]|FAILURE: "),
    _row(VERDICT, rb"(?:ERROR|error|Error): ", more=rb"\s+\S"),
    _row(VERDICT, rb"\s*\xc3\x97 ", more=rb"\s+\S"),
    _row(VERDICT, rb"#\d+ ERROR|ERROR \[|Dockerfile:\d+", more=rb"-{3,}|\s*\d* \| |\s*>>> "),
    # stack traces
    _row(ERROR, rb"\s*Traceback \(most recent call last\)", more=rb"\s|\|", last=1),
    _row(ERROR, rb"(?:Current thread|Thread) 0x", more=rb"\s+File ", most=12),
    _row(ERROR, rb"Exception in thread|Caused by: ", more=rb"\s+(?:at |\.\.\. )", most=24),
    _row(ERROR, rb"(?:Uncaught )?[\w.$]*(?:Error|Exception)\b(?:: |\s|$)", more=rb"\s+\S", most=24),
    # git
    _row(VERDICT, rb"CONFLICT |fatal: | ! \[|error: "),
    # logs with times, JSON lines, and any other words
    _row(
        ERROR,
        rb"\b(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC)\b",
        needles=(b"ERROR", b"FATAL", b"CRITICAL", b"SEVERE", b"PANIC"),
    ),
    _row(ERROR, rb"""\blevel["']?[=:]\s*["']?(?i:error|fatal|critical)""", needles=(b"level",)),
    _row(
        ERROR,
        b"",
        needles=(
            b"egmentation fault",
            b"core dumped",
            b"command not found",
            b"No such file",
            b"Permission denied",
        ),
    ),
    _row(
        PLACE,
        rb"\b(?:[Ee]rror|FAIL(?:ED|URE)?|[Ff]ail(?:ed|ure)|[Ff]atal|[Pp]anic|Killed|Aborted)\b",
        needles=(b"rror", b"FAIL", b"ail", b"atal", b"anic", b"Killed", b"Aborted"),
    ),
    _row(PLACE, _FILE.pattern, needles=(b".",)),
    _row(PLACE, rb"\.\w{1,5}\"? line \d", needles=(b" line ",)),
    _row(
        WEAK,
        rb"\b(?i:%s)\b" % b"|".join(_WEAK_WORDS),
        needles=_WEAK_WORDS,
    ),
)
_COUNT = _row(VERDICT, b"", is_id=False)
_FIRST = re.compile(
    b"|".join(b"(?P<r%d>%s)" % (place, row.pattern) for place, row in enumerate(MARKS) if not row.needles)
)
_ANYWHERE = [
    (place, row.needles, all(map(bytes.islower, row.needles)), re.compile(row.pattern).search)
    for place, row in enumerate(MARKS)
    if row.needles
]


def candidates(lines: "Sequence[bytes]") -> "set[int]":
    """Return the indexes of the lines that have something in them that a row may look for."""
    data = b"\n".join(lines)
    starts = [*accumulate(map(len, lines), lambda sum_, size: sum_ + size + 1, initial=0)]
    places = [*likely(data, WORDS), *(found.start() for found in _FILE.finditer(data))]
    found = {bisect(starts, place) - 1 for place in places}
    return found.union(place for place, line in enumerate(lines) if _BEGIN.match(line))


def counts(line: bytes, *, zero: bool = False) -> bool:
    """True if a line reports failures by a number; with `zero`, also if that is their absence."""
    if (b"ail" in line or b"rror" in line) and _COUNTED[zero].search(b" " + line):
        return True
    return not zero and b"HTTP/" in line and BROKEN.search(line) is not None


def likely(data: bytes, words: "Sequence[str]" = _COMMON) -> "Iterator[int]":
    """Return where in an output a word of failures is, the first of each in each line."""
    text = data.decode("latin-1").lower()  # a search in bytes is not faster
    for word in words:
        at = text.find(word)
        while at >= 0:
            yield at
            line_end = text.find("\n", at)
            at = text.find(word, line_end) if line_end >= 0 else -1


def row_of(line: bytes) -> Row | None:
    """Return the first row that a line matches."""
    found = _FIRST.match(line)
    first = int(found.lastgroup[1:]) if found and found.lastgroup else len(MARKS)
    lower = line.lower()
    for place, needles, low, search in _ANYWHERE:
        if place > first:
            break
        text = lower if low else line
        for needle in needles:
            if needle in text:
                if search(line):
                    first = place
                break
    row = MARKS[first] if first < len(MARKS) else None
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
    if _CONTENT.match(COLOUR.sub(b"", head)):
        return CONTENT
    found = _TOOL.search(COLOUR.sub(b"", tail)) or _TOOL.search(COLOUR.sub(b"", head))
    return found.lastgroup or "" if found else ""
