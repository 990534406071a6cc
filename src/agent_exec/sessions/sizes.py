"""The sizes that a terminal had, each with the offset in the output at which it began."""

from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    Size = tuple[int, int, int, int]
    """Its number, which grows; the offset from which on it holds; rows; columns."""

_MOST = 4096


class Sizes:
    """All sizes in order; its owner changes it from one thread at a time, any thread may read.

    Beyond some thousands, every second of the older ones is forgotten: a viewer
    that replays from there sees some sizes late.
    """

    __slots__ = ("_kept",)

    def __init__(self, rows: int, columns: int) -> None:
        self._kept: list[Size] = [(0, 0, rows, columns)]

    @property
    def last(self) -> "Size":
        """The size that the terminal has now."""
        return self._kept[-1]

    def change(self, offset: int, rows: int, columns: int) -> None:
        """Note another size; the same again is no change."""
        number, _, *former = self.last
        if former == [rows, columns]:
            return
        self._kept.append((number + 1, offset, rows, columns))
        if len(self._kept) > _MOST:
            half = _MOST // 2
            self._kept = self._kept[:1] + self._kept[1:half:2] + self._kept[half:]

    def at(self, offset: int) -> "Size":
        """Return the size that held for what was printed from an offset on."""
        kept = self._kept
        return kept[bisect_right(kept, offset, key=lambda size: size[1]) - 1]

    def after(self, number: int) -> "Size | None":
        """Return the size that followed another; None if that is the last."""
        kept = self._kept
        if kept[-1][0] <= number:
            return None
        return kept[bisect_right(kept, number, key=lambda size: size[0])]
