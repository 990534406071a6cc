"""What is asked for the job of each service of a project, and the verbs of projects for Python callers."""

import os

from agent_exec.faces import defaults
from agent_exec.faces import project as face
from agent_exec.jobs.project import file as project_file
from agent_exec.jobs.project.running import live_jobs, tag_of
from agent_exec.jobs.store import place_of
from agent_exec.model.errors import InvalidArgument, InvalidSettings, WorkdirNotFound
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.faces.asked import Asked
    from agent_exec.faces.verbs import Answer, Jobs
    from agent_exec.jobs.project.file import Project, Service
    from agent_exec.jobs.start import Order, Started
    from agent_exec.jobs.store import Store
    from agent_exec.model.cancel import Cancel
    from agent_exec.sandbox.profile import Profile


class Services:
    """What is asked for the job of each service of a project, with the ports of all."""

    def __init__(self, store: "Store", project: "Project") -> None:
        self.project = project
        self._ports: dict[str, int] = {}
        for name, job in live_jobs(store, project.folder).items():
            if "PORT" in job.facts.get("ports", {}):
                self._ports[name] = job.facts["ports"]["PORT"]
        for service in project.services.values():
            self._find_port(service)

    def asked(self, service: "Service") -> "Asked":
        """Return the arguments of `Jobs.run` for a service, but for its sandbox."""
        if not os.path.isdir(service.cwd):
            raise WorkdirNotFound(
                f"cwd {service.cwd!r} is not a folder; make it, or write another", cwd=service.cwd
            )
        port = self._ports.get(service.name, 0)
        ports = {
            f"PORT_{name.upper().replace('-', '_')}": str(number) for name, number in self._ports.items()
        }
        asked: Asked = {
            "cwd": service.cwd,
            "env": {**ports, **service.env},
            "env_files": service.env_files,
            "tags": [tag_of(self.project.folder, service.name), *service.tags],
            "ports": [service.port] if service.port and service.port != "auto" else [],
            "health": service.health,
            "restart": service.restart,
            "retry": service.retry,
            "timeout": service.timeout,
        }
        if service.kind == "service":
            wanted = [project_file.with_port(text, port) for text in service.ready]
            asked["conditions"] = wanted or ["idle=0s"]
            asked["every"] = True
        return asked

    def terms(self, service: "Service", needs: "list[list[str]]") -> "dict[str, Any]":
        """Return the terms of a job that make it one of a project, and have it wait for those it needs."""
        about = {"folder": self.project.folder, "name": service.name, "definition": service.definition}
        terms: dict[str, Any] = {"project": about}
        if service.port == "auto":
            terms["port"] = {"PORT": service.name}
        if needs:
            terms["after"] = needs
        return terms

    def _find_port(self, service: "Service") -> None:
        """Find the port of a service, which stays the same for its folder and name; others have it too."""
        if service.port is None or service.name in self._ports:
            return
        if service.port != "auto":
            self._ports[service.name] = int(service.port)
            return
        from agent_exec.jobs.readiness.ports import allocate

        port, lock = allocate(place_of(service.cwd), service.name)
        lock.release()  # for the supervisor to take; others leave it alone
        self._ports[service.name] = port


class _Starting:
    """Starts services for a Python caller."""

    def __init__(
        self, jobs: "Jobs", project: "Project", sandbox: "Profile | None", cancel: "Cancel | None"
    ) -> None:
        self._jobs = jobs
        self._services = Services(jobs.store, project)
        self._sandbox = sandbox
        self._cancel = cancel

    def check(self, service: "Service") -> "Answer":
        """Return what a service comes to; raise what would keep it from being started."""
        from agent_exec.jobs.start import judge

        order = self._order(service, [])
        judge(order, self._jobs.gate)
        return {"command": order.argv, "cwd": order.cwd}

    def begin(self, service: "Service", needs: "list[list[str]]") -> "Started":
        """Start a service, whose job waits for the jobs that it needs."""
        from agent_exec.jobs.start import start

        order = self._order(service, needs)
        return start(self._jobs.store, order, gate=self._jobs.gate, cancel=self._cancel)

    def _order(self, service: "Service", needs: "list[list[str]]") -> "Order":
        from agent_exec.faces.jobs import order_of
        from agent_exec.host import shell

        line = service.command
        argv = shell(line) if isinstance(line, str) else list(line)
        asked = self._services.asked(service)
        asked["sandbox"] = self._profile(service)
        order = order_of(self._jobs, argv, **asked)
        order.terms |= self._services.terms(service, needs)
        return order

    def _profile(self, service: "Service") -> "Profile | None":
        """Return what confines a service: the caller's profile, or else the one that the file names."""
        from agent_exec.sandbox.profile import NAMES, Profile

        if self._sandbox is not None or service.sandbox is None:
            return self._sandbox
        named: Any = service.sandbox
        if named not in NAMES:
            raise InvalidArgument(
                f"the profile {named!r} is not one of {', '.join(NAMES)}; give it as sandbox="
            )
        return Profile(named).replace(roots=[os.path.realpath(self._services.project.folder)])


def _file(file: str | None) -> str:
    return project_file.find(here()) if file is None else os.path.abspath(file)


def up(
    self: "Jobs",
    names: "Sequence[str]" = (),
    *,
    file: str | None = None,
    recreate: bool = False,
    restart: bool = False,
    dry_run: bool = False,
    sandbox: "Profile | None" = None,
    seconds: float = face.WAIT,
    cancel: "Cancel | None" = None,
) -> "Answer":
    """Start the services of a project file, and wait until all are ready; 0 seconds: until all are started.

    The file is the nearest `agent-exec.toml`. What runs is left alone, unless
    its definition was changed and `recreate` is given, or it is named and
    `restart` is. An answer that is not `ok` says which service is not ready, and
    has its last lines. A `sandbox` confines all, instead of what the file names.
    """
    project = project_file.load(_file(file))
    starting = _Starting(self, project, sandbox, cancel)
    return face.up(
        self.store,
        project,
        names,
        check=starting.check,
        begin=starting.begin,
        recreate=recreate,
        again=restart,
        dry_run=dry_run,
        seconds=seconds,
        cancel=cancel,
    )


def down(
    self: "Jobs", names: "Sequence[str]" = (), *, file: str | None = None, cancel: "Cancel | None" = None
) -> "Answer":
    """End services of a project, by default all; a file with mistakes does not prevent that."""
    found = _file(file)
    try:
        project = project_file.load(found)
    except InvalidSettings:
        project = None
    return face.end(self.store, found, project, names, cancel)


def logs(
    self: "Jobs",
    names: "Sequence[str]" = (),
    *,
    file: str | None = None,
    lines: int = defaults.TAIL_LINES,
    max_bytes: int = defaults.MAX_BYTES,
) -> "Answer":
    """Return the newest lines of services together, in the order in which they came; 0 lines is no limit."""
    return face.logs(self.store, project_file.load(_file(file)), names, lines=lines, size=max_bytes)
