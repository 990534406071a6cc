"""The record of a job: one file of JSON lines, and the truth that is read from it.

The first line is written when the job is made, the second when its command
has been started, the last when it has ended; the supervisor alone writes
it. A line that is not whole does not count. Room for the later
lines is reserved when the file is made, so that a full disk cannot keep a
supervisor from saying how its job ended.

A further attempt at a job has a record and logs of its own, in a folder below
the job's. The line `{"attempt": N}` in the job's record makes it the current
one.
"""

import os
from time import gmtime

from agent_exec.logs.stream import open_to_read
from agent_exec.model.jsonline import load
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from agent_exec.model.identity import Identity

    State = Literal["created", "running", "exited", "killed", "failed"]

STATES: "tuple[State, ...]" = ("created", "running", "exited", "killed", "failed")
OVER: "tuple[State, ...]" = ("exited", "killed", "failed")

RECORD = "record.jsonl"
LOCK = "lock"
CONTROL = "control"
ATTEMPTS = "attempts"

_KINDS = (int, int, str)
_LARGEST = 16 << 20
_OF_AN_END = frozenset(
    "state exit_code signal reason timed_out leaked code message duration_ms output_complete finished_at "
    "started_at pid start boot processes_ended processes_left note".split()
)
"""Facts of an attempt that is over; of a job that waits for its next one they are not said."""


def stamp(moment: float) -> str:
    """Return a moment (seconds since 1970) as text, such as 2026-01-31T12:00:00.250Z."""
    thousandths = round(moment * 1000)
    year, month, day, hour, minute, second, *_ = gmtime(thousandths // 1000)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{thousandths % 1000:03}Z"


def moment(text: str) -> float:
    """Return the moment (seconds since 1970) that `stamp` has written."""
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    if month < 3:  # a year that begins with March ends with the day that may be missing
        year, month = year - 1, month + 12
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day - 719469
    return days * 86400 + int(text[11:13]) * 3600 + int(text[14:16]) * 60 + float(text[17:23])


class Record(Value):
    """What is known about a job at one moment: the facts on record, and what the system says about it now.

    `state` is one of STATES. `supervisor` is "alive" or "lost" while the job
    is not over, and None after that, or if the job has not been started. A
    job whose supervisor was lost has ended as "failed", for the reason
    "supervisor_lost", once its command is gone too. A record that cannot be
    understood is one of a "failed" job too, for the reason "record_damaged".
    The facts are those of the current attempt.
    """

    id: str
    folder: str
    facts: "dict[str, Any]"
    state: "State"
    supervisor: "Literal['alive', 'lost'] | None" = None
    reason: str | None = None

    @property
    def ended(self) -> bool:
        """True if it is over."""
        return self.state in OVER

    @property
    def attempt(self) -> int:
        """The number of the attempt that this is about; the first is 1."""
        number = self.facts.get("attempt", 1)
        return number if type(number) is int and number > 1 else 1

    @property
    def home(self) -> str:
        """The folder of that attempt's record and logs."""
        return home_of(self.folder, self.attempt)

    @property
    def identity(self) -> "Identity | None":
        """The identity of the command's main process; None if it was never started, or is unknown."""
        from agent_exec.model.identity import Identity

        facts = self.facts
        return Identity(facts["pid"], facts["start"], facts["boot"]) if "pid" in facts else None


def home_of(folder: str, attempt: int) -> str:
    """Return the folder of an attempt's record and logs."""
    return folder if attempt == 1 else os.path.join(folder, ATTEMPTS, str(attempt))


def read(job_id: str, folder: str) -> Record | None:
    """Read a job's record; None if there is none, or it cannot be opened, or is being made just now."""
    facts = _current(folder)
    if facts is None:
        return _damaged(job_id, folder)
    record = _ended(job_id, folder, facts)
    if record is not None:
        return record
    from agent_exec.host import is_alive, is_locked  # which most records do not need: they have ended

    if is_locked(os.path.join(folder, LOCK)):
        facts = _between(facts)
        return Record(job_id, folder, facts, "running" if "started_at" in facts else "created", "alive")
    # It may have ended between the two looks.
    facts = _current(folder) or facts
    record = _ended(job_id, folder, facts)
    if record is not None:
        return record
    if facts.get("awaits"):
        return Record(job_id, folder, facts, "created")
    lost = Record(job_id, folder, _between(facts), "failed", None, "supervisor_lost")
    if lost.identity is not None and is_alive(lost.identity):
        return Record(job_id, folder, facts, "running", "lost")
    return lost


def read_attempt(job: Record, number: int) -> Record | None:
    """Read what is on record of one attempt at a job; None if it is not kept, or never was."""
    if number == job.attempt:
        return job
    facts = _facts(home_of(job.folder, number)) if 0 < number < job.attempt else None
    if facts is None:
        return None
    facts["attempt"] = number  # the record of the first one names the current one
    lost = Record(job.id, job.folder, facts, "failed", None, "supervisor_lost")
    return _ended(job.id, job.folder, facts | {"retrying": False}) or lost


def _ended(job_id: str, folder: str, facts: "dict[str, Any]") -> Record | None:
    state = facts.get("state")
    if state in OVER and not facts.get("retrying"):
        return Record(job_id, folder, facts, state, None, facts.get("reason"))
    return None


def _between(facts: "dict[str, Any]") -> "dict[str, Any]":
    """Return the facts of a job that waits for its next attempt, without how the last one ended."""
    if not facts.get("retrying"):
        return facts
    facts = {name: value for name, value in facts.items() if name not in _OF_AN_END}
    if isinstance(box := facts.get("sandbox"), dict):
        facts["sandbox"] = {name: box[name] for name in ("profile", "policy") if name in box}
    return facts


def _damaged(job_id: str, folder: str) -> Record | None:
    """Return what can be said of a job whose record makes no sense; None if it is not there, or not yet."""
    from agent_exec.host import is_locked
    from agent_exec.jobs.store import created

    try:
        os.close(open_to_read(os.path.join(folder, RECORD)))
        if is_locked(os.path.join(folder, LOCK)):
            return None
    except OSError:
        return None
    if _current(folder) is not None:
        return read(job_id, folder)  # it was being made
    facts = {"job_id": job_id, "tags": [], "created_at": stamp(created(job_id))}
    return Record(job_id, folder, facts, "failed", None, "record_damaged")


def _current(folder: str) -> "dict[str, Any] | None":
    """Return the facts of the current attempt; None if they make no sense."""
    facts = _facts(folder)
    while facts is not None and "attempt" in facts:
        number = facts["attempt"]
        found = _facts(home_of(folder, number)) if type(number) is int and number > 1 else None
        if found is not None:
            return found
        facts = _facts(folder)  # the next may have begun, and that one been deleted
        if facts is not None and facts.get("attempt") == number:
            return None
    return facts


def _facts(folder: str) -> "dict[str, Any] | None":
    """Return what all whole lines say together; None unless the first one is whole."""
    try:
        fd = open_to_read(f"{folder}{os.sep}{RECORD}")
    except OSError:
        return None
    try:
        data = all_of(fd)
    except OSError:
        return None
    finally:
        os.close(fd)
    facts: dict[str, Any] = {}
    for said in _lines(data[: data.rfind(b"\n") + 1]):
        if not isinstance(said, dict):
            break
        facts.update(said)
    return facts if _makes_sense(facts) else None


def _lines(data: bytes) -> "list[Any]":
    """Return the values of all lines up to the first that is damaged."""
    try:
        found: list[Any] = load("[" + data[:-1].decode().replace("\n", ",") + "]")  # all at once
        if len(found) == data.count(b"\n"):
            return found
    except (ValueError, RecursionError):
        pass
    found = []
    for line in data.split(b"\n")[:-1]:
        try:
            found.append(load(line.decode()))
        except (ValueError, RecursionError):
            break
    return found


def all_of(fd: int) -> bytes:
    """Return all of a file, up to a limit that no record of ours reaches."""
    data = os.read(fd, 1 << 16)
    while data and len(data) % (1 << 16) == 0 and len(data) < _LARGEST:
        more = os.read(fd, 1 << 16)
        if not more:
            break
        data += more
    return data


def _makes_sense(facts: "dict[str, Any]") -> bool:
    """True if these are the facts of a job, of the kinds that we write."""
    return (
        isinstance(facts.get("command"), list)
        and isinstance(facts.get("tags"), list)
        and isinstance(facts.get("kill_after_ms"), int)
        and isinstance(facts.get("cwd"), str)
        and (
            "pid" not in facts
            or (type(facts["pid"]), type(facts.get("start")), type(facts.get("boot"))) == _KINDS
        )
        and isinstance(facts.get("stdout_total_bytes", 0), int)
        and isinstance(facts.get("stderr_total_bytes", 0), int)
    )


def take_facts(path: str) -> "dict[str, Any] | None":
    """Return the facts in a file that was left for a supervisor; None if there are none."""
    try:
        fd = open_to_read(path)
    except OSError:
        return None
    try:
        said = load(all_of(fd).decode())
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(fd)
    return said if isinstance(said, dict) else None
