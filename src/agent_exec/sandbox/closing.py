"""A descriptor that is closed when a block ends, however it ends."""

import os


class Closing:
    """`with Closing(os.open(...)) as fd:`; one below 0 stands for nothing."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __enter__(self) -> int:
        return self._fd

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)
