"""Finds commands that would end one of our own processes: this one, or one that this one descends from."""

import re

from agent_exec.policy.programs.effects import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.model.identity import Ancestor
    from agent_exec.policy.shell.word import Word

    Ancestors = Sequence[Ancestor]

_ALL = "every process"
_STOPPING = (
    "poweroff reboot halt kexec soft-reboot exit rescue emergency isolate default ctrl-alt-del".split()
)
_HOLDING = re.compile(
    r"user@|user-|user\.slice|session-|init\.scope|-\.slice|system\.slice|default\.target|\*"
)
"""Units that hold the processes of users, or all of them."""
_SELECTING = {
    **dict.fromkeys(("-u", "-U", "--euid", "--uid"), "user"),
    **dict.fromkeys(("-g", "--pgroup"), "group"),
    **dict.fromkeys(("-s", "--session"), "session"),
    **dict.fromkeys(("-P", "--parent"), "parent"),
}
"""Options of pkill that select processes by one of their properties."""
_PKILL_VALUED = (
    *_SELECTING,
    *"-G -t -F -r -O --group --terminal --pidfile --signal --ns --nslist --older".split(),
)
_KILLALL_VALUED = "-u --user -s --signal -o -y -n -Z --older-than --younger-than --ns --context".split()


def self_kill(words: "Sequence[Word]", ancestors: "Ancestors") -> str | None:
    """Return a description of the processes of ours that a command would end; None if there are none."""
    inspect = _INSPECTORS.get(name_of(words)) if ancestors else None
    return inspect(words, ancestors) if inspect is not None else None


def _ours(one: "Ancestor") -> str:
    return f"process {one.pid} ({one.name}), which is one of ours"


def _kill(words: "Sequence[Word]", ancestors: "Ancestors") -> str | None:
    pids = {one.pid for one in ancestors}
    groups = {one.group for one in ancestors}
    signal_given, skip = False, False
    for word in words[1:]:
        text = word.text
        if text is None and "PPID" in word.source and not skip:
            return "the process above it"
        if skip or text is None:
            skip = False
        elif text in ("-s", "-n", "-q", "--signal", "--queue"):
            skip = signal_given = True
        elif text.startswith(("-l", "-L", "--list", "--table")) or (not signal_given and text == "-0"):
            return None
        elif text.startswith("-") and len(words) > 2 and not signal_given:
            signal_given = True
        elif re.fullmatch(r"\s*[-+]?\d+\s*", text):
            signal_given = True
            number = int(text)
            if number == -1:
                return _ALL
            if number in pids:
                return f"process {number}, which is one of ours"
            if number < 0 and -number in groups:
                return f"process group {-number}, which is one of ours"
        else:
            signal_given = True
    return None


def _parsed(words: "Sequence[Word]", valued: "Sequence[str]") -> "tuple[list[str | None], dict[str, str]]":
    """Return the operands, and the options with their values; signals are left out."""
    operands: list[str | None] = []
    options: dict[str, str] = {}
    rest = iter(words[1:])
    for word in rest:
        text = word.text
        if text is None or text[:1] != "-" or text == "-":
            operands.append(text)
        elif text in valued:
            options[text] = getattr(next(rest, None), "text", None) or ""
        elif text.startswith("--"):
            name, _, options[name] = text.partition("=")
        elif not text[1:].isupper() and not text[1:].isdecimal():
            for at, letter in enumerate(text[1:], 2):
                options[f"-{letter}"] = text[at:]
                if f"-{letter}" in valued:
                    break
    return operands, options


def _pkill(words: "Sequence[Word]", ancestors: "Ancestors") -> str | None:
    operands, options = _parsed(words, _PKILL_VALUED)
    for one in ancestors:
        text = one.line or one.name if {"-f", "--full"} & options.keys() else one.name
        fold = re.IGNORECASE if {"-i", "--ignore-case"} & options.keys() else 0
        exact = bool({"-x", "--exact"} & options.keys())
        found = not operands or _matches(operands[-1] or ".", text, fold, exact=exact)
        if _selected(one, options) and found != bool({"-v", "--inverse"} & options.keys()):
            return _ours(one)
    return None


def _selected(one: "Ancestor", options: "dict[str, str]") -> bool:
    """True if a process is among those that the options of pkill select; a number may be any user's."""
    for option, trait in _SELECTING.items():
        own, value = getattr(one, trait), options.get(option)
        any_user = trait == "user" and (value or "").isdecimal()
        if value is not None and own not in (None, "") and not any_user and str(own) not in value.split(","):
            return False
    return True


def _matches(pattern: str, text: str, flags: int, *, exact: bool) -> bool:
    try:
        regex = re.compile(pattern, flags)
    except re.error:
        return pattern in text
    return bool(regex.fullmatch(text) if exact else regex.search(text))


def _killall(words: "Sequence[Word]", ancestors: "Ancestors") -> str | None:
    operands, options = _parsed(words, _KILLALL_VALUED)
    users = {options[name] for name in ("-u", "--user") if name in options}
    fold = re.IGNORECASE if {"-I", "--ignore-case"} & options.keys() else 0
    regex = bool({"-r", "--regexp"} & options.keys())
    for one in ancestors:
        if one.user in users and not operands:
            return f"every process of {one.user}"
        for name in filter(None, operands):
            pattern = name if regex else re.escape(name.rpartition("/")[2][:15])
            if _matches(pattern, one.name, fold, exact=not regex):
                return _ours(one)
    return None


def _fuser(words: "Sequence[Word]", _ancestors: "Ancestors") -> str | None:
    texts = [word.text or "" for word in words[1:]]
    short = [text[1:] for text in texts if text[:1] == "-" and text[1:2] != "-" and not text[1:].isupper()]
    kills = "--kill" in texts or any("k" in letters for letters in short)
    folders = any(text == "--mount" or text.rstrip("/") in ("", ".", "..", "/proc") for text in texts if text)
    if kills and (folders or any("m" in letters or "c" in letters for letters in short)):
        return "every process that uses the file system or this folder"
    return None


def _halt(words: "Sequence[Word]", _ancestors: "Ancestors") -> str | None:
    asks = any(word.text in ("--help", "--version", "-c", "-k", "--show") for word in words[1:])
    return None if asks else _ALL


def _init(words: "Sequence[Word]", _ancestors: "Ancestors") -> str | None:
    return _ALL if any(word.text in ("0", "1", "6", "s", "S") for word in words[1:]) else None


def _systemctl(words: "Sequence[Word]", _ancestors: "Ancestors") -> str | None:
    texts = [word.text or "" for word in words[1:] if (word.text or "-")[:1] != "-"]
    targets = texts[1:] if texts[:1] == ["start"] else texts[:1]
    if any(target.removesuffix(".target") in _STOPPING for target in targets):
        return _ALL
    ends = texts[:1] and texts[0] in ("kill", "stop", "restart", "try-restart", "freeze")
    return next((f"{unit}, to which we belong" for unit in texts[1:] if ends and _HOLDING.match(unit)), None)


def _loginctl(words: "Sequence[Word]", _ancestors: "Ancestors") -> str | None:
    ending = ("terminate-", "kill-", "poweroff", "reboot", "halt")
    return (
        "a session of the user" if any((word.text or "").startswith(ending) for word in words[1:]) else None
    )


_INSPECTORS = {
    "kill": _kill,
    "pkill": _pkill,
    "skill": _pkill,
    "killall": _killall,
    "killall5": lambda _words, _ancestors: _ALL,
    **dict.fromkeys(("shutdown", "reboot", "poweroff", "halt"), _halt),
    **dict.fromkeys(("init", "telinit"), _init),
    "systemctl": _systemctl,
    "loginctl": _loginctl,
    "fuser": _fuser,
}
