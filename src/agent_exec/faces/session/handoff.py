"""Makes a durable job of a session: the command goes on without the server, under a supervisor of its own."""

import os

from agent_exec.engine.engine import shared_spawner
from agent_exec.faces import defaults
from agent_exec.jobs.handoff import hand_over
from agent_exec.jobs.start import Order
from agent_exec.model.errors import InvalidState
from agent_exec.model.paths import inside
from agent_exec.places import here
from agent_exec.sandbox.backends import backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_exec.engine.handoff import HandOver
    from agent_exec.sandbox.plan.plan import Plan
    from agent_exec.sessions.session import Session

_TAG = "session"
_UNSEEN = "it began as a session: what the sandbox refused is not listed here"


def detach(session: "Session", root: str, environ: "Mapping[str, str]") -> str:
    """Hand a session over to the folder of jobs; return the job's id.

    Its log begins with all that is kept of what the session has read. Of the variables, the names
    of those are recorded that the server's `environ` does not have so; and of the sandbox, its
    profile.
    """
    command = session.command
    guard = session.guard if session.guard is not None and session.guard.plan.backend else None
    if guard is not None:
        _check(root, guard.plan)
    own = {os.fsdecode(name): os.fsdecode(value) for name, value in (command.env or {}).items()}

    def give(handing: "HandOver") -> str:
        order = Order(
            command.argv,
            cwd=command.cwd or here(),
            env={},
            env_keys=sorted(name for name, value in own.items() if environ.get(name) != value),
            tags=[_TAG],
            timeout=handing.left,
            grace=command.limits.grace,
            quota=defaults.QUOTA,
            mark=False,
            terms={"pipeline": "stdout" if command.tty else "stderr"} if session.pipeline else None,
        )
        if guard is not None:
            order.sandbox = _report(guard.plan) | {"guard": guard.to_fields()}
        return hand_over(shared_spawner().detach, root, order, handing.handed, session.printed())

    session.hand_over(give)
    return session.job


def _report(plan: "Plan") -> dict[str, object]:
    """Return the report on the box for the record, without what it kept the command from."""
    return {
        "backend": str(plan.backend),
        "strength": str(backend(plan.backend).strength),
        "profile": str(plan.profile.name),
        "policy": str(plan.profile.digest),
        "denials": [],
        "limits_hit": [],
        "unenforced": [str(words) for words in plan.unenforced],
        "protected_changes": [],
        "network": [],
        "message": _UNSEEN,
    }


def _check(root: str, plan: "Plan") -> None:
    """Refuse to keep the records of a confined command where it may write."""
    place = os.path.realpath(root)
    for allowed in plan.roots:
        if inside(place, allowed.path):
            raise InvalidState(
                f"the folder of jobs {place} lies where the sandbox lets the command write; "
                "name another with AGENT_EXEC_ROOT",
                root=place,
            )
