"""A typed line: its words, the slash command it is, and the request that follows `/shell`.

Both kinds of quotes keep all between them as it is, parts without a blank
between them are one word, and a backslash is a letter like others: nothing is
ever expanded.
"""

import re

from agent_exec.faces.slash.feedback import SlashRefused, clipped
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

BLANKS = " \t"
FORBIDDEN = ("&", ";", "|", "$(", "${", "`", "<", ">", "\n", "\r", "\0")
"""What joins commands, redirects or expands; refused anywhere in a line, in quotes too."""

FORBIDDEN_TEXT = "連結演算子は禁止"
FORBIDDEN_ENGLISH = " (joining operators are forbidden)"
LONGEST_LINE = 32_000
"""How many characters a command may have: what one word of an argv can hold, and more than a person types."""

_WORD = re.compile(r"""((?:[^ \t'"]+|'[^']*'|"[^"]*")*)(?:(['"])(.*))?""", re.DOTALL)
_QUOTED = re.compile(r"""(['"])(.*?)\1""", re.DOTALL)
_SPECIAL = frozenset(" \t'\"\n\r\v\f")


class Word(Value):
    """A word, where it begins and ends in its line, and the quote that is not closed, if any."""

    text: str
    start: int
    end: int
    open: str = ""


def words_in(line: str) -> list[Word]:
    """Return the words of a line, in order; only the last may have an open quote."""
    return [
        Word(_QUOTED.sub(r"\2", found[1]) + (found[3] or ""), *found.span(), found[2] or "")
        for found in _WORD.finditer(line)
        if found[0]
    ]


def quote(word: str) -> str:
    """Return a word so that `words_in` finds it as one word; as it is, if it can be."""
    if word and _SPECIAL.isdisjoint(word):
        return word
    if "'" in word and '"' not in word:
        return f'"{word}"'
    return "'" + word.replace("'", "'\"'\"'") + "'"


def joined(words: "tuple[str, ...]") -> str:
    """Return a line of these words."""
    return " ".join(map(quote, words))


class SlashCommand(Value):
    """A slash command: its name, what may follow it, and its description."""

    name: str
    arguments: str
    description: str

    @property
    def usage(self) -> str:
        """The command with its arguments, as it is typed."""
        return f"/{self.name} {self.arguments}".rstrip()

    @property
    def hint(self) -> str:
        """What is shown while it is typed."""
        return f"{self.usage} | {self.description}"


COMMANDS = (
    SlashCommand("shell", "COMMAND", "run a command in this folder"),
    SlashCommand("jobs", "", "show the durable jobs"),
    SlashCommand("sessions", "", "show the open sessions"),
    SlashCommand("help", "", "show commands and keys"),
    SlashCommand("quit", "", "end what runs, and leave"),
)


class SlashCommandSubmitted(Value):
    """A command as it was typed: its name, and the raw text after it."""

    name: str
    args: str = ""


def parse_slash(line: str) -> SlashCommandSubmitted:
    """Parse a typed line; raise SlashRefused unless it is a slash command."""
    typed = line.strip(BLANKS)
    if not typed.startswith("/"):
        raise SlashRefused("slash error: missing '/'; a command begins with it, such as /shell ls")
    name = re.split("[ \t]", typed[1:], maxsplit=1)[0]
    if not name:
        raise SlashRefused("slash error: missing command; /help shows them")
    if command_named(name) is None:
        raise SlashRefused(f"unknown command: {clipped(name, 40)}; /help shows them")
    return SlashCommandSubmitted(name, typed[1 + len(name) :].strip(BLANKS))


def command_named(name: str) -> SlashCommand | None:
    """Return the command of this name; None if there is none."""
    return next((command for command in COMMANDS if command.name == name), None)


class ShellCommandRequest(Value):
    """A requested command: a program, its arguments, and the real folder it is to run in."""

    program: str
    args: "tuple[str, ...]"
    working_dir: str

    @property
    def words(self) -> "tuple[str, ...]":
        """The program and its arguments."""
        return (self.program, *self.args)

    @property
    def line(self) -> str:
        """The words as one line, quoted where they need it."""
        return joined(self.words)


class ShellCommandParser(Value):
    """Parses the text after `/shell`; `japanese` omits the English words of a refusal."""

    japanese: bool = False

    def sanitize_args(self, raw: str) -> str:
        """Return the text unchanged; raise SlashRefused if anything in it joins commands."""
        if any(operator in raw for operator in FORBIDDEN):
            raise SlashRefused(FORBIDDEN_TEXT + ("" if self.japanese else FORBIDDEN_ENGLISH))
        return raw

    def parse(self, raw: str, working_dir: str) -> ShellCommandRequest:
        """Return the request; raise SlashRefused if the text is not a command."""
        self.sanitize_args(raw)
        if len(raw) > LONGEST_LINE:
            raise SlashRefused(f"shell: more than {LONGEST_LINE} characters; put the command into a file")
        found = words_in(raw)
        if found and found[-1].open:
            raise SlashRefused("shell: unterminated quote; close it, there is no escape for one")
        if not found or not found[0].text:
            raise SlashRefused("shell: missing command; write it after /shell")
        program, *args = (word.text for word in found)
        return ShellCommandRequest(program, tuple(args), working_dir)


def is_japanese(environ: "Mapping[str, str]") -> bool:
    """True if the locale asks for messages in Japanese."""
    chosen = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    return chosen.split(".")[0].split("_")[0].casefold() in ("ja", "japanese")
