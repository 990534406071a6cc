"""The verb `logs`: prints the output of a job as text; that of services as an answer, or as text too."""

import os

from agent_exec.apps.cli.act import job_of
from agent_exec.apps.cli.people.output import Output, put
from agent_exec.apps.parse import UsageError
from agent_exec.faces import defaults
from agent_exec.host import Changes, Interrupts
from agent_exec.jobs.follow import Attempt, Follower, Gap
from agent_exec.jobs.record import CONTROL
from agent_exec.model.errors import InvalidSettings
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from agent_exec.apps.parse import Parsed
    from agent_exec.jobs.output import Piece
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.choices import Stream

_MOMENT = 0.02
"""Seconds between looks at a job whose supervisor has gone, and may still hold its lock."""
_ALL = 1 << 30


def logs(asked: "Parsed") -> "dict[str, Any]":
    """Print the end of the output of a job, or of services together; return what was not printed."""
    options = asked.options
    services = _services(asked)
    follows = "follow" in options
    if services is not None and not follows and asked.form != "human":
        from agent_exec.apps.cli import project

        return project.logs(asked)
    store = asked.store()
    lines = options.get("tail-lines", defaults.TAIL_LINES)
    size = _ALL if not lines else options.get("max-bytes", _ALL)
    streams: tuple[Stream, ...] = ("stderr",) if "stderr" in options else ("stdout", "stderr")
    found = {"": job_of(asked)} if services is None else services
    printers = []
    for name, job_id in found.items():
        follower = Follower(store, job_id)
        printer = Printer(follower, streams, label=name if len(found) > 1 else "")
        printer.show(follower.last(lines, size))
        printers.append(printer)
    if follows:
        follow(printers, Interrupts())
    for printer in printers:
        printer.finish()
    return {}


def _services(asked: "Parsed") -> "dict[str, str] | None":
    """Return the jobs of the services that are meant, by their names; None if a job is."""
    from agent_exec.apps.cli import project
    from agent_exec.jobs.project import file as project_file

    explicit = "file" in asked.options or "procfile" in asked.options
    try:
        if not explicit:
            project_file.find(here())
        found = project.jobs_of(asked)
    except InvalidSettings:
        if explicit:
            raise
        if not asked.words:
            raise UsageError(
                "name a job, such as: agent-exec logs last; there is no agent-exec.toml here whose services "
                "could be meant",
                "logs",
            ) from None
        return None
    words = asked.words
    if words and not explicit and len(words) == 1 and words[0] not in found:
        from agent_exec.jobs.store import is_part

        if words[0] == "last" or words[0][0] in "@%" or is_part(words[0]):
            return None
    unknown = [word for word in words if word not in found]
    if unknown and "follow" in asked.options:
        raise UsageError(f"{unknown[0]!r} is no service, of which there are {', '.join(found)}", "logs")
    return {name: job for name, job in found.items() if (not words or name in words) and job}


class Printer:
    """Prints the output of one job."""

    def __init__(
        self, follower: Follower, streams: "Sequence[Stream]", *, label: str = "", split: bool = False
    ) -> None:
        self.follower = follower
        self._streams = streams
        self._out = Output(label=label, split=split)

    def show(self, pieces: "Iterable[Piece | Gap | Attempt]") -> None:
        """Print what has come."""
        for piece in pieces:
            if isinstance(piece, Attempt):
                put(2, f"agent-exec: attempt {piece.number}\n".encode())
            elif isinstance(piece, Gap):
                put(2, f"agent-exec: {piece.size} bytes of {piece.stream} are no longer kept\n".encode())
            elif piece.stream in self._streams:
                self._out.write(piece.stream, piece.data)

    def finish(self) -> None:
        """Print what is left of a line."""
        self._out.finish()


def follow(printers: "Sequence[Printer]", cancel: "Cancel") -> bool:
    """Print what comes until all jobs have ended; False if `cancel` was set first."""
    while not cancel.is_set():
        homes = [printer.follower.job.home for printer in printers]
        changes = Changes(*homes)  # before the look, or what comes in between is not noticed
        changes.watch([os.path.join(home, CONTROL) for home in homes])
        pause: float | None = None
        try:
            while homes == [printer.follower.job.home for printer in printers] and not cancel.is_set():
                for printer in printers:
                    printer.show(printer.follower.read())
                if all(printer.follower.job.ended for printer in printers):
                    return True
                if changes.wait(pause, cancel):
                    pause = _MOMENT
        finally:
            changes.close()
    return False
