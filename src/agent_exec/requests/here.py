"""Collects the facts that the policy needs: our own processes, and a repository that is no `.git`."""

import os.path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.model.identity import Ancestor
    from agent_exec.policy.facts import Facts

_ENDING = tuple(
    "kill killall killall5 shutdown poweroff reboot halt telinit systemctl loginctl fuser".split()
)
"""How the words end that name a program which ends processes; an option may be joined before it."""
_LEVELS = frozenset("016sS")
"""Run levels in which the processes of users do not go on."""
_APART = str.maketrans({**dict.fromkeys("!#$%&()*+,./:;<=>?@[]^`{|}~", " "), **dict.fromkeys("'\"\\", "")})


def facts_here(
    command: "tuple[str, ...] | str",
    cwd: str | None = None,
    env_names: "Sequence[str]" = (),
    writes: "Sequence[str]" = (),
) -> "Facts":
    """Return the facts about a command that can matter for it."""
    from agent_exec.policy.facts import Facts

    ancestors: tuple[Ancestor, ...] = ()
    if dangerous_to_us(command):
        from agent_exec.host import own_processes

        ancestors = own_processes()
    text = command if isinstance(command, str) else " ".join(command)
    disguised = cwd is not None and "git" in text and _disguised(cwd)
    return Facts(cwd, ancestors, tuple(env_names), writes=tuple(writes), disguised=disguised)


def dangerous_to_us(command: "tuple[str, ...] | str") -> bool:
    """True if a command may be one that ends processes, so that ours must be known to judge it."""
    text = command if isinstance(command, str) else " ".join(command)
    names = text.translate(_APART).split()
    if any(name.endswith(_ENDING) for name in names):
        return True
    return "init" in names and not _LEVELS.isdisjoint(names)


def _disguised(folder: str) -> bool:
    """True if git, searching from a folder upwards, finds a repository that is no `.git` first."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return False
        if all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs")):
            return True
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
