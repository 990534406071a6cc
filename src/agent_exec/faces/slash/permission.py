"""Whether shell commands may run at all, and on which terms: told by the environment and one file, once."""

import os

from agent_exec.faces.slash.view import MAX_BYTES, MAX_LINES
from agent_exec.model.value import Value
from agent_exec.places import here
from agent_exec.requests.variables import INHERIT, build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CONFIG = "ox-config.json"
SAFE_NAMES = ("PATH", "HOME", "LANG", "USER")
"""The variables that commands get when OX_SAFE_ENV does not say which."""

_TRUE = ("1", "true", "yes", "on")
_LARGEST = 1 << 20
_NONBLOCK = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class ShellPermission(Value):
    """Whether commands may run, why or why not, with which variables, and how much is kept of their output.

    `problem` says what is wrong with the file; nothing if it is well, or not there.
    """

    __slots__ = ("allowed", "env", "max_bytes", "max_lines", "problem", "reason")

    def __init__(
        self,
        allowed: bool,
        *,
        reason: str = "",
        env: "Mapping[str, str] | None" = None,
        max_bytes: int = MAX_BYTES,
        max_lines: int = MAX_LINES,
        problem: str = "",
    ) -> None:
        self.allowed = allowed
        self.reason = reason
        self.env = dict(env or {})
        self.max_bytes = max_bytes
        self.max_lines = max_lines
        self.problem = problem

    def __hash__(self) -> int:
        return hash((self.allowed, self.reason))

    @classmethod
    def read(
        cls, start_dir: str | None = None, environ: "Mapping[str, str] | None" = None
    ) -> "ShellPermission":
        """Read it: to be called once, at the start of the program, in the folder it was started in.

        Never for a folder that is merely looked at, for that would grant
        itself what it likes. OX_ALLOW_SHELL, if it is set, is stronger than
        the file.
        """
        found = os.environ if environ is None else environ
        config, problem = _config(os.path.join(here() if start_dir is None else start_dir, CONFIG))
        said = found.get("OX_ALLOW_SHELL", "").strip()
        if said:
            allowed, reason = said.casefold() in _TRUE, f"OX_ALLOW_SHELL is {said!r}"
        elif "allow_shell" in config:
            allowed, reason = config["allow_shell"], f"{CONFIG} says so"
        else:
            allowed = False
            reason = f'set OX_ALLOW_SHELL=1, or write {{"allow_shell": true}} into {CONFIG}, and start again'
        return cls(
            allowed,
            reason=reason,
            env=safe_environment(found),
            max_bytes=config.get("shell_output_limit_bytes", MAX_BYTES),
            max_lines=config.get("shell_output_max_lines", MAX_LINES),
            problem=problem,
        )


def safe_environment(environ: "Mapping[str, str]") -> dict[str, str]:
    """Return the whole environment of a command: the variables that OX_SAFE_ENV names, as they are now."""
    listed = environ.get("OX_SAFE_ENV")
    names = SAFE_NAMES if listed is None else [name.strip() for name in listed.split(",")]
    return build(environ, INHERIT.replace(inherit=names))


def _config(path: str) -> "tuple[dict[str, Any], str]":
    """Return what the file says as far as it is sound, and what is wrong with the rest."""
    from agent_exec.model.jsonline import load

    try:
        fd = os.open(path, os.O_RDONLY | _NONBLOCK)
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"{CONFIG} cannot be read: {error.strerror}"
    try:
        data = os.read(fd, _LARGEST)
    except OSError as error:
        return {}, f"{CONFIG} cannot be read: {error.strerror}"
    finally:
        os.close(fd)
    try:
        config = load(data.decode("utf-8-sig").strip())
    except (ValueError, RecursionError):
        return {}, f"{CONFIG} is no JSON; nothing in it counts"
    if not isinstance(config, dict):
        return {}, f"{CONFIG} must hold an object; nothing in it counts"
    return _sound(config)


def _sound(config: "dict[str, Any]") -> "tuple[dict[str, Any], str]":
    found: dict[str, Any] = {}
    problems = []
    if "allow_shell" in config:
        if isinstance(config["allow_shell"], bool):
            found["allow_shell"] = config["allow_shell"]
        else:
            problems.append("allow_shell must be true or false")
    for name, most in (("shell_output_limit_bytes", 1 << 30), ("shell_output_max_lines", 10_000_000)):
        if name in config:
            value = config[name]
            if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
                found[name] = value
            else:
                problems.append(f"{name} must be a whole number from 1 to {most}")
    return found, "; ".join(f"{CONFIG}: {problem}" for problem in problems)
