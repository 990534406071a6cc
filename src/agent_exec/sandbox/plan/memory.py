"""What plans have seen of this machine, kept for the next plan and checked again before each use."""

from agent_exec.sandbox.plan.reading import Reader
from agent_exec.sandbox.plan.survey import Surveyor


class Memory:
    """The surveys of roots, and what may be read of the rest."""

    __slots__ = ("reader", "surveyor")

    def __init__(self) -> None:
        self.reader = Reader()
        self.surveyor = Surveyor()
