"""Commands that would end our own processes: this one, or one that this one descends from."""

import re

from agent_exec.policy.programs.effects import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.model.identity import Kin
    from agent_exec.policy.shell.word import Word

_VALUED = "-s -n -q --signal --queue"
_STOPPING = "poweroff reboot halt kexec soft-reboot exit rescue emergency isolate default".split()
_HOLDING = re.compile(
    r"user@|user-|user\.slice|session-|init\.scope|-\.slice|system\.slice|default\.target|\*"
)
"""Units that hold the processes of users, or all of them."""
_PKILL_VALUED = (
    "-g -G -P -s -t -u -U -F -r -O --pgroup --group --parent --session --terminal --euid --uid --pidfile "
    "--signal --ns --nslist --older"
)


def harms(words: "Sequence[Word]", kin: "Sequence[Kin]") -> str | None:
    """Give which of our own processes a command would end, in words; None if it is none of them."""
    look = _LOOKERS.get(name_of(words)) if kin else None
    return look(words, kin) if look is not None else None


def _everyone(_words: "Sequence[Word]", _kin: "Sequence[Kin]") -> str | None:
    return "every process"


def _halt(words: "Sequence[Word]", _kin: "Sequence[Kin]") -> str | None:
    asks = any(word.text in ("--help", "--version", "-c", "-k", "--show") for word in words[1:])
    return None if asks else "every process"


def _init(words: "Sequence[Word]", _kin: "Sequence[Kin]") -> str | None:
    levels = [word.text for word in words[1:]]
    return "every process" if any(level in ("0", "1", "6", "s", "S") for level in levels) else None


def _systemctl(words: "Sequence[Word]", _kin: "Sequence[Kin]") -> str | None:
    texts = [word.text or "" for word in words[1:] if (word.text or "-")[:1] != "-"]
    if not texts:
        return None
    if texts[0] in _STOPPING:
        return "every process"
    ends = texts[0] in ("kill", "stop", "restart", "try-restart", "freeze")
    return next((f"{unit}, to which we belong" for unit in texts[1:] if ends and _HOLDING.match(unit)), None)


def _loginctl(words: "Sequence[Word]", _kin: "Sequence[Kin]") -> str | None:
    ends = any(
        (word.text or "").startswith(("terminate-", "kill-", "poweroff", "reboot", "halt"))
        for word in words[1:]
    )
    return "a session of the user" if ends else None


def _fuser(words: "Sequence[Word]", _kin: "Sequence[Kin]") -> str | None:
    kills = whole = False
    for word in words[1:]:
        text = word.text or ""
        short = text[:1] == "-" and text[1:2] != "-" and not text[1:].isupper()
        kills = kills or text == "--kill" or (short and "k" in text)
        whole = whole or text in ("--mount", "/", ".", "/proc") or (short and ("m" in text or "c" in text))
    return "every process that uses the file system or this folder" if kills and whole else None


def _kill(words: "Sequence[Word]", kin: "Sequence[Kin]") -> str | None:
    pids = {one.pid for one in kin}
    groups = {one.group for one in kin}
    first = True
    skip = False
    for word in words[1:]:
        text = word.text
        if skip:
            skip = False
            continue
        if text is None:
            if "PPID" in word.source:
                return "the process above it"
            continue
        if text in _VALUED.split():
            skip, first = True, False
            continue
        if text.startswith(("-l", "-L", "--list", "--table")) or (first and text == "-0"):
            return None
        if text == "--":
            first = False
            continue
        number = _number(text)
        if number is None or (first and text.startswith("-") and len(words) > 2):
            first = False
            continue  # a signal, a job of the shell, or nothing that it understands
        first = False
        if number == -1:
            return "every process"
        if number in pids:
            return f"process {number}, which is one of ours"
        if number < 0 and -number in groups:
            return f"process group {-number}, which is one of ours"
    return None


def _pkill(words: "Sequence[Word]", kin: "Sequence[Kin]") -> str | None:
    full = exact = fold = inverse = False
    pattern: str | None = None
    values: dict[str, str] = {}
    at = 1
    while at < len(words):
        text = words[at].text
        at += 1
        if text is None:
            pattern = pattern if pattern is not None else "."  # it may be anything
        elif text in _PKILL_VALUED.split() and at < len(words):
            values[text] = words[at].text or ""
            at += 1
        elif text.startswith("--"):
            full, exact = full or text == "--full", exact or text == "--exact"
            fold, inverse = fold or text == "--ignore-case", inverse or text == "--inverse"
        elif text.startswith("-") and len(text) > 1:
            if not text[1:].isupper() and not text[1:].isdecimal():
                full, exact = full or "f" in text, exact or "x" in text
                fold, inverse = fold or "i" in text, inverse or "v" in text
        else:
            pattern = text
    for one in kin:
        if (
            _selected(one, values)
            and (pattern is None or _matches(pattern, one, full, exact, fold)) != inverse
        ):
            return f"process {one.pid} ({one.name}), which is one of ours"
    return None


def _selected(one: "Kin", values: "dict[str, str]") -> bool:
    """Tell whether a process is among those that the options of pkill leave."""
    for option, value in values.items():
        wanted = value.split(",")
        if (
            option in ("-u", "-U", "--euid", "--uid")
            and one.user
            and one.user not in wanted
            and not value.isdecimal()
        ):
            return False
        if option in ("-g", "--pgroup") and one.group is not None and str(one.group) not in wanted:
            return False
        if option in ("-s", "--session") and one.session is not None and str(one.session) not in wanted:
            return False
        if option in ("-P", "--parent") and one.parent is not None and str(one.parent) not in wanted:
            return False
    return True


def _matches(pattern: str, one: "Kin", full: bool, exact: bool, fold: bool) -> bool:
    text = one.line or one.name if full else one.name
    try:
        regex = re.compile(pattern, re.IGNORECASE if fold else 0)
    except re.error:
        return pattern in text
    return bool(regex.fullmatch(text) if exact else regex.search(text))


def _killall(words: "Sequence[Word]", kin: "Sequence[Kin]") -> str | None:
    regex = any(word.text in ("-r", "--regexp") for word in words[1:])
    named = False
    skip = False
    for word in words[1:]:
        text = word.text
        if skip:
            skip = False
            if text is not None and any(one.user == text for one in kin) and not named:
                return f"every process of {text}"
            continue
        if text is None:
            continue
        if text.startswith("--user=") or (text.startswith("-u") and len(text) > 2):
            user = text.partition("=")[2] or text[2:]
            if any(one.user == user for one in kin):
                return f"every process of {user}"
        elif text in ("-u", "--user"):
            skip = True
        elif text in ("-s", "--signal", "-o", "-y", "-n"):
            skip = True
            named = True
        elif not text.startswith("-"):
            named = True
            for one in kin:
                same = (
                    re.search(text, one.name)
                    if regex and _compiles(text)
                    else one.name == text.rpartition("/")[2][:15]
                )
                if same:
                    return f"process {one.pid} ({one.name}), which is one of ours"
    return None


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


_LOOKERS = {
    "kill": _kill,
    "pkill": _pkill,
    "skill": _pkill,
    "killall": _killall,
    "killall5": _everyone,
    **dict.fromkeys(("shutdown", "reboot", "poweroff", "halt"), _halt),
    **dict.fromkeys(("init", "telinit"), _init),
    "systemctl": _systemctl,
    "loginctl": _loginctl,
    "fuser": _fuser,
}
