"""What the program is told before it starts: folders, permission, rules, looks."""

import os

from agent_exec.faces.slash.guard import TIMEOUT
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value
from agent_exec.requests.opening import IN_FORCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.faces.slash.permission import ShellPermission
    from agent_exec.requests.arguments import Rules
    from agent_exec.sandbox.profile import Profile

THEMES = {
    "dark": "textual-dark",
    "light": "textual-light",
    "terminal-dark": "ansi-dark",
    "terminal-light": "ansi-light",
}


class Settings(Value):
    """How the program is to be; `history` is its file, None keeps what was typed in memory.

    `folder` is what the first tab shows, `root` the folder of jobs, `timeout`
    None lets commands run for ever; `own` are files that no confined command
    may change.
    """

    __slots__ = ("folder", "history", "own", "permission", "profile", "root", "rules", "theme", "timeout")

    def __init__(
        self,
        folder: str,
        permission: "ShellPermission",
        *,
        rules: "Rules" = IN_FORCE,
        root: str | None = None,
        profile: "Profile | None" = None,
        history: str | None = None,
        timeout: float | None = TIMEOUT,
        theme: str = "auto",
        own: "Sequence[str]" = (),
    ) -> None:
        if theme not in THEMES and theme != "auto":
            raise InvalidArgument(f"--theme takes auto, {', '.join(THEMES)}; got {theme!r}")
        if not os.path.isdir(folder):
            raise InvalidArgument(f"DIR must be a folder that exists; got {folder!r}")
        self.folder = os.path.realpath(folder)
        self.permission = permission
        self.rules = rules
        self.root = root
        self.profile = profile
        self.history = history
        self.timeout = timeout
        self.theme = theme
        self.own = tuple(own)


def theme_named(name: str, colorfgbg: str = "", *, colour: bool = True) -> str:
    """Return the name that the library has for a theme; auto follows what the terminal tells of itself.

    Without colour it is one that sets none, so that the terminal's own are seen.
    """
    if not colour:
        return THEMES["terminal-dark"]
    if name == "auto":
        last = colorfgbg.rpartition(";")[2]
        name = "light" if last in ("7", "15") else "dark"
    return THEMES[name]
