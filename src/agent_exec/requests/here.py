"""What the judge is told of here and now: our own processes, and a repository that git would take for one."""

import os.path

from agent_exec.policy.facts import Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.model.identity import Kin

_ENDING = (
    "kill",
    "shutdown",
    "poweroff",
    "reboot",
    "halt",
    "telinit",
    "systemctl",
    "loginctl",
    "init 0",
    "init 6",
    "fuser",
)
_QUOTES = str.maketrans("", "", "'\"\\")


def facts_here(
    command: "tuple[str, ...] | str",
    cwd: str | None = None,
    sets: "Sequence[str]" = (),
    writes: "Sequence[str]" = (),
) -> Facts:
    """Return what holds here for a command; only what can matter for it is looked for."""
    kin: tuple[Kin, ...] = ()
    if dangerous_to_us(command):
        from agent_exec.host import own_processes

        kin = own_processes()
    text = command if isinstance(command, str) else " ".join(command)
    disguised = cwd is not None and "git" in text and _disguised(cwd)
    return Facts(cwd, kin, tuple(sets), writes=tuple(writes), disguised=disguised)


def dangerous_to_us(command: "tuple[str, ...] | str") -> bool:
    """True if a command may be one that ends processes: only then is it worth knowing who we are."""
    text = command if isinstance(command, str) else " ".join(command)
    plain = text.translate(_QUOTES)
    return any(word in plain for word in _ENDING)


def _disguised(folder: str) -> bool:
    """True if git, when it looks for a repository from a folder upwards, finds one that is no `.git`."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return False
        if all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs")):
            return True
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
