"""Names and numbers of the signals that Windows can be asked to deliver.

INT, BREAK and TERM reach a process as a console break, which it may heed or
ignore; KILL ends it.
"""

INT = 2
KILL = 9
TERM = 15
BREAK = 21

_NUMBERS = {"SIGINT": INT, "SIGKILL": KILL, "SIGTERM": TERM, "SIGBREAK": BREAK}
_NAMES = {number: name for name, number in _NUMBERS.items()}

_CONTROL_C_EXIT = 0xC000013A
KILLED = 128 + KILL
"""The exit code that we give to what we kill."""


def signal_name(number: int) -> str:
    """Return a signal's name, such as "SIGTERM"."""
    return _NAMES.get(number, f"SIG{number}")


def signal_number(name: str) -> int | None:
    """Return the number of a signal named "TERM", "SIGTERM" or "15"; None if there is none."""
    word = name.upper()
    if word.isdecimal():
        number = int(word)
        return number if number in _NAMES else None
    return _NUMBERS.get(word if word.startswith("SIG") else f"SIG{word}")


def ending(code: int, *, killed: bool) -> tuple[int, str | None]:
    """Return the exit code and the signal that an outcome shows for the system's exit code.

    A signal is seen where the system leaves a trace of one: in the code that
    a console break leaves, and in the code we gave when we killed it. Every
    other code is shown as it is, up to 32 bits.
    """
    if code == _CONTROL_C_EXIT:
        return 128 + INT, signal_name(INT)
    if killed and code == KILLED:
        return code, signal_name(KILL)
    return code, None
