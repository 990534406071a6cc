"""The verbs about jobs that wait: the plan, and the groups whose slots they need."""

from agent_exec.faces import answers, defaults
from agent_exec.jobs.groups import (
    HELD,
    MOST_SLOTS,
    WAITING,
    Queue,
    check_name,
    read_places,
    read_slots,
)
from agent_exec.jobs.store import short
from agent_exec.jobs.waiting import planned
from agent_exec.model.errors import InvalidArgument
from agent_exec.places import groups_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.faces.verbs import Answer, Jobs
    from agent_exec.jobs.groups import Place
    from agent_exec.jobs.record import Record


def plan(self: "Jobs", *, limit: int = defaults.LIST_LIMIT) -> "Answer":
    """Return the jobs that wait before they start, in the order in which they would; 0 is no limit."""
    store = self.store
    jobs = planned(store)
    places = read_places(groups_folder())
    shown = jobs[:limit] if limit else jobs
    return answers.answer(
        "plan",
        {
            "root": store.root,
            "jobs": [_entry(job, places) for job in shown],
            "truncated": len(shown) < len(jobs),
        },
    )


def _entry(job: "Record", places: "Sequence[Place]") -> "Answer":
    fields: Answer = {"job_id": job.id, "short_job_id": short(job.id), "state": job.state}
    for name in ("command", "cwd", "tags", "priority", "created_at"):
        if name in job.facts:
            fields[name] = job.facts[name]
    fields |= answers.waiting(job)
    for one in fields["waiting_for"]:
        if one["kind"] == "needs":
            asking = [place for place in places if one["group"] in place.needs]
            one["held_by"] = [place.id for place in asking if place.state == HELD]
            line = [place.id for place in asking if place.state == WAITING]
            one["ahead"] = line.index(job.id) if job.id in line else len(line)
    return fields


def groups(self: "Jobs") -> "Answer":
    """Return all groups with their slots, and the jobs that hold them or wait for them.

    These may be jobs of other folders of jobs: `roots` has the folders of those.
    """
    folder = groups_folder()
    places = read_places(folder)
    found: list[Answer] = []
    for name, slots in read_slots(folder).items():
        asking = [place for place in places if name in place.needs]
        held = [place for place in asking if place.state == HELD]
        found.append(
            {
                "name": name,
                "slots": slots,
                "held": sum(place.needs[name] for place in held),
                "held_by": [place.id for place in held],
                "waiting": [place.id for place in asking if place.state == WAITING],
            }
        )
        if elsewhere := {place.id: place.root for place in asking if place.root != self.root}:
            found[-1]["roots"] = elsewhere
    return answers.answer("group", {"root": self.root, "groups": found})


def set_group(self: "Jobs", name: str, slots: int) -> "Answer":
    """Make a group with so many slots, or change their number; return all groups."""
    if type(slots) is not int or not 0 < slots <= MOST_SLOTS:
        raise InvalidArgument(f"slots must be a whole number from 1 to {MOST_SLOTS}; got {slots!r}")
    with Queue(groups_folder()) as queue:
        queue.set_slots(check_name(name), slots)
    return groups(self)


def remove_group(self: "Jobs", name: str) -> "Answer":
    """Remove a group that no job needs; return those that are left."""
    with Queue(groups_folder()) as queue:
        queue.set_slots(check_name(name), 0)
    return groups(self)
