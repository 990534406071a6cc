"""Groups: named slots that all jobs of a user share, and the queue of jobs that need them.

The queue is a small file, a line for each job of any store, changed by one
process at a time and replaced whole. Slots go to jobs by priority, then by age. What a job
ahead still lacks is reserved for it, so none starves; all slots of a job are
granted at once, so none holds one while it waits for another. A process that
grants slots wakes the jobs that get them before it writes: no wake is lost,
wherever it is killed. A job that is killed is noticed by the job behind it,
which listens to those before it: for each group, to the last job ahead that
waits for it too, or else to all that hold slots of it.
"""

import os

from agent_exec.host import FileLock
from agent_exec.jobs.hearing import wake
from agent_exec.jobs.store import Store, broken, is_id
from agent_exec.logs.stream import open_to_read
from agent_exec.model.errors import GroupNotFound, InvalidArgument, InvalidState, StoreFailed
from agent_exec.places import make_folder, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    from agent_exec.jobs.record import Record

_QUEUE = "queue"
_SLOTS = "slots"
_LOCK = "lock"
_NOTHING = "-"
_ROOT = "root"
"""Begins a line of the queue that names the store of the jobs below it."""
_LARGEST = 1 << 26
_PRUNE = 64
"""How many jobs enter before those that were killed while they waited are looked for."""

MOST_SLOTS = 1_000_000
LATER, WAITING, HELD = "later", "waiting", "held"
"""A job in the queue waits for something else first, waits for slots, or holds them."""

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


class Place:
    """The place of one job in the queue; `on` are the jobs that it listens to, as it has said itself.

    `root` is the folder of jobs that it belongs to.
    """

    __slots__ = ("id", "needs", "next", "on", "priority", "root", "state")

    def __init__(
        self, job_id: str, root: str, priority: int, state: str, needs: "Mapping[str, int]", on: str
    ) -> None:
        self.id = job_id
        self.root = root
        self.priority = priority
        self.state = state
        self.needs = needs
        self.on = on
        self.next: list[str] = []
        """The jobs that it should listen to."""

    @property
    def rank(self) -> tuple[int, str]:
        """What sorts the jobs that wait: an id begins with the time of its making."""
        return -self.priority, self.id


def check_name(name: str) -> str:
    """Return the name of a group; raise InvalidArgument if it cannot be one."""
    if not (0 < len(name) <= 64 and _LETTERS.issuperset(name) and name != _NOTHING):
        raise InvalidArgument(f"{name!r} is not a name of a group; use letters, digits, -, _ and dots")
    return name


def parse_needs(text: str) -> dict[str, int]:
    """Return what `build:2,gpu` asks for; raise InvalidArgument for anything else."""
    needs: dict[str, int] = {}
    for part in text.split(","):
        name, colon, count = part.strip().partition(":")
        if not (count.isascii() and count.isdecimal() and int(count[:9]) and len(count) < 8) and colon:
            raise InvalidArgument(
                f"{part!r} asks for no number of slots; write GROUP or GROUP:N, N 1 or more"
            )
        if check_name(name) in needs:
            raise InvalidArgument(f"group {name!r} is named twice; write {name}:2 for two slots")
        needs[name] = int(count or 1)
    return needs


def check_needs(slots: "Mapping[str, int]", needs: "Mapping[str, int]") -> None:
    """Raise if a group does not exist, or never has so many slots."""
    for name, count in needs.items():
        if name not in slots:
            raise GroupNotFound(
                f"no group {name!r}; make it with `agent-exec group set {name} --slots {count}`", group=name
            )
        if count > slots[name]:
            raise InvalidArgument(
                f"{count} slots of group {name!r} are needed, and it has {slots[name]}; "
                f"raise that with `agent-exec group set {name} --slots {count}`",
                group=name,
            )


def read_slots(folder: str) -> dict[str, int]:
    """Return the groups, and how many slots each has."""
    lines = (line.split() for line in _read(os.path.join(folder, _SLOTS)).splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) == 2 and words[1].isdecimal()}


def read_places(folder: str) -> list[Place]:
    """Return the queue: the jobs that hold slots, then those that wait for them, in their order."""
    return _ordered(_parsed(_read(os.path.join(folder, _QUEUE))))


class Queue:
    """The queue while this process alone may change it: a context, at the end of which it is written."""

    __slots__ = ("_folder", "_lock", "_places", "_slots", "_stores", "_text")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = FileLock(os.path.join(folder, _LOCK))
        self._stores: dict[str, Store] = {}

    def __enter__(self) -> "Self":
        try:
            make_folder(self._folder)
            self._lock.acquire(wait=True)
        except OSError as error:
            raise broken(error, self._folder, "groups") from error
        self._slots = read_slots(self._folder)
        self._text = _read(os.path.join(self._folder, _QUEUE))
        self._places = {place.id: place for place in _parsed(self._text)}
        return self

    def __exit__(self, kind: object, _value: object, _traceback: object) -> None:
        try:
            if kind is None:
                self._save()
        except OSError as error:
            raise broken(error, self._folder, "groups") from error
        finally:
            self._lock.release()

    def enter(self, root: str, job_id: str, needs: "Mapping[str, int]", priority: int) -> None:
        """Enter a job of a store that will need slots."""
        check_needs(self._slots, needs)
        if len(self._places) % _PRUNE == _PRUNE - 1:
            self._prune()
        self._places[job_id] = Place(job_id, root, priority, LATER, needs, _NOTHING)

    def attend(self, job_id: str, lives: "Callable[[Place], bool]") -> tuple[bool, set[str]]:
        """Ask for a job's slots; return whether it holds them, and else those that it listens to.

        `lives` listens to a job, and returns False for one that is gone: that
        one is struck out.
        """
        place = self._places.get(job_id)
        if place is None:
            raise InvalidState(f"job {job_id} was struck from the queue of its groups; run it again")
        if place.state == LATER:
            place.state = WAITING
        while True:
            self._settle(job_id)
            gone = [other for other in place.next if not lives(self._places[other])]
            if not gone:
                break
            for other in gone:
                del self._places[other]
        place.on = _text_of(place.next)
        self._wake()
        return place.state == HELD, set(place.next)

    def leave(self, job_id: str) -> None:
        """Strike out a job, and grant its slots to others."""
        if self._places.pop(job_id, None) is not None:
            self._settle()
            self._wake()

    def set_slots(self, name: str, count: int) -> None:
        """Make a group, or give it another number of slots; 0 removes it."""
        self._prune()
        for place in self._places.values():
            if place.needs.get(name, 0) > count:
                how = f"needs {place.needs[name]} slots of group {name!r}, so it cannot "
                raise InvalidState(
                    f"job {place.id} {how}{f'have {count}' if count else 'be removed'}; "
                    f"end it first with `agent-exec kill {place.id} --root {place.root}`",
                    job_id=place.id,
                    group=name,
                )
        if not count and name not in self._slots:
            raise GroupNotFound(
                f"no group {name!r}; `agent-exec group list` shows those there are", group=name
            )
        self._slots.pop(name, None)
        if count:
            self._slots[name] = count
        self._settle()
        self._wake()
        text = "".join(f"{one} {self._slots[one]}\n" for one in sorted(self._slots))
        write_file(os.path.join(self._folder, _SLOTS), text.encode())

    def _settle(self, me: str = "") -> None:
        """Grant free slots in order, and find out which jobs each one that waits must listen to."""
        free = dict(self._slots)
        line = [place for place in _ordered(self._places.values()) if place.state != LATER]
        for place in line:
            if place.state == WAITING and all(
                free.get(name, 0) >= count for name, count in place.needs.items()
            ):
                if place.id != me and not self._can_start(place):
                    del self._places[place.id]
                    continue
                place.state = HELD
            for name, count in place.needs.items():
                free[name] = free.get(name, 0) - count
        before: dict[str, list[str]] = {}
        for place in line:
            if place.state == HELD:
                place.next = []
                for name in place.needs:
                    before.setdefault(name, []).append(place.id)
        for place in line:
            if place.state == WAITING and place.id in self._places:
                found = [other for name in place.needs for other in before.get(name, ())]
                place.next = list(dict.fromkeys(found))
                before.update({name: [place.id] for name in place.needs})

    def _store_of(self, place: Place) -> Store:
        if place.root not in self._stores:
            self._stores[place.root] = Store(place.root)
        return self._stores[place.root]

    def _job_of(self, place: Place) -> "Record | None":
        """Return the record of a job in the queue; None if it, or its store, is gone."""
        try:
            return self._store_of(place).read(place.id)
        except StoreFailed:
            return None

    def _can_start(self, place: Place) -> bool:
        job = self._job_of(place)
        return job is not None and job.supervisor == "alive"

    def _wake(self) -> None:
        """Wake each job that does not know yet what it is granted, or which jobs to listen to."""
        for place in self._places.values():
            if _text_of(place.next) != place.on and self._job_of(place) is not None:
                wake(self._store_of(place), [place.id], "")

    def _prune(self) -> None:
        """Strike out every job that is over."""
        for place in list(self._places.values()):
            job = self._job_of(place)
            if job is None or job.ended:
                del self._places[place.id]

    def _save(self) -> None:
        text = _written(self._places.values())
        if text == self._text:
            return
        # After a crash of the machine no job lives that could hold a slot.
        write_file(os.path.join(self._folder, _QUEUE), text.encode(), sync=False)


def _ordered(places: "Iterable[Place]") -> list[Place]:
    return sorted(places, key=lambda place: (place.state != HELD, place.rank))


def _parsed(text: str) -> "list[Place]":
    """Return the places that the lines of a queue stand for; invalid lines are skipped."""
    places = []
    known: dict[str, dict[str, int]] = {}
    root = ""
    for line in text.splitlines():
        words = line.split(" ")
        if words[0] == _ROOT:
            root = _path(words[-1])
        if len(words) != 5 or not is_id(words[0]) or not root:
            continue
        job_id, priority, state, needs, on = words
        try:
            if needs not in known:
                known[needs] = parse_needs(needs)
            places.append(Place(job_id, root, int(priority), state, known[needs], on))
        except (InvalidArgument, ValueError):
            continue
    return places


def _path(text: str) -> str:
    try:
        return os.fsdecode(bytes.fromhex(text))
    except ValueError:
        return ""


def _written(places: "Iterable[Place]") -> str:
    """Return the lines of a queue: one for each job, below one for its store where that is another."""
    lines = []
    root = ""
    for place in places:
        if place.root != root:
            root = place.root
            lines.append(f"{_ROOT} {os.fsencode(root).hex()}\n")
        needs = ",".join(f"{name}:{count}" for name, count in place.needs.items())
        lines.append(f"{place.id} {place.priority} {place.state} {needs} {place.on}\n")
    return "".join(lines)


def _text_of(ids: "list[str]") -> str:
    return ",".join(ids) or _NOTHING


def _read(path: str) -> str:
    """Return the text of a file; nothing if there is none."""
    try:
        fd = open_to_read(path)
    except OSError:
        return ""
    data = b""
    try:
        while len(data) < _LARGEST and (more := os.read(fd, 1 << 16)):
            data += more
    finally:
        os.close(fd)
    return data.decode("ascii", "replace")
