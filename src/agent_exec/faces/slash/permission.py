"""Whether shell commands may run at all, and on which terms: read once, from the environment and one file."""

import os
from types import MappingProxyType

from agent_exec.faces.slash.view import MAX_BYTES, MAX_LINES
from agent_exec.model.jsonline import load
from agent_exec.model.value import Value
from agent_exec.places import here
from agent_exec.requests.variables import INHERIT, build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CONFIG = "ox-config.json"
SAFE_NAMES = ("PATH", "HOME", "LANG", "USER")
"""The variables that commands get unless OX_SAFE_ENV names others."""

_TRUE = ("1", "true", "yes", "on")
_LARGEST = 1 << 20
_NONBLOCK = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_MOST = {"shell_output_limit_bytes": 1 << 30, "shell_output_max_lines": 10_000_000}


class ShellPermission(Value):
    """Whether commands may run, why or why not, with which variables, and how much of their output is kept.

    `problem` says what is wrong with the file; nothing if it is valid, or absent.
    """

    allowed: bool
    reason: str = ""
    env: "Mapping[str, str]" = MappingProxyType({})
    max_bytes: int = MAX_BYTES
    max_lines: int = MAX_LINES
    problem: str = ""

    def __hash__(self) -> int:
        return hash((self.allowed, self.reason))

    @classmethod
    def read(
        cls, start_dir: str | None = None, environ: "Mapping[str, str] | None" = None
    ) -> "ShellPermission":
        """Read it once, at the start of the program, in the folder the program was started in.

        Never for a folder that is merely looked at: that folder would grant
        itself what it likes. OX_ALLOW_SHELL, if it is set, overrides the file.
        """
        found = os.environ if environ is None else environ
        config, problem = _config(os.path.join(here() if start_dir is None else start_dir, CONFIG))
        variable = found.get("OX_ALLOW_SHELL", "").strip()
        if variable:
            allowed, reason = variable.casefold() in _TRUE, f"OX_ALLOW_SHELL is {variable!r}"
        elif "allow_shell" in config:
            allowed, reason = config["allow_shell"], f"{CONFIG} says so"
        else:
            allowed = False
            reason = f'set OX_ALLOW_SHELL=1, or write {{"allow_shell": true}} into {CONFIG}, and start again'
        return cls(
            allowed,
            reason,
            safe_environment(found),
            config.get("shell_output_limit_bytes", MAX_BYTES),
            config.get("shell_output_max_lines", MAX_LINES),
            problem,
        )


def safe_environment(environ: "Mapping[str, str]") -> dict[str, str]:
    """Return the whole environment of a command: the variables that OX_SAFE_ENV names, as they are now."""
    listed = environ.get("OX_SAFE_ENV")
    names = SAFE_NAMES if listed is None else [name.strip() for name in listed.split(",")]
    return build(environ, INHERIT.replace(inherit=names))


def _config(path: str) -> "tuple[dict[str, Any], str]":
    """Return the valid fields of the file, and what is wrong with the others."""
    try:
        fd = os.open(path, os.O_RDONLY | _NONBLOCK)
        try:
            data = os.read(fd, _LARGEST)
        finally:
            os.close(fd)
        config = load(data.decode("utf-8-sig").strip())
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"{CONFIG} cannot be read: {error.strerror}"
    except (ValueError, RecursionError):
        return {}, f"{CONFIG} is not JSON; nothing in it counts"
    if not isinstance(config, dict):
        return {}, f"{CONFIG} must hold an object; nothing in it counts"
    wrong = {}
    if not isinstance(config.get("allow_shell", False), bool):
        wrong["allow_shell"] = "true or false"
    for name, most in _MOST.items():
        value = config.get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            wrong[name] = f"a whole number from 1 to {most}"
    valid = {name: value for name, value in config.items() if name not in wrong}
    return valid, "; ".join(f"{CONFIG}: {name} must be {kind}" for name, kind in wrong.items())
