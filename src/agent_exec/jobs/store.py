"""The folder of all jobs: makes them, finds them by their ids, takes them away.

Two small indexes stand beside the jobs: `.live` names those that may still
run, and `.cwd` those of each working directory, in a folder for each
quarter of an hour, so that the newest are found without reading all. A job is entered before it
exists and taken out after it is gone, so an index may name too many and
never too few; the record has the last word. Jobs of the Rust agent-exec may
be in the same folder (`foreign.py`); no index names them.
"""

import errno
import os
import stat
import sys
from time import time_ns

from agent_exec.jobs import record
from agent_exec.logs.stream import FLAGS
from agent_exec.places import here, jobs_root, make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from agent_exec.jobs.record import Record
    from agent_exec.model import errors
    from agent_exec.model.errors import StoreFailed
else:
    from agent_exec.model.lazy import Later

    errors = Later("agent_exec.model.errors")  # which most calls do not need

LIVE = ".live"
CWD = ".cwd"
TRASH = ".trash-"
_CANDIDATES = 20
_BUCKET = 6
"""So many letters of an id are the same for all jobs of a quarter of an hour (2**20 ms)."""
_SORTED_AT_ONCE = 2000
_SAMPLE = 256
_SAMPLE_TOP = 4
"""Of more names than are sorted at once, those above the fourth of a sample are sorted first."""
_LOOKED_AT = 1000
"""So many entries of a store are looked at for folders that no index names."""
_META = "meta.json"
"""What a job of the Rust agent-exec has in place of a record."""
_LIVE_STATES = frozenset(("created", "running"))
_ATTEMPTS = 8  # an index may be taken away, when its last entry goes, just before we enter the next

_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Free some room, or name"),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "Make it writable, or name"),
}

ID_LENGTH = 26
_SHORT = 8
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LETTERS = frozenset(_ALPHABET)
_RANDOM_BITS = 80
_TIME = 10
"""So many letters of an id are the time."""


def new_id() -> str:
    """Return a new id: the time in milliseconds, then chance."""
    number = (time_ns() // 1_000_000) << _RANDOM_BITS | int.from_bytes(os.urandom(10), "big")
    return _letters(number, ID_LENGTH)


def _letters(number: int, count: int) -> str:
    return "".join([_ALPHABET[number >> shift & 31] for shift in range(5 * (count - 1), -1, -5)])


def is_id(name: str) -> bool:
    """True if this is the whole name of a job, as it stands on disk."""
    return len(name) == ID_LENGTH and _LETTERS.issuperset(name)


def is_part(name: str) -> bool:
    """True if this can be the beginning or the end of one."""
    return 0 < len(name) <= ID_LENGTH and _LETTERS.issuperset(name)


def created(job_id: str) -> float:
    """Return the time at which an id was made."""
    number = 0
    for letter in job_id[:_TIME]:
        number = number << 5 | _ALPHABET.index(letter)
    return number / 1000


def short(job_id: str) -> str:
    """Return the end of an id, which differs even among jobs of the same moment."""
    return job_id[-_SHORT:]


def place_of(cwd: str) -> str:
    """Give where a working directory really is, by which its jobs are found; as named, if we may not see."""
    try:
        return os.path.realpath(cwd)
    except OSError:
        return os.path.abspath(cwd)


class Store:
    """A folder of jobs; nothing is made or changed by looking.

    What its records say decides which processes are signalled and what is deleted: one
    that others own or may write to is refused.
    """

    __slots__ = ("root",)

    def __init__(self, root: str) -> None:
        self.root = os.path.normpath(root if os.path.isabs(root) else os.path.join(here(), root))
        _check_owner(self.root)

    def folder(self, job_id: str) -> str:
        """Return the folder of a job."""
        return f"{self.root}{os.sep}{job_id}"

    def make(self, job_id: str, cwd: str) -> str:
        """Make a job's folder, entered in the indexes, and return it; without a record it is invisible."""
        try:
            self._enter(job_id, os.path.join(self.root, LIVE))
            self._enter(job_id, os.path.join(self._cwd_folder(cwd), job_id[:_BUCKET]))
            folder = self.folder(job_id)
            os.mkdir(folder, 0o700)
        except OSError as error:
            self._strike(job_id, cwd)
            raise broken(error, self.root) from error
        return folder

    def read(self, job_id: str) -> "Record | None":
        """Read the record of a job by its whole id; None if there is no such job."""
        folder = self.folder(job_id)
        if not _is_folder(folder):
            return None
        found = record.read(job_id, folder)
        if found is None and os.path.lexists(os.path.join(folder, _META)):
            from agent_exec.jobs import foreign

            found = foreign.read(job_id, folder)
        return found

    def find(self, text: str) -> "Record":
        """Return the job that this id names, or the only one whose id begins or ends so."""
        wanted = text.upper()
        if not (is_part(wanted) or self._may_be_foreign(text)):
            raise errors.JobNotFound(
                f"{text!r} is not the id of a job under {self.root}; `agent-exec list --all` shows them",
                job_id=text,
                root=self.root,
            )
        found = [wanted] if is_id(wanted) else self._matches(text)
        readable: list[Record] = []
        for job in map(self.read, found):
            if job is not None:
                readable.append(job)
            if len(readable) > _CANDIDATES:
                break
        if len(readable) == 1:
            return readable[0]
        if not readable:
            raise errors.JobNotFound(
                f"no job {text!r} under {self.root}; `agent-exec list --all` shows those there are",
                job_id=text,
                root=self.root,
            )
        raise errors.AmbiguousJob(
            f"several jobs have ids that begin or end with {text!r}; give more of the id",
            candidates=[job.id for job in readable[:_CANDIDATES]],
            truncated=len(readable) > _CANDIDATES,
        )

    def _matches(self, text: str) -> list[str]:
        found = []
        for name in self.ids():
            part = text.upper() if is_id(name) else text
            if name == part:
                return [name]
            if name.startswith(part) or name.endswith(part):
                found.append(name)
        return found

    def _may_be_foreign(self, text: str) -> bool:
        from agent_exec.jobs.foreign import is_name

        return is_name(text)

    def ids(self) -> "Iterable[str]":
        """Return the ids of all jobs, those of the Rust agent-exec too, the newest first."""
        names = _names_in(self.root, self.root)
        others = [name for name in names if len(name) != ID_LENGTH and name[0] != "."]
        return self.with_others(_newest_first(names), list(filter(self.is_foreign, others)))

    def is_foreign(self, name: str) -> bool:
        """True if a folder with a name that is no id of ours may be a job of the Rust agent-exec."""
        return os.path.lexists(os.path.join(self.root, name, _META))

    def others(self) -> list[str]:
        """Return the names of the first folders in the store that are no ids of ours."""
        found = []
        try:
            with os.scandir(self.root) as entries:
                for _, entry in zip(range(_LOOKED_AT), entries, strict=False):
                    name = entry.name
                    if not (name[0] == "." or is_id(name)) and entry.is_dir(follow_symlinks=False):
                        found.append(name)
        except OSError:
            return found  # the list of jobs says why
        return found

    def with_others(self, ids: "Iterable[str]", others: list[str]) -> "Iterable[str]":
        """Return ids of ours, the newest first, with these others among them by the age of their jobs."""
        if not others:
            return ids
        ages = dict.fromkeys(others, "")
        for name in others:
            if (job := self.read(name)) is not None:
                ages[name] = _letters(int(record.moment(job.facts["created_at"]) * 1000), _TIME)
        return sorted([*ids, *others], key=lambda name: (ages.get(name, name), name), reverse=True)

    def live_ids(self) -> list[str]:
        """Return the ids of all jobs that may not be over, the newest first."""
        return list(_newest_first(_names_in(os.path.join(self.root, LIVE), self.root)))

    def ids_of(self, cwd: str) -> "Iterator[str]":
        """Return the ids of all jobs that may belong to a working directory, the newest first."""
        folder = self._cwd_folder(cwd)
        loose: dict[str, list[str]] = {}  # entries of stores that are older than the folders for a time
        for name in filter(is_part, _names_in(folder, self.root)):
            ids = loose.setdefault(name[:_BUCKET], [])
            if is_id(name):
                ids.append(name)
        for name in sorted(loose, reverse=True):
            bucket = _names_in(os.path.join(folder, name), self.root)
            yield from _newest_first(list({*bucket, *loose[name]}))

    def revive(self, job_id: str) -> None:
        """Note that a job may not be over; raise OSError if that cannot be noted."""
        self._enter(job_id, os.path.join(self.root, LIVE))

    def settle(self, job_id: str) -> None:
        """Note that a job is over."""
        self._leave(os.path.join(self.root, LIVE), job_id)

    def remove(self, job_id: str, cwd: str | None) -> bool:
        """Delete a job atomically; False if it does not exist.

        What cannot be deleted stays under another name, for the next
        collection to try again.
        """
        grave = os.path.join(self.root, f"{TRASH}{job_id}")
        try:
            os.rename(self.folder(job_id), grave)
        except FileNotFoundError:
            return False
        except OSError as error:
            if not os.path.isdir(grave):
                raise broken(error, self.root) from error
            bury(grave)  # from a removal that was cut short
            os.rename(self.folder(job_id), grave)
        bury(grave)
        self._strike(job_id, cwd)
        return True

    def _strike(self, job_id: str, cwd: str | None) -> None:
        """Take a job out of the indexes."""
        self.settle(job_id)
        if cwd is not None:
            folder = self._cwd_folder(cwd)
            bucket = os.path.join(folder, job_id[:_BUCKET])
            self._leave(bucket, job_id)
            self._leave(folder, job_id)
            try:
                os.rmdir(bucket)
                os.rmdir(folder)
            except OSError:
                pass  # others are entered there

    def _leave(self, index: str, job_id: str) -> None:
        """Take a job out of an index."""
        try:
            _refuse_links(index, self.root)
            os.unlink(os.path.join(index, job_id))
        except OSError:
            return

    def _enter(self, job_id: str, index: str) -> None:
        """Enter a job in an index, which is made if it is not there."""
        for _ in range(_ATTEMPTS):
            try:
                _refuse_links(index, self.root)
                os.close(os.open(os.path.join(index, job_id), os.O_WRONLY | os.O_CREAT | FLAGS, 0o600))
            except FileNotFoundError:
                make_folder(index)
            else:
                return
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), index)

    def _cwd_folder(self, cwd: str) -> str:
        return os.path.join(self.root, CWD, f"{digest(os.fsencode(cwd)):08x}")


def digest(data: bytes) -> int:
    """Return a short number for a path (FNV-1a), the same in every process; two paths may share one."""
    number = 0x811C9DC5
    for byte in data:
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return number


def broken(error: OSError, root: str, what: str = "jobs") -> "StoreFailed":
    """Return the typed error for what the system says about the store, or the folder of something else."""
    scarce = "End what is not needed any more and try again, or name"
    remedy = scarce if error.errno in errors.SCARCE else _REMEDIES.get(error.errno or 0, "Name")
    moved = "--root or AGENT_EXEC_ROOT" if what == "jobs" else "XDG_DATA_HOME"
    return errors.StoreFailed(
        f"the folder of {what} cannot be used: {error.strerror} ({error.filename or root}). "
        f"{remedy} another with {moved}",
        root=root,
        errno=error.errno,
    )


def bury(folder: str) -> None:
    """Delete a folder and all in it, following no link; what cannot be deleted stays."""
    if os.path.islink(folder):
        return
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    bury(entry.path)
                else:
                    _unlink(entry.path)
        os.rmdir(folder)
    except OSError:
        return


def _check_owner(root: str) -> None:
    """Raise if anybody but this user and root owns a store, or may write to it."""
    if sys.platform == "win32":
        return
    try:
        found = os.stat(root)
    except OSError:
        return  # not there yet, or its user gets the error
    if found.st_uid not in (os.geteuid(), 0):
        problem = f"belongs to another user (uid {found.st_uid}); use one of your own"
    elif found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and found.st_gid != found.st_uid):
        problem = f"can be written to by other users; `chmod go-w {root}` ends that, or use another"
    else:
        return  # a group with the user's own number is the user's alone
    raise errors.StoreFailed(
        f"the folder of jobs {root} {problem} with --root or AGENT_EXEC_ROOT: its records decide "
        "which processes are signalled and what is deleted",
        root=root,
        errno=errno.EPERM,
    )


def _refuse_links(index: str, root: str) -> None:
    """Raise if an index, or a folder of indexes that holds it, is a link: it would lead elsewhere."""
    while len(index) > len(root):
        if os.path.islink(index):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), index)
        index = os.path.dirname(index)


def _newest_first(names: list[str]) -> "Iterator[str]":
    """Return those of the names that are ids, in falling order; only as many are sorted as are taken."""
    while len(names) > _SORTED_AT_ONCE:
        least = sorted(names[:: len(names) // _SAMPLE])[-_SAMPLE_TOP]
        yield from sorted(filter(is_id, [name for name in names if name >= least]), reverse=True)
        names = [name for name in names if name < least]
    yield from sorted(filter(is_id, names), reverse=True)


def _names_in(folder: str, root: str) -> list[str]:
    try:
        _refuse_links(folder, root)
        return os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise broken(error, folder) from error


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def jobs_store(root: str | None = None) -> Store:
    """Return the store of jobs that is in force."""
    return Store(jobs_root(root))


def list_jobs(
    store: "Store",
    *,
    cwd: str | None = None,
    states: "Collection[str]" = (),
    tags: "Sequence[str]" = (),
    limit: int = 50,
    within: "Callable[[str], bool] | None" = None,
) -> "tuple[list[Record], bool, int]":
    """Return the newest jobs of a working directory, in one of the states, with all the tags; 0 is no limit.

    `within` says which working directories count. Return as well whether
    there are more, and how many folders have no record.
    """
    found: list[Record] = []
    others = store.others()
    foreign = list(filter(store.is_foreign, others))
    skipped = len(others) - len(foreign)
    if states and _LIVE_STATES.issuperset(states):
        candidates = store.with_others(store.live_ids(), foreign)
    elif cwd is not None:
        candidates = store.with_others(store.ids_of(cwd), foreign)
    else:
        candidates = store.ids()
    for job_id in candidates:
        job = store.read(job_id)
        if job is None:
            skipped += os.path.isdir(store.folder(job_id))
            continue
        if (
            (cwd is not None and job.facts.get("cwd", "" if "written_by" in job.facts else cwd) != cwd)
            or (states and job.state not in states)
            or (within is not None and not within(str(job.facts.get("cwd"))))
            or (tags and not all(_has(job.facts.get("tags", ()), pattern) for pattern in tags))
        ):
            continue
        if limit and len(found) == limit:
            return found, True, skipped
        found.append(job)
    return found, False, skipped


def _has(tags: "Sequence[str]", pattern: str) -> bool:
    """True if one of the tags is this one, or for `name.*`, that name or below it."""
    if pattern.endswith(".*"):
        name = pattern[:-2]
        return any(tag == name or tag.startswith(f"{name}.") for tag in tags)
    return pattern in tags
