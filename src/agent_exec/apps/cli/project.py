"""The verbs of a project file: `up`, `down`, `logs`, `import`; each service is started as `run` does it."""

import os

from agent_exec.apps.cli.run import Asking, configured
from agent_exec.apps.parse import Parsed, UsageError
from agent_exec.faces import answers, defaults
from agent_exec.faces import project as face
from agent_exec.faces.services import Services
from agent_exec.host import Interrupts, detach
from agent_exec.jobs.project import file as project_file
from agent_exec.jobs.start import start
from agent_exec.jobs.store import place_of
from agent_exec.model.errors import InvalidArgument, InvalidSettings
from agent_exec.places import here, settle_config, write_file
from agent_exec.sandbox.profile import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.jobs.project.file import Project, Service
    from agent_exec.jobs.start import Started
    from agent_exec.jobs.store import Store

_OPTIONS = {
    "env_files": "env-file",
    "tags": "tag",
    "ports": "port",
    "conditions": "ready-when",
    "every": "all",
}
"""The options of `run` that have other names as arguments in Python."""
_PASSED_ON = ("root", "config", "rules", "verbose")


def up(asked: Parsed) -> "dict[str, Any]":
    """Start the services of the project file, and wait until all are ready."""
    options = asked.options
    if "no-wait" in options and "until" in options:
        raise UsageError("--no-wait and --until contradict each other", "up")
    return bring_up(asked, _project(asked), asked.words, recreate="recreate" in options)


def bring_up(
    asked: Parsed, project: "Project", names: "Sequence[str]", *, recreate: bool = False, again: bool = False
) -> "dict[str, Any]":
    """Start services as the options say; with `again`, those that are named are started anew."""
    options = asked.options
    store = asked.store()
    starting = Starting(asked, store, project)
    return face.up(
        store,
        project,
        names,
        check=starting.check,
        begin=starting.begin,
        recreate=recreate,
        again=again,
        dry_run="dry-run" in options,
        seconds=0 if "no-wait" in options else options.get("until", face.WAIT),
        cancel=starting.interrupts,
    )


def restart_service(asked: Parsed, name: str) -> "dict[str, Any] | None":
    """Start a service anew; None if there is no project here, or none of this name in it."""
    try:
        file = project_file.find(here())
    except InvalidSettings:
        return None
    project = project_file.load(file)
    return bring_up(asked, project, [name], again=True) if name in project.services else None


def down(asked: Parsed) -> "dict[str, Any]":
    """End the services of the project; a file with mistakes does not prevent that."""
    file = _file(asked)
    try:
        project = _load(asked, file)
    except InvalidSettings:
        project = None
    return face.end(asked.store(), file, project, asked.words, Interrupts())


def logs(asked: Parsed) -> "dict[str, Any]":
    """Show the newest output of the services together."""
    return face.logs(
        asked.store(),
        _project(asked),
        asked.words,
        lines=asked.options.get("tail-lines", defaults.TAIL_LINES),
        size=asked.options.get("max-bytes", defaults.MAX_BYTES),
    )


def jobs_of(asked: Parsed) -> "dict[str, str]":
    """Return the newest job of each service by its name, "" for one that was never started."""
    return face.jobs_of(asked.store(), _project(asked))


def import_procfile(asked: Parsed) -> "dict[str, Any]":
    """Write the project file that says what a Procfile says."""
    from agent_exec.jobs.project.procfile import convert

    if len(asked.words) > 1:
        raise UsageError("one Procfile is imported at a time", "import")
    source = os.path.abspath(asked.words[0] if asked.words else "Procfile")
    text = convert(source)
    target = os.path.join(os.path.dirname(source), project_file.NAME)
    project = project_file.parse(text, target)
    dry = "dry-run" in asked.options
    if not dry:
        try:
            write_file(target, text.encode(), new=True)
        except FileExistsError:
            raise InvalidArgument(
                f"{target} exists, and is left as it is; `import --dry-run` shows what would be in it",
                path=target,
            ) from None
    return answers.answer(
        "import", {"project": target, "dry_run": dry, "services": list(project.services), "text": text}
    )


def _file(asked: Parsed) -> str:
    """Return the project file in force; for a Procfile, the one that it stands for."""
    if "procfile" in asked.options:
        return os.path.join(os.path.dirname(os.path.abspath(asked.options["procfile"])), project_file.NAME)
    return os.path.abspath(asked.options["file"]) if "file" in asked.options else project_file.find(here())


def _load(asked: Parsed, file: str) -> "Project":
    if "procfile" in asked.options:
        from agent_exec.jobs.project.procfile import convert

        return project_file.parse(convert(asked.options["procfile"]), file)
    return project_file.load(file)


def _project(asked: Parsed) -> "Project":
    if "file" in asked.options and "procfile" in asked.options:
        raise UsageError("--file and --procfile contradict each other", asked.verb)
    return _load(asked, _file(asked))


class Starting:
    """Starts services of a project: each as `run` starts a command, with the same rules and sandboxes."""

    def __init__(self, asked: Parsed, store: "Store", project: "Project") -> None:
        self.interrupts = Interrupts()
        self._asked = asked
        self._project = project
        self._services = Services(store, project)

    def check(self, service: "Service") -> "dict[str, Any]":
        """Return what a service comes to; raise what would keep it from being started."""
        asking = self._ask(service, [])
        order = asking.order
        if asking.gate is not None:
            asking.gate.admit(order.argv, place_of(order.cwd), order.env_keys)
        return {"command": order.argv, "cwd": order.cwd}

    def begin(self, service: "Service", needs: "list[list[str]]") -> "Started":
        """Start a service, whose job waits for the jobs that it needs."""
        asking = self._ask(service, needs)
        return start(asking.store, asking.order, gate=asking.gate, cancel=self.interrupts, detach=detach)

    def _ask(self, service: "Service", needs: "list[list[str]]") -> Asking:
        """Return what starts a service: what `run` would be asked, and that it is one of a project."""
        asked = self._command_line(service)
        try:
            asking = Asking(asked, configured(asked), self.interrupts)
        except UsageError as error:
            raise InvalidArgument(str(error)) from None
        asking.order.terms |= self._services.terms(service, needs)
        return asking

    def _command_line(self, service: "Service") -> Parsed:
        """Return the command line of `run` that starts a service."""
        asked = Parsed()
        asked.verb = "run"
        own = {name: self._asked.options[name] for name in _PASSED_ON if name in self._asked.options}
        given: dict[str, Any] = {**self._services.asked(service), "sandbox": self._sandbox(service)}
        given["env"] = [f"{name}={value}" for name, value in given["env"].items()]
        options = {_OPTIONS.get(name, name): value for name, value in given.items() if value}
        asked.options = {**own, "no-wait": True, **options}
        if asked.options.get("sandbox") in NAMES:
            asked.options["sandbox-root"] = [self._project.folder]
        asked.words = [service.command] if isinstance(service.command, str) else list(service.command)
        if isinstance(service.command, str):
            asked.options["shell"] = True
        return asked

    def _sandbox(self, service: "Service") -> str | None:
        """Return the profile of a service: the stricter one of the file's and the user's own."""
        own = self._asked.options.get("sandbox") or _configured()
        named = service.sandbox
        if named is None or own is None:
            return own or named
        both = [name for name in NAMES if name in (own, named)]
        return both[0] if {own, named} <= set(NAMES) else str(own)


def _configured() -> str | None:
    """Return the profile that the configuration file names for all commands."""
    if settle_config() is None:
        return None
    from agent_exec.requests.settings import settings

    found = settings()
    return None if found is None else found.run.get("sandbox")
