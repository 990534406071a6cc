"""The project file `agent-exec.toml`: found, checked whole with line numbers, and turned into services."""

import os
import sys

from agent_exec.jobs.readiness.conditions import parse as parse_condition
from agent_exec.model.document import Document, nearest
from agent_exec.model.errors import InvalidArgument, InvalidSettings
from agent_exec.model.value import Value
from agent_exec.requests.settings import read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "agent-exec.toml"
KINDS = {"services": "service", "jobs": "job"}
_UNTIL = ("ok", "any", "ready")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_LONGEST = 40
_TOP = {
    "services": ("table", ""),
    "jobs": ("table", ""),
    "env": ("variables", '{ DEBUG = "1" }'),
    "env_file": ("text or texts", '".env"'),
}
_KEYS = {
    "command": ("command", '"npm run dev"'),
    "cwd": ("text", '"web"'),
    "env": ("variables", '{ DEBUG = "1" }'),
    "env_file": ("text or texts", '".env"'),
    "port": ("port", '"auto"'),
    "ready": ("text or texts", '"listen"'),
    "after": ("text or texts", '["db"]'),
    "restart": ("text", '"on-failure"'),
    "retry": ("text", '"3"'),
    "health": ("text", '"curl -fsS http://127.0.0.1:$PORT/"'),
    "sandbox": ("text", '"workspace-write"'),
    "tags": ("texts", '["dev"]'),
    "timeout": ("time", '"10m"'),
}


class Service(Value):
    """One service, which is to run, or one job, which is to end well (`kind`).

    Paths are absolute. `after` has names of others, each with "ok", "any" or
    "ready"; `ready` are the conditions that must all hold.
    """

    name: str
    kind: str
    command: "str | list[str]"
    cwd: str
    env: "dict[str, str]"
    env_files: "tuple[str, ...]"
    port: str | None
    ready: "tuple[str, ...]"
    after: "dict[str, str]"
    restart: str | None
    retry: str | None
    health: str | None
    sandbox: str | None
    tags: "tuple[str, ...]"
    timeout: float | None

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"[{self.kind}s.{self.name}]"

    @property
    def definition(self) -> str:
        """A digest of all that is said of it here: another one means that it was changed."""
        from agent_exec.model.jsonline import dump

        return _digest(dump([getattr(self, name) for name in self.__slots__]))


class Project(Value):
    """A project file: its services in an order in which each follows those that it needs."""

    file: str
    folder: str
    services: "dict[str, Service]"

    @property
    def digest(self) -> str:
        """What tells the jobs of this folder from those of other checkouts."""
        return digest_of(self.folder)

    def choose(self, names: "list[str]") -> "list[Service]":
        """Return the services of these names, by default all, with all that they need, in order.

        Raise InvalidArgument for an unknown name.
        """
        for name in names:
            self.check_name(name)
        wanted = set(names or self.services)
        for name in reversed(self.services):
            if name in wanted:
                wanted |= self.services[name].after.keys()
        return [service for service in self.services.values() if service.name in wanted]

    def check_name(self, name: str) -> None:
        """Raise InvalidArgument unless there is a service or job of this name."""
        if name not in self.services:
            more = nearest(name, self.services) or f"; it has {', '.join(self.services)}"
            raise InvalidArgument(f"{self.file} has no {name!r}{more}")


def digest_of(folder: str) -> str:
    """Return the digest of a folder, by its real path."""
    return _digest(os.path.realpath(folder))


def _digest(text: str) -> str:
    from hashlib import blake2b

    return blake2b(os.fsencode(text), digest_size=6).hexdigest()


def with_port(text: str, port: int) -> str:
    """Return a text with the number of a port in place of its variable."""
    return text.replace("${PORT}", str(port)).replace("$PORT", str(port))


def find(folder: str) -> str:
    """Return the nearest project file of a folder, its own or one above; raise InvalidSettings if none is."""
    above = os.path.abspath(folder)
    while True:
        file = os.path.join(above, NAME)
        if os.path.lexists(file):
            _check_owner(file)
            return file
        if above == os.path.dirname(above):
            raise InvalidSettings(
                f"there is no {NAME} in {folder} or above it; write one, or `agent-exec import Procfile`"
            )
        above = os.path.dirname(above)


def _check_owner(file: str) -> None:
    """Raise InvalidSettings for a file of another user, which a folder such as /tmp may hold."""
    try:
        owner = os.stat(file).st_uid
    except OSError:
        return  # the reader says why
    if sys.platform != "win32" and owner not in (os.geteuid(), 0):
        raise InvalidSettings(
            f"{file} belongs to another user (uid {owner}), and its commands would be run as yours; "
            "if you trust it, name it with --file",
            file=file,
        )


def load(file: str) -> Project:
    """Return the project of a file; raise InvalidSettings for what is wrong in it."""
    name = os.path.abspath(file)
    return parse(read_text(name, "the project file")[0], name)


def parse(text: str, file: str) -> Project:
    """Return the project that a text describes, as if it were in this file."""
    document = Document(text, file)
    folder = os.path.dirname(file)
    common = document.fields((), _TOP)
    services: dict[str, Service] = {}
    paths = [(table, name) for table in KINDS for name in document.table((table,))]
    for path in sorted(paths, key=document.line):
        _check_name(document, path, services)
        services[path[1]] = _service(document, path, KINDS[path[0]], folder, common)
    if not services:
        document.wrong((), 'there is no service; write [services.web], and command = "…" below it')
    for service in services.values():
        _check_after(document, service, services)
    return Project(file, folder, _sort(document, services))


def _check_name(document: Document, path: "tuple[str, str]", known: "dict[str, Service]") -> None:
    name = path[1]
    if not name or len(name) > _LONGEST or not _LETTERS.issuperset(name):
        better = "".join(letter if letter in _LETTERS else "-" for letter in name)[:_LONGEST] or "web"
        document.wrong(path, f"{name!r} is not a name; use letters, digits and -: write [{path[0]}.{better}]")
    if name in known:
        document.wrong(path, f"{name!r} is a service and a job; give one of them another name")


def _service(
    document: Document, path: "tuple[str, str]", kind: str, folder: str, common: "dict[str, Any]"
) -> Service:
    found = document.fields(path, _KEYS)
    title = f"[{path[0]}.{path[1]}]"
    if "command" not in found:
        document.wrong(path, f'{title} has no command; write command = "npm run dev"')
    cwd = os.path.normpath(os.path.join(folder, os.path.expanduser(found.get("cwd", "."))))
    ready = found.get("ready", ["listen"] if "port" in found and kind == "service" else [])
    for text in ready:
        if with_port(text, 0) != text and "port" not in found:
            document.wrong((*path, "ready"), f'{title} ready: $PORT needs a port; write port = "auto"')
        try:
            parse_condition(with_port(text, 1), cwd)
        except InvalidArgument as error:
            document.wrong((*path, "ready"), f"{title} ready: {error.message}")
    if kind == "job" and ready:
        document.wrong((*path, "ready"), f"{title}: a job is done when it ends; write [services.{path[1]}]")
    restart = found.get("restart", "no").partition(",")[0]
    if restart not in ("no", "on-failure", "always"):
        document.wrong(
            (*path, "restart"), f"{title} restart must be no, on-failure or always; got {restart!r}"
        )
    from agent_exec.jobs.start import check_tags

    try:
        check_tags(found.get("tags", ()))
    except InvalidArgument as error:
        document.wrong((*path, "tags"), f"{title} tags: {error.message}")
    files = [*common.get("env_file", ()), *found.get("env_file", ())]
    return Service(
        path[1],
        kind,
        found["command"],
        cwd,
        {**common.get("env", {}), **found.get("env", {})},
        tuple(os.path.join(folder, os.path.expanduser(file)) for file in files),
        found.get("port"),
        tuple(ready),
        _after(document, path, found.get("after", ())),
        found.get("restart"),
        found.get("retry"),
        found.get("health"),
        _profile(found.get("sandbox"), folder),
        tuple(found.get("tags", ())),
        found.get("timeout"),
    )


def _profile(named: str | None, folder: str) -> str | None:
    """Return the profile that is named, as an absolute path if it is a file."""
    is_file = named is not None and ("/" in named or named.endswith(".json"))
    return os.path.join(folder, os.path.expanduser(named)) if named is not None and is_file else named


def _after(document: Document, path: "tuple[str, str]", texts: "list[str]") -> "dict[str, str]":
    found = {}
    for text in texts:
        name, colon, until = text.partition(":")
        if colon and until not in _UNTIL:
            document.wrong((*path, "after"), f"[{'.'.join(path)}] after: write {name}:{'|'.join(_UNTIL)}")
        found[name] = until
    return found


def _check_after(document: Document, service: Service, known: "dict[str, Service]") -> None:
    """Raise InvalidSettings for a need that is unknown; fill in what is waited for."""
    place = (f"{service.kind}s", service.name, "after")
    for name, until in service.after.items():
        if name not in known:
            more = nearest(name, known) or f"; there are {', '.join(known)}"
            document.wrong(place, f"{service.title} after: there is no {name!r}{more}")
        if until == "ready" and known[name].kind == "job":
            document.wrong(place, f"{service.title} after: {name} is a job; write {name}:ok or {name}:any")
        if until != "ready" and known[name].kind == "service" and until:
            document.wrong(place, f"{service.title} after: {name} is a service; write {name}:ready")
        service.after[name] = until or ("ok" if known[name].kind == "job" else "ready")


def _sort(document: Document, services: "dict[str, Service]") -> "dict[str, Service]":
    """Return the services so that each follows its needs; raise InvalidSettings for a cycle."""
    done: dict[str, Service] = {}

    def visit(name: str, above: "tuple[str, ...]") -> None:
        if name in done:
            return
        service = services[name]
        if name in above:
            cycle = " -> ".join((*above[above.index(name) :], name))
            document.wrong(
                (f"{service.kind}s", name, "after"),
                f"{service.title} after: {cycle} is a cycle; leave out one of these",
            )
        for need in service.after:
            visit(need, (*above, name))
        done[name] = service

    for name in services:
        visit(name, ())
    return done
