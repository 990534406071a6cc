"""The shape of what a caller asks for, checked before anything is looked up."""

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHELL_MODES = ("default", "direct")
SHELL_MODE = "default"
TIMEOUT_MS = 30_000
MAX_OUTPUT_CHARS = 200_000
LONGEST_TIMEOUT_MS = 120_000
LEAST_OUTPUT_CHARS = 1_000
MOST_OUTPUT_CHARS = 1_000_000


def check_exec_command(asked: "dict[str, Any]") -> "dict[str, Any]":
    """Give what exec_command is asked for, complete and of the right kinds; stdin in bytes."""
    return {
        "cwd": asked["cwd"],
        "command": check_command(asked["command"]),
        "shell_mode": check_shell_mode(asked.get("shell_mode", SHELL_MODE)),
        "stdin": check_stdin(asked.get("stdin")),
        "timeout_ms": check_whole("timeout_ms", asked.get("timeout_ms", TIMEOUT_MS), 1, LONGEST_TIMEOUT_MS),
        "max_output_chars": check_whole(
            "max_output_chars",
            asked.get("max_output_chars", MAX_OUTPUT_CHARS),
            LEAST_OUTPUT_CHARS,
            MOST_OUTPUT_CHARS,
        ),
    }


def check_command(value: object) -> list[str]:
    """Give the tokens; the first names a program, the others may be empty."""
    if not isinstance(value, list | tuple):
        raise InvalidArgument(
            f'command must be an array of strings, such as ["git", "status"]; got {shown(value)}',
            argument="command",
        )
    if not value:
        raise InvalidArgument(
            "command must have at least one element, the program's name", argument="command"
        )
    for index, token in enumerate(value):
        check_text(f"command[{index}]", token)
    if not value[0]:
        raise InvalidArgument("command[0] must name a program; got an empty string", argument="command[0]")
    return list(value)


def check_shell_mode(value: object) -> str:
    """Give the mode, if it is one."""
    if not isinstance(value, str) or value not in SHELL_MODES:
        raise InvalidArgument(
            f"shell_mode must be one of {', '.join(SHELL_MODES)}; got {shown(value)}", argument="shell_mode"
        )
    return value


def check_stdin(value: object) -> bytes | None:
    """Give the input in UTF-8; None if there is none."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidArgument(f"stdin must be a string; got {shown(value)}", argument="stdin")
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(
            "stdin must be text that UTF-8 can hold; "
            f"it has half of a surrogate pair at character {error.start}",
            argument="stdin",
        ) from None


def check_whole(name: str, value: object, least: int, most: int) -> int:
    """Give a whole number within its bounds; a float that is whole counts as one."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not least <= value <= most
        or value != int(value)
    ):
        raise InvalidArgument(
            f"{name} must be a whole number from {least} to {most}; got {shown(value)}", argument=name
        )
    return int(value)


def check_path(name: str, value: object) -> str:
    """Give the text of a path: not empty, and something that a system call can carry."""
    text = check_text(name, value)
    if not text or text.isspace():
        raise InvalidArgument(f'{name} must not be empty; "." is the root of the workspace', argument=name)
    return text


def check_text(name: str, value: object) -> str:
    """Give a text that a system call can carry."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{name} must be a string; got {shown(value)}", argument=name)
    if "\0" in value:
        raise InvalidArgument(f"{name} must not contain a NUL character", argument=name)
    if not value.isascii():
        try:
            value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise InvalidArgument(
                f"{name} must be text that can be encoded; "
                f"it has half of a surrogate pair at character {error.start}",
                argument=name,
            ) from None
    return value


def shown(value: object) -> str:
    """Show what was given, but not all of what is long."""
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if abs(value) < 1 << 64 else "a number of very many digits"
    if isinstance(value, str):
        return repr(value if len(value) <= 80 else value[:77] + "...")
    return f"a value of type {type(value).__name__}"
