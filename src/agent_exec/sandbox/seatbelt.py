"""A plan as a profile of macOS' sandbox-exec. UNTESTED: written from public notes, never run on a Mac.

The text names no path of a plan: each is a parameter, so that no name of a
file can change the rules. Of the rules that match, the last decides. What may
be written leaves out what is protected or hidden, and the same is denied once
more afterwards, for people have seen exceptions to that. Stricter than the
Linux box are: hard links (none can be made, for they would be a way around
names), clones of whole folders, programs with a set-id bit (`ps`, `sudo`: the
system refuses them to everyone in a sandbox) and a sandbox within this one.
"""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.paths import inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_exec.sandbox.plan.plan import Plan

PROGRAM = "/usr/bin/sandbox-exec"
"""A fixed path: a program found on PATH could be a replacement."""

_WRITABLE = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx")
_READABLE = (*_WRITABLE, "/dev", "/dev/random", "/dev/urandom")
_TERMINALS = '(regex #"^/dev/ttys[0-9]+$")'
_OWN_TERMINAL = f'(require-all {_TERMINALS} (extension "com.apple.sandbox.pty"))'

# Users and groups by number. Nothing that opens programs, keeps keys, or knows preferences and clipboards.
_SERVICES = ("com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership")
_NETWORK_SERVICES = (
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.SystemConfiguration.configd",
    "com.apple.dnssd.service",
    "com.apple.trustd",
    "com.apple.trustd.agent",
)
_NAME_LOOKUP = "/private/var/run/mDNSResponder"

# What the machine is; not what else runs on it (kern.proc).
_FACTS = (
    *(
        f"kern.{name}"
        for name in (
            "argmax boottime clockrate hostname iossupportversion maxfiles maxfilesperproc maxproc "
            "maxprocperuid ngroups osproductversion osrelease osrevision ostype osvariant_status osversion "
            "secure_kernel usrstack64 version"
        ).split()
    ),
    *"sysctl.proc_cputype sysctl.proc_native vm.loadavg vm.pagesize".split(),
)
_KINDS_OF_FACTS = ("hw.", "machdep.cpu.")
_SHARED_MEMORY = ("/psm_", "/__KMP_REGISTERED_LIB_")  # Python's, and OpenMP's

_LIMITS = {
    "procs": "processes",
    "cpu": "CPU seconds",
    "memory_mb": "memory",
    "file_mb": "the size of a file",
    "open_files": "open files",
}


def wrap(plan: "Plan", argv: "Sequence[str]", port: int = 0) -> list[str]:
    """Return the words that run a command in a sandbox of this plan.

    The first word should be the path of the program, for PATH decides
    otherwise. `port` is where a proxy listens, if the plan lists hosts.
    """
    if not argv:
        raise InvalidArgument("there is no command to run in the sandbox")
    defined = (word for name, value in parameters(plan).items() for word in ("-D", f"{name}={value}"))
    return [PROGRAM, "-p", text(plan, port), *defined, "--", *argv]


def parameters(plan: "Plan") -> dict[str, str]:
    """Return every path of the profile by its name in the text."""
    found: dict[str, str] = {}
    for group, paths in _groups(plan).items():
        found |= _names(group, paths)
    return found


def text(plan: "Plan", port: int = 0) -> str:
    """Return the profile; without a port, a list of hosts allows no connection at all."""
    if type(port) is not int or not 0 <= port <= 65535:
        raise InvalidArgument(f"port must be a number from 0 to 65535; got {port!r}", field="port")
    return "\n".join(["(version 1)", "(deny default)", *_running(), *_files(plan), *_network(plan, port), ""])


def unenforced(plan: "Plan") -> tuple[str, ...]:
    """Return what this sandbox lacks beside the Linux one; `plan.unenforced` says what both lack."""
    profile = plan.profile
    found = [
        "arguments and variables of this user's other processes can be read, though none can be signalled",
        "a process that leaves its session may outlive the command and its caller",
        "semaphores and named shared memory are the machine's",
        "users and groups are looked up by a service outside",
        "system calls are not filtered",
        "the command may type into its own terminal",
        "files in the roots can be marked as unchangeable",
        "protected and hidden names are known by their spelling, also on a disk that ignores case",
    ]
    if profile.tmp == "private":
        found.append("there is no private /tmp: the machine's can be read, and none can be written to")
    if profile.net == "on":
        found.append("services outside look up names and check certificates for the command")
    else:
        found.append("there is no loopback of its own: servers that the command starts cannot be reached")
    found.extend(
        f"there is no limit of {what}"
        for name, what in _LIMITS.items()
        if getattr(profile.limits, name) is not None
    )
    return tuple(found)


def _groups(plan: "Plan") -> dict[str, tuple[str, ...]]:
    """Return the paths of a plan by what is done with them."""
    roots = tuple(root.path for root in plan.roots if plan.profile.name == "workspace-write")
    # What does not exist yet is hidden too, unless the command may make it itself.
    absent = (path for path in plan.absent if not inside(path, *roots))
    masks = (*plan.masks, *absent)
    shown = tuple(path for kind, path, _ in plan.view if kind in {"show", "open", "link"})
    seen = (*roots, *(root.path for root in plan.visible), *shown)
    covers = tuple(path for kind, path, _ in plan.view if kind == "cover")
    return {
        "COVER": covers,
        "SHOWN": seen if covers else (),
        "WAY": (*covers, *_above(seen, covers)),
        "ROOT": roots,
        "PROTECTED": plan.protected,
        "MASK": masks,
        "ABOVE": tuple(_above((*plan.protected, *masks), roots)),
    }


def _above(paths: "Iterable[str]", roots: "Sequence[str]") -> list[str]:
    """Return the folders between a root and what is kept safe below it, which would move away with them."""
    found: set[str] = set()
    for path in paths:
        for root in roots:
            if inside(path, root):
                parts = path[len(root) :].split("/")[1:-1]
                found.update("/".join((root, *parts[: end + 1])) for end in range(len(parts)))
    return sorted(found, key=lambda path: (path.count("/"), path))


def _running() -> "Iterator[str]":
    """Return what any command needs to run."""
    yield "(allow process-exec* process-fork)"
    yield "(allow signal process-info* (target same-sandbox))"
    yield _rule(
        "allow sysctl-read", _filters("sysctl-name", _FACTS), _filters("sysctl-name-prefix", _KINDS_OF_FACTS)
    )
    yield _rule("allow mach-lookup", _filters("global-name", _SERVICES))
    yield "(allow ipc-posix-sem)"
    yield _rule("allow ipc-posix-shm*", _filters("ipc-posix-name-prefix", _SHARED_MEMORY))
    yield "(allow system-socket (socket-domain AF_UNIX))"  # a pair; nothing allows to bind or to connect one
    yield "(allow pseudo-tty)"


def _files(plan: "Plan") -> "Iterator[str]":
    """Return what may be read and written."""
    groups = _groups(plan)
    masks = _names("MASK", groups["MASK"])
    kept = _names("PROTECTED", groups["PROTECTED"]) | masks
    yield "(allow file-read* file-map-executable)"
    if groups["COVER"]:  # no copies can be made here: plain configuration is hidden too
        yield _rule("deny file-read* file-map-executable", _at_and_below(_names("COVER", groups["COVER"])))
        places = (f"(literal {_param(name)})" for name in _names("WAY", groups["WAY"]))
        yield _rule("allow file-read-metadata", places)
        yield _rule("allow file-read* file-map-executable", _at_and_below(_names("SHOWN", groups["SHOWN"])))
    yield from _devices()
    for name, root in _names("ROOT", groups["ROOT"]).items():
        held = [other for other, path in kept.items() if inside(path, root)]
        yield f"(allow file-write* {_without(f'(subpath {_param(name)})', held)})"
    # A clone of a folder takes along what is hidden in it; a clone of a file is a copy.
    yield f"(allow file-clone {_without('(vnode-type REGULAR-FILE)', masks)})"
    yield "(deny file-link)"
    yield "(deny file-write-setugid)"
    if groups["PROTECTED"]:
        yield _rule("deny file-write*", _at_and_below(_names("PROTECTED", groups["PROTECTED"])))
    if masks:
        operations = "deny file-read* file-write* file-map-executable file-clone process-exec*"
        yield _rule(operations, _at_and_below(masks))
    pinned = [*_names("ROOT", groups["ROOT"]), *_names("ABOVE", groups["ABOVE"])]
    if pinned:
        places = (f"(literal {_param(name)})" for name in pinned)
        yield _rule("deny file-write-create file-write-unlink", places)


def _devices() -> "Iterator[str]":
    """Give few devices: not disks, and of terminals only the command's own, which it may have got from us."""
    yield '(deny file-read-data (subpath "/dev"))'
    yield _rule(
        "allow file-read-data", _filters("literal", _READABLE), ['(subpath "/dev/fd")', _OWN_TERMINAL]
    )
    yield _rule(
        "allow file-write-data", _filters("literal", _WRITABLE), ['(subpath "/dev/fd")', _OWN_TERMINAL]
    )
    yield _rule("allow file-ioctl", _filters("literal", _WRITABLE), [_TERMINALS])


def _network(plan: "Plan", port: int) -> "Iterator[str]":
    """Return what may be reached: never the machine's own services on loopback or on unix sockets."""
    if plan.profile.net != "on":
        yield "(deny network*)"
        if port and plan.profile.net != "off":
            yield f'(allow network-outbound (remote tcp "localhost:{port}"))'
        return
    yield f'(allow network-outbound (remote ip "*:*") (literal "{_NAME_LOOKUP}"))'
    yield '(allow network-bind network-inbound (local ip "*:*"))'
    yield _rule("allow mach-lookup", _filters("global-name", _NETWORK_SERVICES))
    yield '(allow sysctl-read (sysctl-name-prefix "net."))'


def _names(group: str, paths: "Sequence[str]") -> dict[str, str]:
    return {f"{group}_{number}": path for number, path in enumerate(paths)}


def _param(name: str) -> str:
    return f'(param "{name}")'


def _filters(kind: str, values: "Iterable[str]") -> list[str]:
    return [f'({kind} "{value}")' for value in values]


def _at_and_below(names: "Iterable[str]") -> list[str]:
    return [f"({kind} {_param(name)})" for name in names for kind in ("literal", "subpath")]


def _without(wanted: str, names: "Iterable[str]") -> str:
    """Return a filter for what is wanted, but not what is at or below the named places."""
    excluded = [f"(require-not {place})" for place in _at_and_below(names)]
    return f"(require-all {' '.join((wanted, *excluded))})" if excluded else wanted


def _rule(head: str, *filters: "Iterable[str]") -> str:
    return f"({' '.join((head, *(one for some in filters for one in some)))})"
