"""What we refuse or cannot do. How a command ended is never an error: it is an Outcome.

AgentExecError(code, message, retryable, details)
  Refused                 the request itself is at fault
    InvalidArgument         a value is out of its bounds or of the wrong kind
    InvalidState            the engine, run or job is not in a state that allows this
    InputTooLarge           more input than was allowed
    Busy                    another is doing this now
    CommandDenied           the policy forbids this command
    ApprovalRequired        the policy asks first, and nobody said yes
    InvalidRules            a file of rules has a mistake
    InvalidConfig           the configuration of another program has a mistake
  Missing                 something named does not exist or cannot be used
    CommandNotFound         no such program
    CommandNotExecutable    the program is there and cannot be executed
    WorkdirNotFound         no such working directory
    NotADirectory           the working directory is something else
    WorkdirForbidden        the working directory may not be entered
    JobNotFound             no job has this id
    AmbiguousJob            several jobs have ids that begin or end so
  Broken                  the machine said no
    LaunchFailed            the system refused to start the process
    KeeperLost              the helper process that owned the run was killed
    InputClosed             the command takes no (more) input
    SandboxUnavailable      the command cannot be confined as asked, and so was not run
      PlanFailed              as things are now; the next try may succeed
      NothingConfines         no backend works on this machine
    Unsupported             this system cannot do what was asked
    StoreFailed             the folder of jobs cannot be read or written
    ConfigFailed            the configuration of another program cannot be read or written
    Interrupted             we were asked to end before it was done
"""

from errno import EAGAIN, EMFILE, ENFILE, ENOMEM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SCARCE = (EAGAIN, EMFILE, ENFILE, ENOMEM)
"""Errors of the system that pass: it lacks memory, processes or descriptors for now."""


class AgentExecError(Exception):
    """The root of all our errors; `code` is stable, the message says what to do next."""

    code = "internal"
    retryable = False

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, object] = details

    def __reduce__(self) -> "tuple[object, ...]":
        return _rebuild, (type(self), self.message, dict(self.details))


def _rebuild(kind: type[AgentExecError], message: str, details: dict[str, object]) -> AgentExecError:
    return kind(message, **details)


class Refused(AgentExecError):
    """The request itself is at fault."""

    code = "refused"


class InvalidArgument(Refused):
    """A value is out of its bounds or of the wrong kind."""

    code = "invalid_argument"


class InvalidState(Refused):
    """The engine, run or job is not in a state that allows this."""

    code = "invalid_state"


class InputTooLarge(Refused):
    """More input than was allowed."""

    code = "stdin_too_large"


class Busy(Refused):
    """Another is doing this now."""

    code = "busy"
    retryable = True


class CommandDenied(Refused):
    """The policy forbids this command."""

    code = "command_denied"


class ApprovalRequired(Refused):
    """The policy asks first, and nobody said yes."""

    code = "approval_required"


class InvalidRules(Refused):
    """A file of rules has a mistake."""

    code = "invalid_rules"


class InvalidConfig(Refused):
    """The configuration of another program has a mistake, and was left as it is."""

    code = "invalid_config"


class Missing(AgentExecError):
    """Something named does not exist or cannot be used."""

    code = "missing"


class CommandNotFound(Missing):
    """No such program."""

    code = "command_not_found"


class CommandNotExecutable(Missing):
    """The program is there and cannot be executed."""

    code = "command_not_executable"


class WorkdirNotFound(Missing):
    """No such working directory."""

    code = "workdir_not_found"


class NotADirectory(Missing):
    """The working directory is something else."""

    code = "not_a_directory"


class WorkdirForbidden(Missing):
    """The working directory may not be entered."""

    code = "workdir_forbidden"


class JobNotFound(Missing):
    """No job has this id."""

    code = "job_not_found"


class AmbiguousJob(Missing):
    """Several jobs have ids that begin or end so."""

    code = "ambiguous_job_id"


class Broken(AgentExecError):
    """The machine said no."""

    code = "broken"


class LaunchFailed(Broken):
    """The system refused to start the process."""

    code = "launch_failed"
    retryable = True


class KeeperLost(Broken):
    """The helper process that owned the run was killed; so was the run."""

    code = "keeper_lost"
    retryable = True


class InputClosed(Broken):
    """The command takes no (more) input."""

    code = "input_closed"


class SandboxUnavailable(Broken):
    """The command cannot be confined as asked, and so was not run."""

    code = "sandbox_unavailable"


class PlanFailed(SandboxUnavailable):
    """This box cannot be made now, as its folders are; another, or the next try, may succeed."""

    retryable = True


class NothingConfines(SandboxUnavailable):
    """No backend makes even the smallest box on this machine; its `reasons` are among the details."""

    retryable = False


class Unsupported(Broken):
    """This system cannot do what was asked."""

    code = "unsupported"


class StoreFailed(Broken):
    """The folder of jobs cannot be read or written."""

    code = "store_failed"

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message, **details)
        self.retryable = details.get("errno") in SCARCE


class ConfigFailed(Broken):
    """The configuration of another program cannot be read or written."""

    code = "config_failed"


class Interrupted(Broken):
    """We were asked to end before it was done."""

    code = "interrupted"
    retryable = True
