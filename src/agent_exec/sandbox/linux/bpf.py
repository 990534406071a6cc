"""A small assembler for the filters of system calls: jumps go to labels, and only forward."""

import struct

NUMBER = 0
ARCHITECTURE = 4

ALLOW = 0x7FFF0000
KILL = 0x80000000
ERRNO = 0x00050000

_LOAD = 0x20
_AND = 0x54
_EQUAL = 0x15
_AT_LEAST = 0x35
_ANY_BIT = 0x45
_RETURN = 0x06
_FARTHEST = 255
_LONGEST = 4096


def argument(index: int, *, high: bool = False) -> int:
    """Return where half of an argument is; both architectures put the low half first."""
    return 16 + 8 * index + (4 if high else 0)


class Assembler:
    """Instructions in order; a test without a label for an answer goes on with the next instruction."""

    __slots__ = ("_code", "_labels")

    def __init__(self) -> None:
        self._code: list[tuple[int, int, str | None, str | None]] = []
        self._labels: dict[str, int] = {}

    def label(self, name: str) -> None:
        """Name the next instruction."""
        if name in self._labels:
            raise ValueError(f"label {name} is there twice")
        self._labels[name] = len(self._code)

    def load(self, offset: int) -> None:
        """Take 32 bits of what the kernel shows."""
        self._code.append((_LOAD, offset, None, None))

    def mask(self, bits: int) -> None:
        """Keep these bits only."""
        self._code.append((_AND, bits, None, None))

    def equal(self, value: int, yes: str | None = None, no: str | None = None) -> None:
        """Go on by whether what was taken is this value."""
        self._code.append((_EQUAL, value, yes, no))

    def at_least(self, value: int, yes: str | None = None, no: str | None = None) -> None:
        """Go on by whether what was taken is this value or more, without a sign."""
        self._code.append((_AT_LEAST, value, yes, no))

    def any_bit(self, bits: int, yes: str | None = None, no: str | None = None) -> None:
        """Go on by whether one of these bits is set in what was taken."""
        self._code.append((_ANY_BIT, bits, yes, no))

    def give(self, verdict: int) -> None:
        """End with a verdict."""
        self._code.append((_RETURN, verdict, None, None))

    def assemble(self) -> bytes:
        """Return the program; raise ValueError for one that the kernel would refuse or misread."""
        if not self._code or self._code[-1][0] != _RETURN:
            raise ValueError("a program ends with a verdict")
        if len(self._code) > _LONGEST:
            raise ValueError("the program is too long")
        return b"".join(
            struct.pack("=HBBI", code, self._jump(here, yes), self._jump(here, no), value)
            for here, (code, value, yes, no) in enumerate(self._code)
        )

    def _jump(self, here: int, label: str | None) -> int:
        if label is None:
            return 0
        if label not in self._labels:
            raise ValueError(f"label {label} is nowhere")
        distance = self._labels[label] - here - 1
        if not 0 <= distance <= _FARTHEST:
            raise ValueError(f"label {label} is out of reach: {distance}")
        return distance
