"""The user's configuration file: checked whole; each mistake has a line, and what to write instead."""

import os
import sys

from agent_exec.model.document import Document
from agent_exec.model.errors import InvalidArgument, InvalidSettings
from agent_exec.model.value import Value
from agent_exec.places import config_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.sandbox.profile import Profile

_LARGEST = 1 << 22
_SHELL = {"unix": ("words", '["sh", "-lc"]'), "windows": ("words", '["cmd", "/C"]')}
_GC = {
    "auto": ("flag", "true"),
    "older_than": ("time", '"7d"'),
    "max_jobs": ("count", "1000"),
    "max_bytes": ("count", "10_000_000_000"),
    "scan_limit": ("count", "200"),
    "delete_limit": ("count", "20"),
}
_RUN = {
    "timeout": ("time", '"1h"'),
    "kill_after": ("time", '"2s"'),
    "until": ("time", '"30s"'),
    "wait": ("flag", "true"),
    "tail_lines": ("count", "50"),
    "max_bytes": ("count", "65536"),
    "max_log_bytes": ("count", "1_000_000_000"),
    "mask": ("texts", '["API_KEY"]'),
    "sandbox": ("text", '"workspace-write"'),
    "net": ("text or texts", '["example.org"]'),
}
_POLICY = {"rules": ("text", '"rules.toml"')}
_SECTIONS = ("shell", "gc", "run", "policy", "profiles", "compression")
"""The last is the Rust agent-exec's, which may share the file."""


class Settings(Value):
    """What a configuration file says; times are in seconds, and paths are absolute.

    `wrapper` is the shell that reads every command, None if none does. `run`
    and `gc` have their keys as written; `profiles` are by name.
    """

    file: str
    wrapper: "list[str] | None"
    gc: "dict[str, Any]"
    run: "dict[str, Any]"
    rules: str | None
    profiles: "dict[str, Profile]"


_last: "tuple[tuple[object, ...], Settings] | None" = None


def settings() -> Settings | None:
    """Return the settings in force; None if there is no configuration file."""
    file = config_file()
    return None if file is None else load(file)


def load(file: str) -> Settings:
    """Read a configuration file; raise InvalidSettings for one that is missing, unreadable or wrong."""
    global _last  # noqa: PLW0603  # a call needs the file in several places, and it costs to parse
    name = os.path.abspath(os.path.expanduser(file))
    text, version = read_text(name, "the configuration")
    if _last is None or _last[0] != (name, *version):
        _last = (name, *version), _settings(Document(text, name))
    return _last[1]


def read_text(name: str, what: str) -> "tuple[str, tuple[int, ...]]":
    """Return the text of a file that the user has written for us, and what tells this version from others."""
    from agent_exec.logs.folders import chunks, open_own_file

    data = b""
    try:
        fd = open_own_file(name)
        try:
            status = os.fstat(fd)
            for chunk in chunks(fd):
                data += chunk
                if len(data) > _LARGEST:
                    raise InvalidSettings(f"{name}: {what} is larger than {_LARGEST} bytes", file=name)
        finally:
            os.close(fd)
        return data.decode("utf-8-sig"), (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise InvalidSettings(
            f"{name}: {what} cannot be read: {error.strerror}; name another file, or make it", file=name
        ) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidSettings(f"{name}:{line}: this is not UTF-8 text", file=name, line=line) from None


def _settings(document: Document) -> Settings:
    document.fields((), dict.fromkeys(_SECTIONS, ("table", "")))
    folder = os.path.dirname(document.name)
    shell = document.fields(("shell",), _SHELL)
    run = document.fields(("run",), _RUN)
    profiles = {name: _profile(document, name) for name in document.table(("profiles",))}
    if "sandbox" in run and run["sandbox"] not in profiles:
        run["sandbox"] = _sandbox(document, run["sandbox"], folder, list(profiles))
    if "net" in run and "sandbox" not in run:
        document.wrong(("run", "net"), '[run] net needs a sandbox; write sandbox = "workspace-write"')
    if "wait" in run and "until" in run:
        document.wrong(("run", "wait"), "[run] wait and until contradict each other; leave out one of them")
    rules = document.fields(("policy",), _POLICY).get("rules")
    return Settings(
        document.name,
        shell.get("windows" if sys.platform == "win32" else "unix"),
        document.fields(("gc",), _GC),
        run,
        None if rules is None else os.path.join(folder, os.path.expanduser(rules)),
        profiles,
    )


def _sandbox(document: Document, named: str, folder: str, own: list[str]) -> str:
    """Return the name of a built-in profile, or the path of a file."""
    from agent_exec.model.document import nearest
    from agent_exec.sandbox.profile import NAMES

    if named in NAMES:
        return named
    if "/" in named or named.endswith(".json"):
        return os.path.join(folder, os.path.expanduser(named))
    known = (*NAMES, *own)
    more = nearest(named, known) or f"; use {', '.join(known)}, or the path of a JSON file"
    return document.wrong(("run", "sandbox"), f"[run] sandbox: there is no profile {named!r}{more}")


def _profile(document: Document, name: str) -> "Profile":
    """Return a profile that is written as a table [profiles.NAME], with the fields of the JSON form."""
    from agent_exec.sandbox.profile import NAMES, Profile

    path = ("profiles", name)
    if name in NAMES or "/" in name or name.endswith(".json"):
        document.wrong(path, f"[profiles.{name}]: this name is taken; write [profiles.mine], or another name")
    try:
        return Profile.from_json(document.table(path))
    except InvalidArgument as error:
        field = str(error.details.get("field", "")).split(".")
        return document.wrong((*path, *field), f"[profiles.{name}]: {error.message}")
