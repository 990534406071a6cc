"""A profile: what commands in a box may touch, as the operator wrote it; the machine is not looked at."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value
from agent_exec.sandbox.plan.ours import Confining
from agent_exec.sandbox.plan.secrets import SECRETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from typing import Any

    from agent_exec.model.choices import GitAccess, ProfileName

NAMES = ("read-only", "workspace-write", "full-access")
GIT = ("read-only", "commit")
_CHOICES = {
    "name": NAMES,
    "git": GIT,
    "missing": ("remove", "report", "allow"),
    "secrets": ("allow-list", "deny-list"),
    "tmp": ("private", "shared"),
    "unix": ("deny", "internal"),
    "min_strength": ("full", "degraded"),
}
PROTECTED = tuple(
    ".Rprofile .agent-exec .agents .aider.conf.yml .amazonq .amp .augment .bazelrc .cargo .claude"
    " .clinerules .codex .continue .crush .crush.json .cursor .devcontainer .devcontainer.json .envrc"
    " .factory .gemini .github .hg .husky .idea .jj .junie .kilocode .kiro .lefthook"
    " .lefthook-local.json .lefthook-local.toml .lefthook-local.yaml .lefthook-local.yml .lefthook.json"
    " .lefthook.toml .lefthook.yaml .lefthook.yml .mcp.json .mise .mise.local.toml .mise.toml .npmrc"
    " .opencode .openhands .pre-commit-config.yaml .qwen .roo .trae .vs .vscode .windsurf .yarnrc"
    " .yarnrc.yml .zed crush.json lefthook-local.json lefthook-local.toml lefthook-local.yaml"
    " lefthook-local.yml lefthook.json lefthook.toml lefthook.yaml lefthook.yml mise.local.toml"
    " mise.toml opencode.json ox-config.json".split()
)
"""Names below a root, at any depth, that trusted programs obey: a command that makes or changes one has code
of its own run on the host later. Every `.git` is protected without being named."""

_YEAR = 366 * 86400
_BOUNDS = {
    "cpu": (1, _YEAR),
    "procs": (1, 1 << 22),
    "memory_mb": (1, 1 << 30),
    "file_mb": (1, 1 << 30),
    "open_files": (16, 1 << 20),
}
_DENIED = tuple(sorted(SECRETS))
"""The default of `deny_read`, in the one spelling."""


def _number(field: str, value: object, low: int, high: int, *, kind: "Any", more: str = "") -> None:
    """Check that a number lies within bounds; with `more`, None is no limit."""
    if value is None and more:
        return
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        what = "a whole number" if kind is int else "a number"
        raise InvalidArgument(
            f"{field} must be {what} from {low} to {high}{more}; got {value!r}", field=field
        )


class BoxLimits(Value):
    """How much commands in a box may use; None is no limit.

    `wall` and `cpu` are seconds, `procs` counts processes and threads of the
    box, `open_files` descriptors of one process: at most half of what the
    owner of the box may have. `memory_mb` is what one process has for itself
    and may write; `file_mb` is for one file.
    """

    wall: float | None = None
    cpu: int | None = None
    procs: int | None = 1024
    memory_mb: int | None = None
    file_mb: int | None = None
    open_files: int | None = 4096

    def __post_init__(self) -> None:
        for name, (low, high) in _BOUNDS.items():
            _number(f"limits.{name}", getattr(self, name), low, high, kind=int, more=", or null for no limit")
        if self.wall is not None:
            _number("limits.wall", self.wall, 0, _YEAR, kind=int | float, more=", or null for no limit")
            if self.wall == 0:
                raise InvalidArgument("limits.wall must be more than 0 seconds; leave it out for no limit")
            object.__setattr__(self, "wall", float(self.wall))

    def to_json(self) -> dict[str, object]:
        """Return the fields by name, in the order of the alphabet."""
        return {name: getattr(self, name) for name in sorted(self.__slots__)}

    @classmethod
    def from_json(cls, fields: object) -> "BoxLimits":
        """Return the limits that were written so; refuse what is not known."""
        return cls(**_known(cls, "limits", fields))  # type: ignore[arg-type]


class Profile(Confining):
    """What commands in a box may touch.

    `roots` are the folders that may be written to (in "read-only": that are
    shown even where the rest is hidden). Below them stay as they are: every
    `.git`, as `git` says, and `protect` and `protect_also`: paths relative to
    each root, or absolute; the default names of `protect` at any depth. Names
    in `unprotect` are not protected. `missing` says what becomes of such names
    when a command makes them: they are renamed ("remove"), only reported, or
    allowed. `secrets` says what of home folders and of variables is seen:
    by "allow-list" the roots, toolchains, and `show`, more paths below `~`;
    by "deny-list" all that does not look like a secret. `deny_read` are paths
    that cannot be read in any case: absolute, below `~`, or relative to each
    root, with `*`, `?` and `**`. `tmp` is a /tmp of
    the box's own, of `tmp_mb`, or the machine's. `net` is "off", "on", or the
    hosts that may be reached; an empty list is "off". `env` names variables
    that are passed on whatever they look like. A box that is weaker
    than `min_strength` is refused. Without `reuse`, each command has a box to
    itself that has served no other; else boxes are cleaned and used again.
    Boxes of this process whose profiles have the same `loopback`, a name, and
    the same `net` share one loopback network; without one each box has its
    own. The name is no part of the profile's text and its hash.

    Characters in paths mean themselves, but for those of `deny_read`.
    """

    name: str = "workspace-write"
    roots: tuple[str, ...] = ()
    protect: tuple[str, ...] = PROTECTED
    protect_also: tuple[str, ...] = ()
    unprotect: tuple[str, ...] = ()
    git: str = "read-only"
    missing: str = "remove"
    deny_read: tuple[str, ...] = _DENIED
    secrets: str = "allow-list"
    show: tuple[str, ...] = ()
    tmp: str = "private"
    tmp_mb: int = 1024
    net: str | tuple[str, ...] = "off"
    unix: str = "deny"
    env: tuple[str, ...] = ()
    limits: BoxLimits = BoxLimits()
    min_strength: str = "full"
    reuse: bool = True
    loopback: str = ""

    if TYPE_CHECKING:

        def __init__(
            self,
            name: ProfileName = "workspace-write",
            roots: Sequence[str | bytes | PathLike[str]] = (),
            *,
            protect: Sequence[str] = PROTECTED,
            protect_also: Sequence[str] = (),
            unprotect: Sequence[str] = (),
            git: GitAccess = "read-only",
            missing: str = "remove",
            deny_read: Sequence[str] = SECRETS,
            secrets: str = "allow-list",
            show: Sequence[str] = (),
            tmp: str = "private",
            tmp_mb: int = 1024,
            net: str | Sequence[str] = "off",
            unix: str = "deny",
            env: Sequence[str] = (),
            limits: BoxLimits | None = None,
            min_strength: str = "full",
            reuse: bool = True,
            loopback: str = "",
        ) -> None:
            """Accept more types than the fields have: each is brought into its one spelling."""

    def __post_init__(self) -> None:
        for field, allowed in _CHOICES.items():
            value = getattr(self, field)
            if not isinstance(value, str) or value not in allowed:
                raise InvalidArgument(
                    f"{field} must be one of {', '.join(allowed)}; got {value!r}", field=field
                )
        if not isinstance(self.reuse, bool):
            raise InvalidArgument(f"reuse must be True or False; got {self.reuse!r}", field="reuse")
        if not isinstance(self.loopback, str):
            raise InvalidArgument(f"loopback must be a name; got {self.loopback!r}", field="loopback")
        limits: object = self.limits
        if limits is not None and not isinstance(limits, BoxLimits):
            raise InvalidArgument(f"limits must be BoxLimits; got {limits!r}", field="limits")
        _number("tmp_mb", self.tmp_mb, 1, 1 << 20, kind=int)
        put = object.__setattr__
        put(self, "limits", limits or BoxLimits())
        roots = _listed("roots", self.roots, "paths")
        put(self, "roots", tuple(dict.fromkeys(_path("roots", path, relative=False) for path in roots)))
        for field in ("protect", "protect_also", "unprotect", "deny_read", "show"):
            put(self, field, _places(field, getattr(self, field)))
        for path in self.show:
            if not path.startswith(("/", "~/")) or "*" in path or "?" in path:
                raise InvalidArgument(
                    f"show must be absolute paths or paths below ~, without * and ?; got {path!r}",
                    field="show",
                )
        put(self, "net", _net(self.net))
        put(self, "env", _variables(self.env))

    @property
    def digest(self) -> str:
        """Return "sha256:" and the hash of the canonical text: equal for equal profiles, on every machine."""
        from agent_exec.model.digest import sha256

        return f"sha256:{sha256(self.to_text().encode()).hexdigest()}"

    @property
    def network(self) -> str | None:
        """The name of the loopback network that boxes share; "" if each has its own, None: the machine's.

        Boxes with other ways out share none: one would lead the other out.
        """
        if self.name == "full-access" or self.net == "on":
            return None
        hosts = () if isinstance(self.net, str) else self.net
        return "\n".join((self.loopback, *hosts)) if self.loopback else ""

    def to_json(self) -> dict[str, object]:
        """Return the fields by name, in the order of the alphabet, as JSON has them."""
        found: dict[str, object] = {}
        for name in _written(type(self)):
            value = getattr(self, name)
            if isinstance(value, tuple):
                value = list(value)
            found[name] = value.to_json() if isinstance(value, BoxLimits) else value
        return found

    def to_text(self) -> str:
        """Return the canonical text: JSON on one line, which `from_json` reads."""
        from agent_exec.model.jsonline import dump

        return dump(self.to_json())

    @classmethod
    def from_json(cls, value: "str | bytes | Mapping[str, object]") -> "Profile":
        """Return the profile of a JSON object or its text; what is left out is as in a new one.

        Refused are unknown fields, fields that come twice, and values of the
        wrong kind: a profile that is misread would confine less than it says.
        """
        fields = _known(cls, "profile", _parse(value) if isinstance(value, str | bytes) else value)
        if "limits" in fields:
            fields["limits"] = BoxLimits.from_json(fields["limits"])
        return cls(**fields)  # type: ignore[arg-type]


def _written(cls: type[Value]) -> list[str]:
    """Return the fields that are part of a text: a loopback is one of this process."""
    return sorted(name for name in cls.__slots__ if name != "loopback")


def _known(cls: type[Value], what: str, fields: object) -> dict[str, object]:
    from collections.abc import Mapping

    fields_of = _written(cls)
    allowed = ", ".join(fields_of)
    if not isinstance(fields, Mapping):
        raise InvalidArgument(f"{what} must be an object with some of the fields {allowed}; got {fields!r}")
    for name in fields:
        if name not in fields_of:
            raise InvalidArgument(
                f"{what} has an unknown field {name!r}; the fields are {allowed}", field=name
            )
    return dict(fields)


def _parse(text: str | bytes) -> object:
    import json

    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"profile is not JSON: {error}") from None


def _once(pairs: "list[tuple[str, object]]") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidArgument(f"profile has the field {name!r} twice; keep one", field=name)
        found[name] = value
    return found


def _listed(field: str, value: object, what: str) -> "Sequence[object]":
    """Return a list unchanged: one text alone is not a list of its characters."""
    if not isinstance(value, list | tuple):
        raise InvalidArgument(f"{field} must be a list of {what}; got {value!r}", field=field)
    return value


def _places(field: str, value: object) -> tuple[str, ...]:
    """Return paths, relative or absolute; their order means nothing."""
    if value is SECRETS or value is _DENIED:
        return _DENIED
    paths = _listed(field, value, "paths")
    return tuple(sorted({_path(field, path, relative=True) for path in paths}))


def _path(field: str, value: object, *, relative: bool) -> str:
    """Return a path without doubled or trailing slashes; its characters mean themselves.

    `..` is refused: what it leads to depends on links that may change.
    """
    path = value
    if not isinstance(path, str | bytes):
        make = getattr(type(path), "__fspath__", None)
        path = make(path) if make is not None else path
    if isinstance(path, bytes):
        path = path.decode("utf-8", "surrogateescape")
    if not isinstance(path, str) or not path:
        raise InvalidArgument(f"{field} must be paths; got {value!r}", field=field)
    if "\0" in path:
        raise InvalidArgument(f"{field} must not contain a NUL character; got {path!r}", field=field)
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidArgument(
            f"{field} must be text that can be encoded; got {path!r}", field=field
        ) from None
    absolute = path.startswith("/")
    if not absolute and not relative:
        raise InvalidArgument(f"{field} must be absolute paths; got {path!r}", field=field)
    parts = [part for part in path.split("/") if part and part != "."]
    if ".." in parts:
        raise InvalidArgument(f"{field} must not contain '..'; write where {path!r} leads to", field=field)
    if not parts:
        raise InvalidArgument(f"{field} must not be {path!r}: name a folder or file below it", field=field)
    return ("/" if absolute else "") + "/".join(parts)


def _variables(value: object) -> tuple[str, ...]:
    """Return names of environment variables; their order means nothing."""
    found: set[str] = set()
    for name in _listed("env", value, "names of variables"):
        if not isinstance(name, str) or not name.isascii() or not name or set(name) & {"=", "\0"}:
            raise InvalidArgument(
                f"env must be names of variables, without '=' and values; got {name!r}", field="env"
            )
        found.add(name)
    return tuple(sorted(found))


def _net(value: object) -> str | tuple[str, ...]:
    """Return "off", "on", or hosts in their one spelling, as they are compared and dialled."""
    if value in ("off", "on"):
        return str(value)
    if not isinstance(value, list | tuple):
        raise InvalidArgument(f'net must be "off", "on" or a list of hosts; got {value!r}', field="net")
    from agent_exec.sandbox.hosts import BadName, read_rule

    found: set[str] = set()
    for one in value:
        try:
            found.add(read_rule(one, plain=True).text)
        except BadName as error:
            raise InvalidArgument(
                "net must be hosts such as example.org, *.example.org, 192.0.2.1:443 or [2001:db8::1]:443; "
                f"got {one!r}: {error}",
                field="net",
            ) from None
    return tuple(sorted(found)) or "off"
