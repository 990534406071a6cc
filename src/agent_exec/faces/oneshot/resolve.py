"""From the tokens of a command to the argv that is spawned: through the system's shell, or as they are."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

POSIX_SHELLS = ("bash", "dash", "ksh", "sh", "zsh")
POWERSHELLS = ("powershell", "pwsh")

LONGEST_WORD = 32_000
"""How many characters fit into one word of an argv: Linux takes 128 KiB, and a character up to 4 bytes."""

# PowerShell ends a quoted string at the typographic kinds too.
_SINGLE_QUOTES = "'\u2018\u2019\u201a\u201b"

# By itself it exits with 0 or 1, whatever the program's code was. A program that was not found, or a
# cmdlet that failed, leaves no code at all: that is 1, not the 0 that `exit $null` would be.
_HAND_ON = "; if ($?) { exit 0 } elseif ($LASTEXITCODE) { exit $LASTEXITCODE } exit 1"


def shell_for(platform: str) -> tuple[str, ...]:
    """Return the shell of a platform, as `sys.platform` calls it, with its switches; a line follows them."""
    if platform == "win32":
        return ("pwsh.exe", "-NoLogo", "-NoProfile", "-Command")
    if platform == "darwin":
        return ("zsh", "-lc")
    return ("/bin/sh", "-c")


def resolve_command(command: "Sequence[str]", shell_mode: str, shell: "Sequence[str]") -> list[str]:
    """Return the argv for these tokens.

    In "direct" mode the tokens are the argv, and whoever spawns it looks the
    program up. In "default" mode the shell gets one line in which every
    token is quoted: nothing in a token means anything to the shell.
    """
    if shell_mode == "direct":
        return list(command)
    if shell_name(shell) in POWERSHELLS:
        return [*shell, f"& {' '.join(map(quote_powershell, command))}{_HAND_ON}"]
    line = " ".join(map(quote_posix, command))
    if len(line) > LONGEST_WORD:
        # The same command; but only each token, not the sum of them, must fit into one word.
        return [*shell, '"$@"', shell[0], *command]
    return [*shell, line]


def shell_name(shell: "Sequence[str]") -> str:
    """Return the plain name of a shell's program; it says how words are quoted for it."""
    name = shell[0].replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.lower().endswith(".exe") else name


def quote_posix(token: str) -> str:
    """Quote a token for a POSIX shell: always, so that it is no keyword, alias, option or assignment."""
    return "'" + token.replace("'", "'\"'\"'") + "'"


def quote_powershell(token: str) -> str:
    """Quote a token for PowerShell, where a quote of any kind is doubled."""
    for quote in _SINGLE_QUOTES:
        token = token.replace(quote, quote * 2)
    return f"'{token}'"
