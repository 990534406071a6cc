"""Names and numbers of signals."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

TERM: int = _signal.SIGTERM
KILL: int = _signal.SIGKILL
INT: int = _signal.SIGINT

_NUMBERS = {
    name: int(getattr(_signal, name))
    for name in dir(_signal)
    if name.startswith("SIG") and name[3:].isalnum() and isinstance(getattr(_signal, name), int)
}
_ALIASES = ("SIGCLD", "SIGIOT", "SIGPOLL", "SIGRTMIN", "SIGRTMAX")
_NAMES = {number: name for name, number in _NUMBERS.items() if name not in _ALIASES}
_FIRST = _NUMBERS.get("SIGRTMIN", 0)
_LAST = _NUMBERS.get("SIGRTMAX", 0)


def signal_name(number: int) -> str:
    """Give a signal's name, such as "SIGTERM"."""
    if number in _NAMES:
        return _NAMES[number]
    if _FIRST <= number <= _LAST and _FIRST:
        return "SIGRTMIN" if number == _FIRST else f"SIGRTMIN+{number - _FIRST}"
    return f"SIG{number}"


def signal_number(name: str) -> int | None:
    """Give the number of a signal named "TERM", "SIGTERM" or "15"; None if there is none."""
    word = name.upper()
    if word.isdecimal():
        number = int(word)
        return number if number in _NAMES or (_FIRST and _FIRST <= number <= _LAST) else None
    return _NUMBERS.get(word if word.startswith("SIG") else f"SIG{word}")
