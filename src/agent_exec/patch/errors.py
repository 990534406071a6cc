"""What can be wrong with a patch.

PatchError
  MalformedPatch          the text is no patch; details: line
  UnfitPatch              the files are not as the patch expects them
  PatchRejected           a target lies where nothing may be written
  ImplicitPatch           a bare patch was given as a command
  PatchNotWritten         the machine said no; every file is as it was
    PatchNotUndone          the machine said no, and no again when files were put back; details: kept
"""

from agent_exec.model.errors import AgentExecError


class PatchError(AgentExecError):
    """The patch was not applied."""

    code = "patch_failed"


class MalformedPatch(PatchError):
    """The text is no patch."""

    code = "patch_malformed"


class UnfitPatch(PatchError):
    """The files are not as the patch expects them."""

    code = "patch_unfit"


class PatchRejected(PatchError):
    """A target lies where nothing may be written."""

    code = "patch_rejected"


class ImplicitPatch(PatchError):
    """A bare patch was given as a command; no shell may run its lines."""

    code = "patch_implicit"


class PatchNotWritten(PatchError):
    """The machine said no; every file is as it was."""

    code = "patch_not_written"


class PatchNotUndone(PatchNotWritten):
    """The machine said no, and no again when files were put back.

    The detail `kept` maps each path that is not as it was to the hidden file
    that holds its old content, or to None where a new file could not be removed.
    """

    code = "patch_not_undone"
