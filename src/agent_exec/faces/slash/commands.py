"""The slash commands: which there are, and a typed line taken for one of them."""

from agent_exec.faces.slash.display import clipped
from agent_exec.faces.slash.feedback import SlashRefused
from agent_exec.model.value import Value

_BLANKS = " \t"


class SlashCommand(Value):
    """A command: its name, what may follow it, and what it does in a few words."""

    name: str
    arguments: str
    description: str

    @property
    def hint(self) -> str:
        """What to show while it is typed."""
        return f"/{self.name} {self.arguments}".rstrip() + f" | {self.description}"


COMMANDS = (
    SlashCommand("shell", "COMMAND", "run a command in this folder"),
    SlashCommand("jobs", "", "show the durable jobs"),
    SlashCommand("sessions", "", "show the open sessions"),
    SlashCommand("help", "", "show commands and keys"),
    SlashCommand("quit", "", "end what runs, and leave"),
)


class SlashCommandSubmitted(Value):
    """A command as it was typed: its name, and the text after it, as it is."""

    name: str
    args: str = ""


def parse_slash(line: str) -> SlashCommandSubmitted:
    """Take a typed line for a command; raise SlashRefused for what is none."""
    typed = line.strip(_BLANKS)
    if not typed.startswith("/"):
        raise SlashRefused("slash error: missing '/'; a command begins with it, such as /shell ls")
    end = min((place for blank in _BLANKS if (place := typed.find(blank)) >= 0), default=len(typed))
    name = typed[1:end]
    if not name:
        raise SlashRefused("slash error: missing command; /help shows them")
    if command_named(name) is None:
        raise SlashRefused(f"unknown command: {clipped(name, 40)}; /help shows them")
    return SlashCommandSubmitted(name, typed[end:].strip(_BLANKS))


def command_named(name: str) -> SlashCommand | None:
    """Return the command of this name; None if there is none."""
    return next((command for command in COMMANDS if command.name == name), None)
