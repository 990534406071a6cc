"""Names of jobs that a person can type: `last`, `%2` for the second newest of this folder, `@tag`."""

from agent_exec.model.errors import InvalidArgument, JobNotFound
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.verbs import Jobs

_MOST = 10_000


def named(jobs: "Jobs", word: str) -> str:
    """Return the id of the job that a word means; raise JobNotFound if there is none.

    The newest job of a tag is looked for in this folder first, then in all.
    """
    if word.startswith("@"):
        for cwd in (here(), None):
            found = jobs.list(cwd=cwd, tags=(word[1:],), limit=1)["jobs"]
            if found:
                return str(found[0]["job_id"])
        raise JobNotFound(f"no job has the tag {word[1:]!r}; `agent-exec list --all` shows them", job_id=word)
    number = word[1:] if word.startswith("%") else "1"
    if not (number.isascii() and number.isdecimal() and 0 < int(number[:6]) <= _MOST):
        raise InvalidArgument(
            f"{word!r} names no job; %1 is the newest of this folder, %2 the one before, up to %{_MOST}"
        )
    listed = jobs.list(cwd=here(), limit=int(number))["jobs"]
    if len(listed) < int(number):
        raise JobNotFound(
            f"there is no {word}: this folder has {len(listed)} jobs; `agent-exec list --all` shows others",
            job_id=word,
        )
    return str(listed[-1]["job_id"])
