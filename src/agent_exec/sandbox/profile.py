"""A profile: what commands in a box may touch, as the operator wrote it; the machine is not looked at."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value, refuse_change
from agent_exec.sandbox.plan.profile_fields import folder, host, names, number, one_of, paths
from agent_exec.sandbox.plan.secrets import SECRETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from agent_exec.model.choices import GitAccess, ProfileName
    from agent_exec.sandbox.plan.plan import Plan
    from agent_exec.sandbox.report.guard import Guard
    from agent_exec.sandbox.sandbox import Spawner

NAMES = ("read-only", "workspace-write", "full-access")
GIT = ("read-only", "commit")
MISSING = ("remove", "report", "allow")
TMP = ("private", "shared")
UNIX = ("deny", "internal")
STRENGTHS = ("full", "degraded")
READING = ("allow-list", "deny-list")

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


class _Frozen(Value):
    """A value with an `__init__` of its own that cannot be changed by mistake."""

    __slots__ = ()

    def _fill(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    __setattr__ = refuse_change
    __delattr__ = refuse_change


class BoxLimits(_Frozen):
    """How much commands in a box may use; None is no limit.

    `wall` and `cpu` are seconds, `procs` counts processes and threads of the
    box, `open_files` descriptors of one process: at most half of what the
    owner of the box may have. `memory_mb` is what one process has for itself
    and may write; `file_mb` is for one file.
    """

    __slots__ = ("cpu", "file_mb", "memory_mb", "open_files", "procs", "wall")

    wall: float | None
    cpu: int | None
    procs: int | None
    memory_mb: int | None
    file_mb: int | None
    open_files: int | None

    def __init__(
        self,
        wall: float | None = None,
        cpu: int | None = None,
        procs: int | None = 1024,
        memory_mb: int | None = None,
        file_mb: int | None = None,
        open_files: int | None = 4096,
    ) -> None:
        seconds = number("limits.wall", wall, 0, _YEAR, whole=False)
        if seconds == 0:
            raise InvalidArgument("limits.wall must be more than 0 seconds; leave it out for no limit")
        self._fill(
            wall=seconds,
            cpu=number("limits.cpu", cpu, 1, _YEAR),
            procs=number("limits.procs", procs, 1, 1 << 22),
            memory_mb=number("limits.memory_mb", memory_mb, 1, 1 << 30),
            file_mb=number("limits.file_mb", file_mb, 1, 1 << 30),
            open_files=number("limits.open_files", open_files, 16, 1 << 20),
        )

    def to_json(self) -> dict[str, object]:
        """Return the fields by name, in the order of the alphabet."""
        return {name: getattr(self, name) for name in sorted(self.__slots__)}

    @classmethod
    def from_json(cls, fields: object) -> "BoxLimits":
        """Return the limits that were written so; refuse what is not known."""
        return cls(**_known(cls, "limits", fields))  # type: ignore[arg-type]


class Profile(_Frozen):
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

    Characters in paths mean themselves, but for those of `deny_read`.
    """

    __slots__ = (
        "deny_read",
        "env",
        "git",
        "limits",
        "min_strength",
        "missing",
        "name",
        "net",
        "protect",
        "protect_also",
        "reuse",
        "roots",
        "secrets",
        "show",
        "tmp",
        "tmp_mb",
        "unix",
        "unprotect",
    )

    name: str
    roots: tuple[str, ...]
    protect: tuple[str, ...]
    protect_also: tuple[str, ...]
    unprotect: tuple[str, ...]
    git: str
    missing: str
    deny_read: tuple[str, ...]
    secrets: str
    show: tuple[str, ...]
    tmp: str
    tmp_mb: int
    net: str | tuple[str, ...]
    unix: str
    env: tuple[str, ...]
    limits: BoxLimits
    min_strength: str
    reuse: bool

    def __init__(
        self,
        name: "ProfileName" = "workspace-write",
        roots: "Sequence[str | bytes | PathLike[str]]" = (),
        *,
        protect: "Sequence[str]" = PROTECTED,
        protect_also: "Sequence[str]" = (),
        unprotect: "Sequence[str]" = (),
        git: "GitAccess" = "read-only",
        missing: str = "remove",
        deny_read: "Sequence[str]" = SECRETS,
        secrets: str = "allow-list",
        show: "Sequence[str]" = (),
        tmp: str = "private",
        tmp_mb: int = 1024,
        net: "str | Sequence[str]" = "off",
        unix: str = "deny",
        env: "Sequence[str]" = (),
        limits: BoxLimits | None = None,
        min_strength: str = "full",
        reuse: bool = True,
    ) -> None:
        if not isinstance(reuse, bool):
            raise InvalidArgument(f"reuse must be True or False; got {reuse!r}", field="reuse")
        if limits is not None and not isinstance(limits, BoxLimits):
            raise InvalidArgument(f"limits must be BoxLimits; got {limits!r}")
        self._fill(
            name=one_of("name", name, NAMES),
            roots=tuple(dict.fromkeys(folder("roots", path) for path in paths("roots", roots))),
            protect=_places("protect", protect),
            protect_also=_places("protect_also", protect_also),
            unprotect=_places("unprotect", unprotect),
            git=one_of("git", git, GIT),
            missing=one_of("missing", missing, MISSING),
            deny_read=_DENIED if deny_read is SECRETS else _places("deny_read", deny_read),
            secrets=one_of("secrets", secrets, READING),
            show=_shown(show),
            tmp=one_of("tmp", tmp, TMP),
            tmp_mb=number("tmp_mb", tmp_mb, 1, 1 << 20, none=False),
            net=_net(net),
            unix=one_of("unix", unix, UNIX),
            env=names("env", env),
            limits=BoxLimits() if limits is None else limits,
            min_strength=one_of("min_strength", min_strength, STRENGTHS),
            reuse=reuse,
        )

    def guarded(self, spawner: "Spawner") -> "Guard":
        """Return what `Engine.start` confines a command by, planned now."""
        from agent_exec.sandbox.plan.ours import ours
        from agent_exec.sandbox.sandbox import shared_sandbox

        return shared_sandbox().guard(self, spawner, ours())

    def warmed(self, spawner: "Spawner", boxes: int) -> "Plan":
        """Return a plan for which so many boxes wait."""
        from agent_exec.sandbox.plan.ours import ours
        from agent_exec.sandbox.sandbox import shared_sandbox

        return shared_sandbox().warmed(self, spawner, ours(), boxes)

    @property
    def digest(self) -> str:
        """Return "sha256:" and the hash of the canonical text: equal for equal profiles, on every machine."""
        from agent_exec.model.digest import sha256

        return f"sha256:{sha256(self.to_text().encode()).hexdigest()}"

    def to_json(self) -> dict[str, object]:
        """Return the fields by name, in the order of the alphabet, as JSON has them."""
        found: dict[str, object] = {}
        for name in sorted(self.__slots__):
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


def _known(cls: type[_Frozen], what: str, fields: object) -> dict[str, object]:
    from collections.abc import Mapping

    allowed = ", ".join(sorted(cls.__slots__))
    if not isinstance(fields, Mapping):
        raise InvalidArgument(f"{what} must be an object with some of the fields {allowed}; got {fields!r}")
    for name in fields:
        if name not in cls.__slots__:
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


def _places(field: str, value: object) -> tuple[str, ...]:
    """Return paths, relative or absolute; their order means nothing."""
    return tuple(sorted({folder(field, path, relative=True) for path in paths(field, value)}))


_DENIED = tuple(sorted(SECRETS))  # in the one spelling already


def _shown(value: object) -> tuple[str, ...]:
    """Return paths that are absolute or below the home folder, and mean themselves."""
    found = _places("show", value)
    for path in found:
        if not path.startswith(("/", "~/")) or "*" in path or "?" in path:
            raise InvalidArgument(
                f"show must be absolute paths or paths below ~, without * and ?; got {path!r}", field="show"
            )
    return found


def _net(value: object) -> str | tuple[str, ...]:
    if isinstance(value, str):
        if value not in {"off", "on"}:
            raise InvalidArgument(f'net must be "off", "on" or a list of hosts; got {value!r}', field="net")
        return value
    if not isinstance(value, list | tuple):
        raise InvalidArgument(f'net must be "off", "on" or a list of hosts; got {value!r}', field="net")
    return tuple(sorted({host("net", one) for one in value})) or "off"
