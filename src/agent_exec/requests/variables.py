"""The one builder of environments: which variables a command inherits, and what keeps programs quiet."""

import sys

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.secret import is_secret
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_WHICH = ("all", "core", "none")
SESSION_ID = "AGENT_EXEC_SESSION_ID"

_CORE = frozenset("PATH SHELL TMPDIR TEMP TMP HOME LANG LC_ALL LC_CTYPE LOGNAME USER".split())
_CORE_WINDOWS = frozenset(
    "PATH PATHEXT COMSPEC SYSTEMROOT SYSTEMDRIVE WINDIR TEMP TMP USERNAME USERDOMAIN USERPROFILE HOMEDRIVE"
    " HOMEPATH APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432"
    " COMMONPROGRAMFILES NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE".split()
)

QUIET_VALUES = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "LANG": "C.UTF-8",
    "LC_CTYPE": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "COLORTERM": "",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
}
"""What a quiet command gets, whatever else was said."""

EDITORS = {"GIT_EDITOR": ":", "GIT_SEQUENCE_EDITOR": ":"}
"""Git takes the text that it proposes, and starts no editor for it; a policy's values win."""

SCREEN_TERM = "xterm-256color"
_SHORTEST_SECRET = 8
"""Values with fewer characters are not masked: they may be in any output by chance."""


def _globs(name: str, given: "Iterable[str]") -> tuple[str, ...]:
    globs = () if isinstance(given, str) else tuple(given)
    if isinstance(given, str) or not all(isinstance(glob, str) and glob for glob in globs):
        raise InvalidArgument(f"{name} must be a list of names, which may hold * and ?; got {given!r}")
    return tuple(glob.upper() for glob in globs)


class EnvironmentPolicy(Value):
    """What becomes of our own variables.

    `inherit` is "all", "core", "none", or a list of names. Unless
    `pass_secrets`, those whose names look like secrets (KEY, TOKEN …:
    model/secret.py) stay here, and those whose value is an address with a
    password in it, but for proxies; `keep` are globs of names that go through
    even so. Then `exclude` takes names away, `values` adds some, and
    `include_only` leaves no others (all if it is empty). Without `quiet`,
    terminal, pager, language and editor are left as they are. Globs know `*`
    and `?`, and no case.
    """

    inherit: "str | Iterable[str]" = "all"
    pass_secrets: bool = False
    keep: "Iterable[str]" = ()
    exclude: "Iterable[str]" = ()
    values: "Mapping[str, str]" = {}  # noqa: RUF012 - copied
    include_only: "Iterable[str]" = ()
    quiet: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.inherit, str) and self.inherit not in _WHICH:
            raise InvalidArgument(f"inherit must be one of {', '.join(_WHICH)}; got {self.inherit!r}")
        inherit = self.inherit if isinstance(self.inherit, str) else frozenset(self.inherit)
        object.__setattr__(self, "inherit", inherit)
        for field in ("keep", "exclude", "include_only"):
            object.__setattr__(self, field, _globs(field, getattr(self, field)))
        object.__setattr__(self, "values", dict(self.values))
        for name, value in self.values.items():
            if not isinstance(name, str) or not isinstance(value, str) or not name or "=" in name[1:]:
                raise InvalidArgument(f"values must map names to text; got {name!r}: {value!r}")
            if "\0" in name + value:
                raise InvalidArgument(f"values must not hold a NUL character; {name!r} does")


QUIET = EnvironmentPolicy()
"""For commands that a model reads: without our secrets, colours, pagers and editors."""

INHERIT = EnvironmentPolicy(pass_secrets=True, quiet=False)
"""Our own variables as they are."""


def build(
    environ: "Mapping[str, str]",
    policy: EnvironmentPolicy = QUIET,
    *,
    session_id: int | None = None,
    screen: bool = False,
    platform: str = sys.platform,
) -> dict[str, str]:
    """Return the whole environment of a command; nothing else reaches it.

    With `screen`, which is for a terminal that is shown as a picture,
    programs may draw (TERM), and git may start the user's editor.
    """
    core = _CORE_WINDOWS if platform == "win32" else _CORE
    which = policy.inherit
    listed = () if isinstance(which, str) else which
    found = {
        name: value
        for name, value in environ.items()
        if name
        and (which == "all" or (which == "core" and name.upper() in core) or name in listed)
        and (policy.pass_secrets or not secret(name, value) or matches(name, policy.keep))
        and not matches(name, policy.exclude)
    }
    found |= policy.values
    if policy.include_only:
        found = {name: value for name, value in found.items() if matches(name, policy.include_only)}
    if session_id is not None:
        found[SESSION_ID] = str(session_id)
    if policy.quiet:
        if not screen:
            found |= {name: value for name, value in EDITORS.items() if name not in policy.values}
        found |= QUIET_VALUES
        if screen:
            found["TERM"] = SCREEN_TERM
    return found


def secret(name: str, value: str = "") -> bool:
    """True if a variable looks like a secret; a proxy's address may hold a password."""
    return is_secret(name, "" if name.upper().endswith("_PROXY") else value)


def secret_values(environ: "Mapping[str, str]") -> tuple[bytes, ...]:
    """Return what is to be masked in output: the values of secrets that are neither short words nor paths."""
    import os

    return tuple(
        os.fsencode(value)
        for name, value in environ.items()
        if len(value) >= _SHORTEST_SECRET and secret(name, value) and not os.path.exists(value)
    )


def matches(name: str, globs: "Iterable[str]") -> bool:
    """True if a name fits one of these globs; their case does not matter."""
    upper = name.upper()
    return any(_fits(upper, glob) for glob in globs)


def _fits(name: str, glob: str) -> bool:
    """True if a name fits a glob; the time is at most the product of their lengths."""
    here = there = 0
    star = resume = -1
    while here < len(name):
        if there < len(glob) and glob[there] == "*":
            star, resume = there, here
            there += 1
        elif there < len(glob) and glob[there] in ("?", name[here]):
            here += 1
            there += 1
        elif star >= 0:
            resume += 1
            here, there = resume, star + 1
        else:
            return False
    return not glob[there:].strip("*")
