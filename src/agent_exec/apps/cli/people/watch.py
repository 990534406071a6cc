"""The verb `watch`: runs a command as a job, prints what it prints, and exits as it does."""

from agent_exec.apps.cli.people.logs import Printer, follow
from agent_exec.apps.cli.run import run
from agent_exec.faces.verbs import Jobs, exit_code
from agent_exec.jobs.follow import Follower

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed
    from agent_exec.host import Interrupts
    from agent_exec.jobs.start import Launcher


def watch(
    asked: "Parsed", began: float, interrupts: "Interrupts | None", launcher: "Launcher | None"
) -> "tuple[dict[str, Any], int]":
    """Run it to its end; a signal that asks this process to end is passed on to the job.

    The answer is empty, since all has been printed; that of a job which could not be started is its error.
    """
    from agent_exec.host import Interrupts

    cancel = interrupts or Interrupts()
    asked.options["no-wait"] = True
    told, status = run(asked, began, cancel, launcher)
    if not told["ok"] or "job_id" not in told:
        return told, status
    store = asked.store()
    jobs = Jobs(store)
    job_id = str(told["job_id"])
    printer = Printer(Follower(store, job_id), ("stdout", "stderr"), split=True)
    if not follow([printer], cancel):
        jobs.kill(job_id, signal="INT")  # by force after its grace
        printer.show(printer.follower.read())
    printer.finish()
    return {}, exit_code(jobs.status(job_id))
