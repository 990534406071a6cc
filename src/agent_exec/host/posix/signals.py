"""Names and numbers of signals, and how a helper process hears of those that concern it."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
else:
    import _signal

TERM: int = _signal.SIGTERM
KILL: int = _signal.SIGKILL
INT: int = _signal.SIGINT
CONT: int = _signal.SIGCONT

_NUMBERS = {
    name: int(getattr(_signal, name))
    for name in dir(_signal)
    if name.startswith("SIG") and name[3:].isalnum() and isinstance(getattr(_signal, name), int)
}
_ALIASES = ("SIGCLD", "SIGIOT", "SIGPOLL", "SIGRTMIN", "SIGRTMAX")
_NAMES = {number: name for name, number in _NUMBERS.items() if name not in _ALIASES}
_FIRST = _NUMBERS.get("SIGRTMIN", 0)
_LAST = _NUMBERS.get("SIGRTMAX", 0)


def forget_all() -> None:
    """Block all but the end of children, and ignore none: commands inherit what is ignored.

    A command, or a person, may send a signal to all that runs; helpers end
    when their owner does.
    """
    _signal.set_wakeup_fd(-1)  # whose descriptor may be another's by now
    _signal.pthread_sigmask(_signal.SIG_SETMASK, _signal.valid_signals() - {_signal.SIGCHLD})
    for number in _signal.valid_signals():
        # Python itself needs these two ignored; a launch restores them for the command.
        if number not in (_signal.SIGPIPE, _signal.SIGXFSZ) and _signal.getsignal(number) != _signal.SIG_DFL:
            try:
                _signal.signal(number, _signal.SIG_DFL)
            except OSError:
                continue  # KILL and STOP


class Blocked:
    """Blocks signals of this thread for a `with` block, by default all of them."""

    __slots__ = ("_former", "_numbers")

    def __init__(self, *numbers: int) -> None:
        self._numbers = numbers or _signal.valid_signals()

    def __enter__(self) -> None:
        self._former = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
        try:
            # The call itself runs the handlers of what has come before it.
            _signal.pthread_sigmask(_signal.SIG_BLOCK, self._numbers)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, self._former)


def listen_for_children() -> int:
    """Return a descriptor that becomes readable whenever a child has exited."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    former = _signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if former >= 0:
        os.close(former)
    _signal.signal(_signal.SIGCHLD, lambda _number, _frame: None)
    return reader


def on_terminate(call: "Callable[[], object]") -> None:
    """Call this when this process, a detached one, is asked to end by SIGTERM; all others stay blocked."""
    _signal.signal(_signal.SIGTERM, lambda _number, _frame: call())
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGTERM,))


def signal_name(number: int) -> str:
    """Return a signal's name, such as "SIGTERM"."""
    if number in _NAMES:
        return _NAMES[number]
    if _FIRST <= number <= _LAST and _FIRST:
        return "SIGRTMIN" if number == _FIRST else f"SIGRTMIN+{number - _FIRST}"
    return f"SIG{number}"


def signal_number(name: str) -> int | None:
    """Return the number of a signal named "TERM", "SIGTERM", "SIGRTMIN+1" or "15"; None if there is none."""
    word = name.upper()
    if word.isdecimal():
        number = int(word) if len(word) < 4 else -1
        return number if number in _NAMES or (_FIRST and _FIRST <= number <= _LAST) else None
    word = word if word.startswith("SIG") else f"SIG{word}"
    name, plus, offset = word.partition("+")
    if plus and name == "SIGRTMIN" and offset.isdecimal() and len(offset) < 4:
        return _FIRST + int(offset) if _FIRST and _FIRST + int(offset) <= _LAST else None
    return _NUMBERS.get(word)
