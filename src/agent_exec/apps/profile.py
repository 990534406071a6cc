"""Builds the profile of a sandbox from command-line options."""

import os

from agent_exec.apps.parse import UsageError
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.apps.parse import Parsed
    from agent_exec.sandbox.profile import Profile


def profile(asked: "Parsed", option: str, root: str, *, rootless: bool = False) -> "Profile":
    """Return the profile named by `option`: a built-in one, one of the configuration file, or a JSON file.

    Roots and hosts given as options replace those of the file; without any
    roots, the current directory is the root. With `rootless`, only the roots
    of a file count, or there are none.
    """
    from agent_exec.sandbox.profile import NAMES, Profile

    named = asked.options.get(option, "workspace-write")
    if is_file(named):
        found = _load(named)
    elif named in NAMES:
        found = Profile(named)
    else:
        own = _configured()
        if named not in own:
            known = ", ".join((*NAMES, *own))
            raise UsageError(
                f"--{option} takes {known}, or a JSON file of a profile; got {named!r}", asked.verb
            )
        found = own[named]
    roots = asked.options.get(root, ())
    if not all(roots):
        raise UsageError(f"--{root} takes a folder", asked.verb)
    if not rootless and (roots or not found.roots):
        found = found.replace(roots=[os.path.realpath(folder) for folder in roots or [here()]])
    if "unprotect" in asked.options:
        found = found.replace(unprotect=(*found.unprotect, *asked.options["unprotect"]))
    if "net" in asked.options:
        found = found.replace(net=_net(asked.options["net"], asked.verb))
    return found


def is_file(named: str) -> bool:
    """True if a profile is named by a path."""
    return "/" in named or named.endswith(".json")


def _configured() -> "dict[str, Profile]":
    """Return the profiles of the configuration file by name."""
    from agent_exec.places import config_file

    if config_file() is None:
        return {}
    from agent_exec.requests.settings import settings

    found = settings()
    return {} if found is None else found.profiles


def _load(path: str) -> "Profile":
    from agent_exec.model.errors import InvalidArgument
    from agent_exec.sandbox.plan.paths import read_small
    from agent_exec.sandbox.profile import Profile

    try:
        return Profile.from_json(read_small(os.path.realpath(path)))
    except OSError as error:
        raise InvalidArgument(
            f"the profile {path!r} cannot be read: {error.strerror}; name another", path=path
        ) from None
    except InvalidArgument as error:
        raise InvalidArgument(f"{path}: {error.message}", **{**error.details, "path": path}) from None


def _net(words: list[str], verb: str | None) -> str | list[str]:
    if words in (["off"], ["on"]):
        return words[0]
    if "off" in words or "on" in words:
        raise UsageError("--net takes off, on, or hosts: only one of these", verb)
    return words
