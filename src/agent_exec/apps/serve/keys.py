"""Idempotency keys: a request that is repeated with its key starts nothing again, in another server too.

What a key began is on disk before its answer is sent. A job that a server
started and could not note, because it was killed in between, is found by a tag.
"""

import os
from hashlib import sha256
from time import time
from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve.problems import HttpError
from agent_exec.host import FileLock
from agent_exec.model.jsonline import dump, load
from agent_exec.places import STATE, make_folder, place, write_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.faces.verbs import Jobs

    Answer = dict[str, Any]

KEPT = 86400.0
"""Seconds for which a key is remembered."""

LONGEST = 200
"""The most characters of a key."""

_JOBS = ("run", "create")
_WATCHING = ("observe", "tail_lines", "max_bytes")
"""Fields that say how a job is watched: a request that is repeated may have others."""
_KEPT_ANSWERS = ("create", "exec")
"""Operations whose answers are true in another server, too."""
_RECORD = ".json"
_OURS = "request."


class Keys:
    """The keys of one store of jobs; any thread may use it."""

    def __init__(self, jobs: "Jobs", folder: str | None = None) -> None:
        self._jobs = jobs
        self._folder = place("keys", *STATE) if folder is None else folder
        self._server = os.urandom(8).hex()

    def once(
        self,
        key: str,
        name: str,
        given: "dict[str, Any]",
        act: "Callable[[dict[str, Any], Callable[[str], object]], Answer]",
    ) -> "tuple[Answer, bool]":
        """Carry a request out, unless it was before; return its answer, and whether it was.

        `act` is called with the fields of the request, and with a function
        for it to call with the id of a job as soon as there is one.
        """
        if not key or len(key) > LONGEST:
            raise HttpError("invalid_argument", f"an Idempotency-Key has 1 to {LONGEST} characters")
        what = [name, sorted((field, value) for field, value in given.items() if field not in _WATCHING)]
        request = sha256(dump(what).encode()).hexdigest()
        digest = sha256(key.encode()).hexdigest()[:32]
        make_folder(self._folder)
        path = os.path.join(self._folder, digest)
        lock = FileLock(path)
        lock.acquire(wait=True)
        try:
            known = _read(path)
            if known is None or time() - known["at"] > KEPT:
                return _shown(self._begin(path, digest, name, given, request, act)), False
            if known["request"] != request:
                raise HttpError(
                    "key_reused", "another request was made with this Idempotency-Key; use a new one for this"
                )
            return _shown(self._again(path, digest, name, given, known, act)), True
        finally:
            lock.release()

    def _begin(
        self,
        path: str,
        digest: str,
        name: str,
        given: "dict[str, Any]",
        request: str,
        act: "Callable[[dict[str, Any], Callable[[str], object]], Answer]",
    ) -> "Answer":
        noted: dict[str, Any] = {"request": request, "at": time(), "server": self._server}
        _write(path, noted)

        def begun(job_id: str) -> None:
            noted["job"] = job_id
            _write(path, noted)

        asked = {**given, "tags": [*given.get("tags", ()), _tag(digest)]} if name in _JOBS else given
        try:
            answer = act(asked, begun)
        except BaseException:
            if "job" not in noted:  # nothing was started
                os.unlink(path + _RECORD)
            raise
        if "job" not in noted:
            _write(path, {**noted, "answer": answer})
        return answer

    def _again(
        self,
        path: str,
        digest: str,
        name: str,
        given: "dict[str, Any]",
        known: "dict[str, Any]",
        act: "Callable[[dict[str, Any], Callable[[str], object]], Answer]",
    ) -> "Answer":
        if "answer" in known and (known["server"] == self._server or name in _KEPT_ANSWERS):
            answer: Answer = known["answer"]
            return answer
        job = known.get("job")
        if job is None and name not in _JOBS:
            raise HttpError(
                "uncertain",
                "the server that had this request has ended, and with it what the request started; look what "
                "was done, and use a new Idempotency-Key to do it again",
            )
        if job is None:
            found = self._jobs.list(tags=[_tag(digest)], limit=1)["jobs"]
            if not found:  # the server was killed before it started anything
                return self._begin(path, digest, name, given, known["request"], act)
            job = found[0]["job_id"]
        if name == "create":
            return self._jobs.status(job)
        watching = {field: given[field] for field in _WATCHING if field in given}
        return self._jobs.rejoin(job, kind=name, until_ready=bool(given.get("conditions")), **watching)

    def clean_up(self) -> None:
        """Forget keys that are too old."""
        try:
            with os.scandir(self._folder) as found:
                old = [entry.path for entry in found if time() - entry.stat().st_mtime > 2 * KEPT]
        except OSError:
            return
        for path in old:
            try:
                os.unlink(path)
            except OSError:
                continue


def _shown(answer: "Answer") -> "Answer":
    """Return an answer without the tag that is ours."""
    if "tags" not in answer:
        return answer
    return {**answer, "tags": [tag for tag in answer["tags"] if not tag.startswith(_OURS)]}


def _tag(digest: str) -> str:
    return f"{_OURS}{digest}"


def _read(path: str) -> "dict[str, Any] | None":
    try:
        with open(path + _RECORD, encoding="utf-8") as file:
            found: dict[str, Any] = load(file.read())
    except (FileNotFoundError, ValueError):
        return None
    return found


def _write(path: str, fields: "dict[str, Any]") -> None:
    write_file(path + _RECORD, dump(fields).encode(), sync=False)
