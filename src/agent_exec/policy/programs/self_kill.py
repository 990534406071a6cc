"""Finds commands that would end one of our own processes: this one, or one that this one descends from."""

import re
from collections.abc import Sequence

from agent_exec.model.identity import Ancestor
from agent_exec.policy.programs.effects import arguments, name_of
from agent_exec.policy.shell.word import Word

_ALL = "every process"
_OURS = "which is one of ours"
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
_ENDING = {
    "killall5": (".*", _ALL),
    **dict.fromkeys(("init", "telinit"), ("[016sS]", _ALL)),
    "loginctl": ("(?:terminate-|kill-|poweroff|reboot|halt).*", "a session of the user"),
}
"""Programs, a pattern of any word by which they end processes, and which those are."""
_HALTING = ("shutdown", "reboot", "poweroff", "halt")
_ASKING = ("--help", "--version", "-c", "-k", "--show")
_STOPPING = (
    "poweroff reboot halt kexec soft-reboot exit rescue emergency isolate default ctrl-alt-del".split()
)
_HOLDING = re.compile(
    r"user@|user-|user\.slice|session-|init\.scope|-\.slice|system\.slice|default\.target|\*"
)
"""Units that hold the processes of users, or all of them."""


def self_kill(words: Sequence[Word], ancestors: Sequence[Ancestor]) -> str | None:
    """Return a description of the processes of ours that a command would end; None if there are none."""
    name = name_of(words) if ancestors else ""
    texts = [word.text or "" for word in words[1:]]
    if name in _ENDING:
        pattern, what = _ENDING[name]
        return what if any(re.fullmatch(pattern, text, re.DOTALL) for text in (name, *texts)) else None
    if name in _HALTING:
        return None if any(text in _ASKING for text in texts) else _ALL
    match name:
        case "kill":
            return _kill(words, ancestors)
        case "pkill" | "skill":
            return _pkill(words, ancestors)
        case "killall":
            return _killall(words, ancestors)
        case "systemctl":
            return _systemctl([text for text in texts if text and text[0] != "-"])
        case "fuser":
            return _fuser(texts)
    return None


def _kill(words: Sequence[Word], ancestors: Sequence[Ancestor]) -> str | None:
    ours = {one.pid: "process" for one in ancestors}
    ours |= {-one.group: "process group" for one in ancestors if one.group}
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
        else:
            signal_given = True
            number = int(text) if re.fullmatch(r"\s*[-+]?\d+\s*", text) else 0
            if number == -1:
                return _ALL
            if number in ours:
                return f"{ours[number]} {abs(number)}, {_OURS}"
    return None


def _pkill(words: Sequence[Word], ancestors: Sequence[Ancestor]) -> str | None:
    operands, options = arguments([word for word in words if word.text != "--"], _PKILL_VALUED)
    fold, exact = _given(options, "-i", "--ignore-case"), _given(options, "-x", "--exact")
    full, inverse = _given(options, "-f", "--full"), _given(options, "-v", "--inverse")
    for one in ancestors:
        text = (one.line if full else "") or one.name
        found = not operands or _matches(operands[-1].text or ".", text, fold=fold, exact=exact)
        if _selected(one, options) and found != inverse:
            return f"process {one.pid} ({one.name}), {_OURS}"
    return None


def _given(options: dict[str, str], *names: str) -> bool:
    return any(name in options for name in names)


def _selected(one: Ancestor, options: dict[str, str]) -> bool:
    """True if a process is among those that the options of pkill select; a number may be any user's."""
    for option, trait in _SELECTING.items():
        own, value = getattr(one, trait), options.get(option)
        any_user = trait == "user" and (value or "").isdecimal()
        if value is not None and own not in (None, "") and not any_user and str(own) not in value.split(","):
            return False
    return True


def _matches(pattern: str, text: str, *, fold: bool, exact: bool) -> bool:
    try:
        regex = re.compile(pattern, re.IGNORECASE if fold else 0)
    except re.error:
        return pattern in text
    return bool(regex.fullmatch(text) if exact else regex.search(text))


def _killall(words: Sequence[Word], ancestors: Sequence[Ancestor]) -> str | None:
    operands, options = arguments([word for word in words if word.text != "--"], _KILLALL_VALUED)
    users = {options.get("-u"), options.get("--user")}
    fold, regex = _given(options, "-I", "--ignore-case"), _given(options, "-r", "--regexp")
    for one in ancestors:
        if one.user in users and not operands:
            return f"every process of {one.user}"
        for name in (word.text for word in operands if word.text):
            pattern = name if regex else re.escape(name.rpartition("/")[2][:15])
            if _matches(pattern, one.name, fold=fold, exact=not regex):
                return f"process {one.pid} ({one.name}), {_OURS}"
    return None


def _fuser(texts: list[str]) -> str | None:
    short = [text[1:] for text in texts if text[:1] == "-" and text[1:2] != "-" and not text[1:].isupper()]
    kills = "--kill" in texts or any("k" in letters for letters in short)
    folders = any(text == "--mount" or text.rstrip("/") in ("", ".", "..", "/proc") for text in texts if text)
    if kills and (folders or any("m" in letters or "c" in letters for letters in short)):
        return "every process that uses the file system or this folder"
    return None


def _systemctl(texts: list[str]) -> str | None:
    verb, units = texts[:1], texts[1:]
    if any(one.removesuffix(".target") in _STOPPING for one in (units if verb == ["start"] else verb)):
        return _ALL
    if verb and verb[0] in ("kill", "stop", "restart", "try-restart", "freeze"):
        return next((f"{unit}, to which we belong" for unit in units if _HOLDING.match(unit)), None)
    return None
