"""The errors of patches; PatchNotUndone is a PatchNotWritten, and all are a PatchError."""

from agent_exec.model.errors import AgentExecError


class PatchError(AgentExecError):
    """The patch was not applied."""

    code = "patch_failed"


class MalformedPatch(PatchError):
    """The text is not a patch; details: line."""

    code = "patch_malformed"


class UnfitPatch(PatchError):
    """The files are not as the patch expects them; details: `near`, lines of the file where it may belong."""

    code = "patch_unfit"


class PatchRejected(PatchError):
    """A target lies where nothing may be written."""

    code = "patch_rejected"


class ImplicitPatch(PatchError):
    """A bare patch was given as a command; no shell may run its lines."""

    code = "patch_implicit"


class PatchNotWritten(PatchError):
    """The system refused a write; every file is as it was."""

    code = "patch_not_written"


class PatchNotUndone(PatchNotWritten):
    """The system refused a write, and then to restore files.

    The detail `kept` maps each path that is not as it was to the hidden file
    that holds its old content, or to None where a new file could not be removed.
    """

    code = "patch_not_undone"
