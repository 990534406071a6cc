"""Writes the output of a program for a person: safely to a terminal, byte for byte elsewhere."""

import os

from agent_exec.apps.cli.people.paint import paint_for
from agent_exec.terminal.safe import Safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.choices import Stream


class Output:
    """Writes both streams to stdout, or with `split` each to its own; `label` begins every line."""

    def __init__(self, *, label: str = "", split: bool = False) -> None:
        paints = {1: paint_for(1), 2: paint_for(2)}
        self._safe = {
            descriptor: Safe(colours=paint.on) if paint.columns or label else None
            for descriptor, paint in paints.items()
        }
        self._head = paints[1](f"{label} │ ", "cyan") if label else ""
        self._split = split
        self._at_start = True

    def write(self, stream: "Stream", data: bytes) -> None:
        """Write some output of a stream."""
        descriptor = 2 if self._split and stream == "stderr" else 1
        safe = self._safe[descriptor]
        put(descriptor, data if safe is None else self._labelled(safe.feed(data)))

    def finish(self) -> None:
        """Write what is left of a character, and end a style that was begun."""
        for descriptor, safe in self._safe.items():
            if safe is not None:
                put(descriptor, self._labelled(safe.finish()))

    def _labelled(self, text: str) -> bytes:
        if self._head and text:
            begins = self._head if self._at_start else ""
            self._at_start = text.endswith("\n")
            body = text.removesuffix("\n").replace("\n", f"\n{self._head}")
            text = f"{begins}{body}\n" if self._at_start else begins + body
        return text.encode("utf-8", "replace")


def put(descriptor: int, data: bytes) -> None:
    """Write all of it; if its reader has gone, the program ends as if by SIGPIPE."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except BrokenPipeError:
        os._exit(141)
