"""Finds a job by a saved answer: its id in its store, whatever the caller's own store is."""

import os

from agent_exec.apps.parse import UsageError
from agent_exec.model.errors import InvalidArgument, JobNotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.apps.parse import Parsed
    from agent_exec.faces.verbs import Jobs
    from agent_exec.model.cancel import Cancel

_LARGEST = 16 << 20
_NOT_IN_IDS = frozenset("/\\:\0")


def referenced(asked: "Parsed", cancel: "Cancel") -> "tuple[Jobs, str]":
    """Return the jobs of the store that the answer in `--from-json` names, and the id of its job.

    Raise InvalidArgument for a document that is not a such answer, JobNotFound if
    that store does not have that very job.
    """
    from agent_exec.faces.verbs import Jobs
    from agent_exec.jobs.store import Store, is_id

    if asked.words or "root" in asked.options:
        given = "the id of a job" if asked.words else "--root"
        raise UsageError(f"--from-json and {given} contradict each other", asked.verb)
    root, job_id = _fields(_load(asked.options["from-json"], cancel))
    store = Store(root)
    if not is_id(job_id):
        raise JobNotFound(f"no job {job_id!r} under {store.root}", job_id=job_id, root=store.root)
    return Jobs(store), job_id


def _load(name: str, cancel: "Cancel") -> object:
    """Return the JSON value in a file, or with `-` on standard input."""
    from agent_exec.logs.folders import chunks, open_own_file
    from agent_exec.model.jsonline import load

    data = b""
    try:
        fd = os.dup(0) if name == "-" else open_own_file(name, None)
        try:
            for chunk in chunks(fd, cancel):
                data += chunk
                if len(data) > _LARGEST:
                    raise InvalidArgument(f"--from-json: the document is larger than {_LARGEST} bytes")
        finally:
            os.close(fd)
    except OSError as error:
        raise InvalidArgument(f"--from-json {name!r} cannot be read: {error.strerror}", path=name) from None
    try:
        return load(data.decode())
    except (ValueError, RecursionError):
        raise InvalidArgument("--from-json: the document is not JSON; save the whole answer of run") from None


def _fields(document: object) -> tuple[str, str]:
    """Return the store and the id that an answer names; no part of another document is repeated."""
    if not isinstance(document, dict) or document.get("ok") is not True:
        raise InvalidArgument('--from-json: the document is not an answer with "ok": true')
    generation, _, number = str(document.get("schema_version", "0.1")).partition(".")
    if generation != "0" or not number.isdecimal():
        raise InvalidArgument("--from-json: the answer has an unknown schema_version; save that of run")
    root, job_id = document.get("root"), document.get("job_id")
    if not (isinstance(root, str) and os.path.isabs(root) and "\0" not in root):
        raise InvalidArgument('--from-json: the answer has no absolute "root"; save that of run')
    if not isinstance(job_id, str) or job_id in ("", ".", "..") or not _NOT_IN_IDS.isdisjoint(job_id):
        raise InvalidArgument('--from-json: the answer has no "job_id"; save that of run')
    return root, job_id
