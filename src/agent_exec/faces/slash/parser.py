"""From the text after `/shell` to the request: what joins commands is refused, the rest taken apart."""

from agent_exec.faces.slash.feedback import SlashRefused
from agent_exec.faces.slash.splitting import joined, split
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FORBIDDEN = ("&", ";", "|", "$(", "${", "`", "<", ">", "\n", "\r", "\0")
"""What joins commands, redirects or expands; refused wherever it stands, in quotes too."""

FORBIDDEN_TEXT = "連結演算子は禁止"
FORBIDDEN_ENGLISH = " (joining operators are forbidden)"
LONGEST_LINE = 32_000
"""How many characters a command may have: what one word of an argv can hold, and more than a person types."""


class ShellCommandRequest(Value):
    """A command that was asked for: a program, its arguments, and the real folder it is to run in."""

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


class ShellCommandParser:
    """Turns text into requests; `japanese` leaves out the English words of what is refused."""

    __slots__ = ("japanese",)

    def __init__(self, *, japanese: bool = False) -> None:
        self.japanese = japanese

    def sanitize_args(self, raw: str) -> str:
        """Return the text as it is; raise SlashRefused if anything in it joins commands."""
        if any(operator in raw for operator in FORBIDDEN):
            raise SlashRefused(FORBIDDEN_TEXT if self.japanese else FORBIDDEN_TEXT + FORBIDDEN_ENGLISH)
        return raw

    def parse(self, raw: str, working_dir: str) -> ShellCommandRequest:
        """Return the request; raise SlashRefused for what is none."""
        self.sanitize_args(raw)
        if len(raw) > LONGEST_LINE:
            raise SlashRefused(f"shell: more than {LONGEST_LINE} characters; put the command into a file")
        try:
            words = split(raw)
        except ValueError:
            raise SlashRefused("shell: unterminated quote; close it, there is no escape for one") from None
        if not words or not words[0]:
            raise SlashRefused("shell: missing command; write it after /shell")
        return ShellCommandRequest(words[0], tuple(words[1:]), working_dir)


def is_japanese(environ: "Mapping[str, str]") -> bool:
    """True if messages are wanted in Japanese."""
    chosen = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    return chosen.split(".")[0].split("_")[0].casefold() in ("ja", "japanese")
