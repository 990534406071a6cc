"""What every workload is given: how thorough to be, the C programs, and the gate before each block."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.machine import Gate


@dataclass(frozen=True)
class Stage:
    """The setting of one run of the bench."""

    quick: bool
    programs: Mapping[str, str]
    gate: Gate

    def pick(self, full: int, quick: int) -> int:
        """Return the number for this run's thoroughness."""
        return quick if self.quick else full

    def c(self, name: str, *words: str) -> list[str] | None:
        """Return the command line of a C contestant; None where it could not be compiled."""
        return [self.programs[name], *words] if name in self.programs else None
