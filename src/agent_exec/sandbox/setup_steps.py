"""The steps by which a helper process becomes a box, by number: the owner learns which one failed."""

STEPS = (
    "an error of our own",
    "namespaces",
    "a mount tree of its own",
    "the roots",
    "everything read-only",
    "a private /tmp",
    "home folders",
    "protected paths",
    "a private /dev",
    "masks",
    "the network",
    "its first process",
    "a private /proc",
    "limits",
    "privileges",
    "Landlock",
    "seccomp",
    "the self-check",
    "the check before a command",
)


class StepFailed(OSError):
    """A step that the system refused; its number is `step`."""

    step = 0


class At:
    """Names the step that is being taken: what the system refuses meanwhile is refused there."""

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = 0

    def __call__(self, name: str) -> "At":
        """Be at this step."""
        self._number = STEPS.index(name)
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, StepFailed):
            failed = StepFailed(error.errno or 5, str(error))
            failed.step = self._number
            raise failed from error
