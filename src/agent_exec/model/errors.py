"""What we refuse or cannot do. How a command ended is never an error: it is an Outcome.

AgentExecError(code, message, retryable, details)
  Refused                 the request itself is at fault
    InvalidArgument         a value is out of its bounds or of the wrong kind
      InvalidTag              a label of a job is not one
    InvalidState            the engine, run or job is not in a state that allows this
    InputTooLarge           more input than was allowed
    InputRequired           the input was to be piped, and is a terminal
    Busy                    another is doing this now
    CommandDenied           the policy forbids this command
    ApprovalRequired        the policy asks first, and there was no approval
    DependencyFailed        a job that this one was to start after has not ended well
    InvalidRules            a file of rules has a mistake
    InvalidSettings         a configuration or project file has a mistake
    InvalidConfig           the configuration of another program has a mistake
  Missing                 something named does not exist or cannot be used
    CommandNotFound         no such program
    CommandNotExecutable    the program is there and cannot be executed
    WorkdirNotFound         no such working directory
    NotADirectory           the working directory is something else
    WorkdirForbidden        the working directory may not be entered
    JobNotFound             no job has this id
    AmbiguousJob            several jobs have ids that begin or end so
    GroupNotFound           no group has this name
    QuestionNotFound        no question with this id waits for an approval
  Broken                  the machine said no
    LaunchFailed            the system refused to start the process
    KeeperLost              the helper process that owned the run was killed
    InputClosed             the command takes no (more) input
    SandboxUnavailable      the command cannot be confined as asked, and so was not run
      PlanFailed              as things are now; the next try may succeed
      NothingConfines         no backend works on this machine
    Unsupported             this system cannot do what was asked
    NotReady                a service of a project has not become ready
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

    def __init_subclass__(cls, code: str = "", retryable: bool | None = None) -> None:
        if code:
            cls.code = code
        if retryable is not None:
            cls.retryable = retryable

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, object] = details

    def __reduce__(self) -> "tuple[object, ...]":
        return _rebuild, (type(self), self.message, dict(self.details))


def _rebuild(kind: type[AgentExecError], message: str, details: dict[str, object]) -> AgentExecError:
    return kind(message, **details)


class Refused(AgentExecError, code="refused"):
    """The request itself is at fault."""


class InvalidArgument(Refused, code="invalid_argument"):
    """A value is out of its bounds or of the wrong kind."""


class InvalidTag(InvalidArgument, code="invalid_tag"):
    """A label of a job is not one."""


class InvalidState(Refused, code="invalid_state"):
    """The engine, run or job is not in a state that allows this."""


class InputTooLarge(Refused, code="stdin_too_large"):
    """More input than was allowed."""


class InputRequired(Refused, code="stdin_required"):
    """The input was to be piped, and is a terminal."""


class Busy(Refused, code="busy", retryable=True):
    """Another is doing this now."""


class CommandDenied(Refused, code="command_denied"):
    """The policy forbids this command."""


class ApprovalRequired(Refused, code="approval_required"):
    """The policy requires approval, and it was not given."""


class DependencyFailed(Refused, code="dependency_failed"):
    """A job that this one was to start after has not ended as it should; the command was never started."""


class InvalidRules(Refused, code="invalid_rules"):
    """A file of rules has a mistake."""


class InvalidSettings(Refused, code="config_error"):
    """A configuration file or a project file has a mistake."""


class InvalidConfig(Refused, code="invalid_config"):
    """The configuration of another program has a mistake, and was left as it is."""


class Missing(AgentExecError, code="missing"):
    """Something named does not exist or cannot be used."""


class CommandNotFound(Missing, code="command_not_found"):
    """No such program."""


class CommandNotExecutable(Missing, code="command_not_executable"):
    """The program is there and cannot be executed."""


class WorkdirNotFound(Missing, code="workdir_not_found"):
    """No such working directory."""


class NotADirectory(Missing, code="not_a_directory"):
    """The working directory is something else."""


class WorkdirForbidden(Missing, code="workdir_forbidden"):
    """The working directory may not be entered."""


class JobNotFound(Missing, code="job_not_found"):
    """No job has this id."""


class AmbiguousJob(Missing, code="ambiguous_job_id"):
    """Several jobs have ids that begin or end so."""


class GroupNotFound(Missing, code="group_not_found"):
    """No group of jobs has this name."""


class QuestionNotFound(Missing, code="question_not_found"):
    """No question with this id waits for an approval."""


class Broken(AgentExecError, code="broken"):
    """The machine said no."""


class LaunchFailed(Broken, code="launch_failed", retryable=True):
    """The system refused to start the process."""


class KeeperLost(Broken, code="keeper_lost", retryable=True):
    """The helper process that owned the run was killed; so was the run."""


class InputClosed(Broken, code="input_closed"):
    """The command takes no (more) input."""


class SandboxUnavailable(Broken, code="sandbox_unavailable"):
    """The command cannot be confined as asked, and so was not run."""


class PlanFailed(SandboxUnavailable, retryable=True):
    """This box cannot be made now, as its folders are; another, or the next try, may succeed."""


class NothingConfines(SandboxUnavailable, retryable=False):
    """No backend makes even the smallest box on this machine; its `reasons` are among the details."""


class Unsupported(Broken, code="unsupported"):
    """This system cannot do what was asked."""


class NotReady(Broken, code="not_ready"):
    """A service of a project has not become ready, or cannot any more."""


class StoreFailed(Broken, code="store_failed"):
    """The folder of jobs cannot be read or written."""

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message, **details)
        self.retryable = details.get("errno") in SCARCE


class ConfigFailed(Broken, code="config_failed"):
    """The configuration of another program cannot be read or written."""


class Interrupted(Broken, code="interrupted", retryable=True):
    """We were asked to end before it was done."""


def no_program(name: str, where: str, remedy: str) -> CommandNotFound:
    """Return the error for a program that does not exist; a name with blanks may be meant as a shell line."""
    if " " in name.strip():
        remedy = "a command is a list of words, the program first; for a shell line use --shell, or sh -c"
    return CommandNotFound(f"no program {name!r} {where}; {remedy}", program=name)
