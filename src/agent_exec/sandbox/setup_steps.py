"""The steps by which a helper process becomes a box, by number: a failed one is told so to its owner."""

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
    """Names the step that is being taken: what the system refuses meanwhile is refused there.

    `fault` is the number of a step that is to fail, for tests of what happens then.
    """

    __slots__ = ("_fault", "_number")

    def __init__(self, fault: int = -1) -> None:
        self._fault = fault
        self._number = 0

    def __call__(self, name: str) -> "At":
        """Be at this step."""
        self._number = STEPS.index(name)
        return self

    def __enter__(self) -> None:
        if self._number == self._fault:
            failed = StepFailed(5, "made to fail")
            failed.step = self._number
            raise failed

    def __exit__(self, kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, StepFailed):
            failed = StepFailed(error.errno or 5, str(error))
            failed.step = self._number
            raise failed from error
