"""The settings of the interface, from the command line, the environment and files."""

import os

from agent_exec.apps.parse import UsageError
from agent_exec.faces.slash.guard import TIMEOUT
from agent_exec.faces.slash.permission import CONFIG, ShellPermission
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value
from agent_exec.places import here
from agent_exec.requests.opening import IN_FORCE, rule_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.apps.parse import Parsed
    from agent_exec.requests.arguments import Rules
    from agent_exec.sandbox.profile import Profile

THEMES = {
    "dark": "textual-dark",
    "light": "textual-light",
    "terminal-dark": "ansi-dark",
    "terminal-light": "ansi-light",
}


class Settings(Value):
    """The settings; `history` is its file, None keeps what was typed in memory.

    `folder` is what the first tab shows, `root` the folder of jobs, `timeout`
    None lets commands run without limit; `own` are files that no confined command
    may change.
    """

    folder: str
    permission: ShellPermission
    rules: "Rules" = IN_FORCE
    root: str | None = None
    profile: "Profile | None" = None
    history: str | None = None
    timeout: float | None = TIMEOUT
    theme: str = "auto"
    own: "Sequence[str]" = ()

    def __post_init__(self) -> None:
        if self.theme not in THEMES and self.theme != "auto":
            raise InvalidArgument(f"--theme takes auto, {', '.join(THEMES)}; got {self.theme!r}")
        if not os.path.isdir(self.folder):
            raise InvalidArgument(f"DIR must be a folder that exists; got {self.folder!r}")
        object.__setattr__(self, "folder", os.path.realpath(self.folder))


def settings_of(asked: "Parsed") -> Settings:
    """Return the settings that the command line, the environment and the files ask for."""
    from agent_exec.apps.profile import is_file
    from agent_exec.places import history_place

    options = asked.options
    if len(asked.words) > 1:
        raise UsageError(f"{asked.words[1]!r} is one word too many", "shell")
    start = here()
    rules = options.get("rules", IN_FORCE)
    decisive = [*rule_files(rules), os.path.join(start, CONFIG)]  # for no command to change
    return Settings(
        asked.words[0] if asked.words else start,
        ShellPermission.read(start),
        rules=rules,
        root=options.get("root"),
        profile=_profile(asked),
        history=history_place(),
        timeout=options.get("timeout", TIMEOUT) or None,
        theme=options.get("theme", "auto"),
        own=[*decisive, *filter(is_file, [options.get("sandbox", "")])],
    )


def _profile(asked: "Parsed") -> "Profile | None":
    """Return the profile of the sandbox; without roots, each command is confined to its folder."""
    options = asked.options
    if "sandbox" not in options:
        if "sandbox-root" in options:
            raise UsageError("--sandbox-root goes with --sandbox", "shell")
        return None
    from agent_exec.apps.profile import is_file, profile

    found = profile(asked, "sandbox", "sandbox-root")
    if not is_file(options["sandbox"]) and "sandbox-root" not in options:
        return found.replace(roots=())
    from agent_exec.requests.leaving import keep_out

    files = (*rule_files(options.get("rules", IN_FORCE)), options["sandbox"])
    keep_out([file for file in files if is_file(file)], found)
    return found


def theme_named(name: str, colorfgbg: str = "", *, colour: bool = True) -> str:
    """Return the library's name of a theme; auto follows the terminal's COLORFGBG.

    Without colour it is one that sets none, so that the terminal's own are seen.
    """
    if not colour:
        return THEMES["terminal-dark"]
    if name == "auto":
        name = "light" if colorfgbg.rpartition(";")[2] in ("7", "15") else "dark"
    return THEMES[name]
