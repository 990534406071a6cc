"""Turns words into the one line of text that a Windows process is started with."""

import ntpath

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_LINE = 32766
"""How many characters the system takes."""
LONGEST_SHELL_LINE = 8191
"""How many cmd.exe takes."""

_BLANK = " \t\n\v"
_BATCH = (".bat", ".cmd")
_SHELL_SWITCHES = ("/c", "/k")
# cmd.exe acts on these even between quotes, and knows no way to write them plainly.
_UNSAFE = {'"': "a double quote", "%": "a percent sign", "\n": "a line feed", "\r": "a carriage return"}
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./\\:+@")


class Verbatim(str):
    """A word that is quoted already, and goes into a command line as it is."""

    __slots__ = ()


def command_line(argv: "Sequence[str]") -> str:
    """Return the line from which a C program reads exactly these words."""
    return " ".join([_program(argv[0]), *map(quote, argv[1:])])


def quote(word: str) -> str:
    """Quote one word by the rules of Microsoft's C runtime.

    A backslash is itself unless a double quote follows: there, and at the
    end of a quoted word, each is written twice.
    """
    if isinstance(word, Verbatim):
        return word
    if word and not any(character in word for character in f'{_BLANK}"'):
        return word
    parts = ['"']
    slashes = 0
    for character in word:
        if character == "\\":
            slashes += 1
            continue
        if character == '"':
            parts.append("\\" * (2 * slashes + 1))
        elif slashes:
            parts.append("\\" * slashes)
        slashes = 0
        parts.append(character)
    parts.append("\\" * (2 * slashes))
    parts.append('"')
    return "".join(parts)


def length(line: str) -> int:
    """Return how many characters the system counts in a line."""
    return len(line.encode("utf-16-le", "surrogatepass")) // 2


def is_batch(program: str) -> bool:
    """True if cmd.exe has to read this file; the system overlooks blanks and dots at a name's end."""
    return program.rstrip(" .").lower().endswith(_BATCH)


def batch_words(script: str, words: "Sequence[str]") -> tuple[str, ...]:
    """Return the arguments with which cmd.exe runs a batch file on these words.

    Whatever a word says, cmd.exe takes it for a word. What cannot be written
    so is refused: cmd.exe would act on it.
    """
    quoted = [_quote_for_batch(script, "path", always=True)]
    quoted += [_quote_for_batch(word, "argument") for word in words]
    return _shell_words(("/e:on", "/v:off", "/d"), "/c", " ".join(quoted))


def shell_words(program: str, words: "Sequence[str]") -> tuple[str, ...] | None:
    """Return the arguments for a cmd.exe that is asked to run one line; None for any other request.

    The line is the one word after /c or /k, and reaches cmd.exe as it was
    written: the quotes in it are cmd.exe's to read, not the C runtime's.
    """
    if ntpath.basename(program).lower() not in ("cmd", "cmd.exe") or len(words) < 2:
        return None
    *switches, action, line = words
    if action.lower() not in _SHELL_SWITCHES or isinstance(line, Verbatim):
        return None
    if any(not switch.startswith("/") or switch.lower() in _SHELL_SWITCHES for switch in switches):
        return None
    return _shell_words([switch for switch in switches if switch.lower() != "/s"], action, line)


def _shell_words(switches: "Sequence[str]", action: str, line: str) -> tuple[str, ...]:
    # With /s the outermost quotes are taken off and nothing else is changed.
    return (*switches, "/s", action, Verbatim(f'"{line}"'))


def _quote_for_batch(word: str, what: str, *, always: bool = False) -> str:
    for character, name in _UNSAFE.items():
        if character in word:
            raise InvalidArgument(
                f"the {what} {word!r} holds {name}, which no batch file can be given safely. "
                "Run the program behind the batch file, or pass this by a file or by stdin",
                argument=word,
            )
    if word and not always and _PLAIN.issuperset(word):
        return word
    # The program that the batch file hands its words to reads them by the rules of `quote`.
    slashes = len(word) - len(word.rstrip("\\"))
    return f'"{word}{word[len(word) - slashes :]}"'


def _program(name: str) -> str:
    """Quote the first word, which has rules of its own: a quote ends it, and a backslash is itself."""
    if isinstance(name, Verbatim):
        return name
    if '"' in name:
        raise InvalidArgument(f"a program's name must not hold a double quote; got {name!r}", program=name)
    return f'"{name}"' if not name or any(character in name for character in _BLANK) else name
