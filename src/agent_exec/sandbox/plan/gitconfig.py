"""What a file of git's settings says, read without running git, and which files it has git run or obey."""

import os

from agent_exec.sandbox.plan.paths import led, read_small

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FILES = 100
_SPECIAL = frozenset('\\"#;')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}
_COMMANDS = frozenset(
    "alternaterefscommand askpass clean cmd command defaultkeycommand difffilter driver editor external"
    " fsmonitor gitproxy helper hookspath httpd packobjectshook pager process program proxycommand"
    " receivepack smudge sshcommand templatedir textconv tunnel uploadpack vcs worktree".split()
)
"""Names of settings by which git runs a program, or obeys another folder, whatever their section is."""

_TOOLS = frozenset("browser difftool guitool lfs man mergetool".split())
"""Sections whose `path` is a program."""

_HARMLESS = ("", "true", "false", "yes", "no", "on", "off", "0", "1")
_FOLDERS = frozenset("hookspath templatedir worktree".split())
"""Names of settings whose value is a folder, whatever it is called."""

_LFS = frozenset(
    f"git-lfs {verb}{skip}{file}"
    for verb, files in (
        ("clean", (" %f", " -- %f")),
        ("smudge", (" %f", " -- %f")),
        ("filter-process", ("",)),
    )
    for file in files
    for skip in ("", " --skip")
)
"""What `git lfs install` sets: a shell runs all of it, and so no other text that only begins so."""


def parse(text: str) -> list[tuple[str, str, str]]:
    """Return section, name and value of each setting, in order; section and name in small letters.

    What git would refuse is passed over: it is not obeyed either.
    """
    found: list[tuple[str, str, str]] = []
    section = ""
    lines = iter(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"))
    for raw in lines:
        line = raw.strip()
        while line.startswith("["):  # one line may hold several headers, of which the last counts
            end = _header_end(line)
            if end < 0:
                line = ""
                break
            section = line[1:end].replace('"', " ").replace(".", " ").split(" ", 1)[0].strip().lower()
            line = line[end + 1 :].strip()
        if not line or line[0] in "#;":
            continue
        name, equals, rest = line.partition("=")
        if not equals:
            found.append((section, _bare(name), "true"))
            continue
        found.append((section, name.strip().lower(), _value(rest, lines)))
    return found


def _bare(name: str) -> str:
    for mark in "#;":
        name = name.partition(mark)[0]
    return name.strip().lower()


def _header_end(line: str) -> int:
    """Return where the bracket closes that a section's header opens; -1 if it does not."""
    quoted = escaped = False
    for index, letter in enumerate(line):
        if escaped:
            escaped = False
        elif quoted and letter == "\\":
            escaped = True
        elif letter == '"':
            quoted = not quoted
        elif letter == "]" and not quoted:
            return index
    return -1


def _value(text: str, following: "Iterator[str]") -> str:
    """Return a value without quotes, escapes and comments; a backslash at the end joins the next line."""
    if not _SPECIAL.intersection(text):
        return text.strip()
    found: list[str] = []
    kept = 0
    quoted = False
    letters = iter(text.lstrip())
    while letter := next(letters, ""):
        if letter in "#;" and not quoted:
            break
        if letter == '"':
            quoted = not quoted
        elif letter == "\\":
            escaped = next(letters, "")
            if not escaped:
                letters = iter(next(following, ""))
                continue
            found.append(_ESCAPES.get(escaped, escaped))
        else:
            found.append(letter)
            if letter.isspace() and not quoted:
                continue
        kept = len(found)
    return "".join(found[:kept])


def obeyed(config: str, worktree: str, home: str) -> tuple[list[str], list[str]]:
    """Return the paths that a file of settings has git run or read settings from, and what could not be read.

    Paths are absolute and unresolved; whether anything is there is not looked at.
    """
    found: list[str] = []
    unread: list[str] = []
    waiting = [config]
    seen = {config}
    while waiting:
        file = waiting.pop()
        if len(seen) > _FILES:
            unread.append(file)  # they include each other under ever new spellings
            break
        try:
            settings = parse(read_small(file))
        except FileNotFoundError:
            continue
        except OSError:
            unread.append(file)
            continue
        for section, name, value in settings:
            if section in {"include", "includeif"} and name == "path":
                path = _join(os.path.dirname(file), value, home)
                found.append(path)
                if path not in seen:
                    seen.add(path)
                    waiting.append(path)
            elif section == "core" and name == "hookspath":
                path = _join(worktree, value, home)
                # This folder only holds stubs, which run what lies beside it.
                path = os.path.dirname(path) if os.path.basename(path) == "_" else path
                found.extend((path, *led(path)))
            else:
                found.extend(_files(value, worktree, home))
    return found, unread


def running(text: str, git: str = "", worktree: str = "") -> str:
    """Return the first setting of a file that has git run or obey something of its own, "" if none does.

    Of a repository whose folder is `git`, the `worktree` that points to it may be named.
    """
    for section, name, value in parse(text):
        if name == "worktree" and worktree and os.path.realpath(os.path.join(git, value)) == worktree:
            continue
        if _runs(section, name, value):
            return f"{section}.{name}"
    return ""


def _runs(section: str, name: str, value: str) -> bool:
    """True if git runs or obeys what a setting names."""
    if section in {"include", "includeif"} and name == "path":
        return True
    if section == "alias" and len(value.split()) > 1:  # git's own words can run others: -c, rebase --exec
        return True
    if value.startswith(("!", "ext::")) or (section == "protocol" and value.lower() != "never"):
        return True
    if name in _FOLDERS:
        return bool(value)
    if value.lower() in _HARMLESS or (section == "filter" and value in _LFS):
        return False
    return (
        name in _COMMANDS
        or name.endswith(("cmd", "hook", "prog"))
        or section == "pager"
        or (section in _TOOLS and name == "path")
        or ("/" in value and name in {"tool", "guitool", "smtpserver"})
    )


def _files(value: str, worktree: str, home: str) -> list[str]:
    """Return the words of a setting that name files which are there: which settings git runs is git's to say.

    A program without a slash comes from PATH, and a bare word after it is more often a verb than a file.
    """
    words = (word.strip("'\"!;()") for word in value.split())
    likely = (word for index, word in enumerate(words) if "/" in word or (index and "." in word))
    return [
        path for word in likely if "\0" not in word and os.path.isfile(path := _join(worktree, word, home))
    ]


def _join(base: str, value: str, home: str) -> str:
    if value == "~" or value.startswith("~/"):
        return home + value[1:]
    return os.path.join(base, value)
