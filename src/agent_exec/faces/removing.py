"""The verbs that delete jobs: one, all of a working directory, those that are too old or too many."""

from agent_exec.faces import answers, defaults
from agent_exec.jobs.store import place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.verbs import Answer, Jobs


def delete(self: "Jobs", job_id: str, *, dry_run: bool = False) -> "Answer":
    """Delete a job that has ended."""
    from agent_exec.jobs.removal import delete

    done = [delete(self.store, self.store.find(job_id), dry_run=dry_run)]
    return answers.removals(self.store, done, dry_run=dry_run)


def delete_all(self: "Jobs", cwd: str, *, dry_run: bool = False) -> "Answer":
    """Delete all jobs of a working directory that have ended."""
    from agent_exec.jobs.removal import delete_all

    scope = place_of(cwd)
    done, elsewhere = delete_all(self.store, scope, dry_run=dry_run)
    return answers.removals(self.store, done, dry_run=dry_run, cwd=scope, elsewhere=elsewhere)


def gc(
    self: "Jobs",
    *,
    older_than: float = defaults.OLDER_THAN,
    max_jobs: int | None = None,
    max_bytes: int | None = None,
    dry_run: bool = False,
    given: str | None = "",
    configured: bool = False,
) -> "Answer":
    """Delete ended jobs that are older than so many seconds, or beyond so many jobs or bytes.

    `given` is the age as the caller wrote it; None if it is the default, or
    if `configured` that of the configuration file.
    """
    from agent_exec.jobs.removal import collect

    done = collect(self.store, older_than=older_than, max_jobs=max_jobs, max_bytes=max_bytes, dry_run=dry_run)
    fields: Answer = {
        "root": self.root,
        "dry_run": dry_run,
        **age(older_than, given, configured=configured),
        "max_jobs": max_jobs,
        "max_bytes": max_bytes,
        "scanned_dirs": done["scanned"],
        "candidate_count": done["candidates"],
        "deleted": done["deleted"],
        "out_of_scope": done["kept"],
        "failed": done["failed"],
        "skipped": done["kept"] + done["failed"],
        "freed_bytes": done["freed"],
    }
    return answers.answer("gc", fields)


def age(older_than: float, given: str | None, *, configured: bool) -> "Answer":
    """Return the age that was asked for as the caller wrote it, and where it is from."""
    text = f"{older_than:g}s" if given == "" or (given is None and configured) else given
    source = "default" if text is None else "config" if given is None else "flag"
    return {"older_than": text or defaults.OLDER_THAN_TEXT, "older_than_source": source}
