"""The corpus of captured outputs: raw bytes of real tools, and what a truthful excerpt of each must show."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from outputs import generators

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Capture:
    """One output with the exit code of its command; no excerpt of a red one may lose its `anchors`."""

    tool: str
    name: str
    command: str
    version: str
    exit: int
    verdict: (
        str  # "green" or "red": what the output says, which a pipe or `|| true` may hide from the exit code
    )
    anchors: tuple[bytes, ...] = ()
    note: str = ""
    sha256: str = ""  # of a generated one only

    @property
    def id(self) -> str:
        return f"{self.tool}/{self.name}"

    @property
    def is_generated(self) -> bool:
        return self.tool == "generated"

    @property
    def data(self) -> bytes:
        if self.is_generated:
            return generators.generate(self.name)
        return (FOLDER / self.tool / f"{self.name}.out").read_bytes()


@cache
def captures() -> tuple[Capture, ...]:
    """Return all captures, those of one tool side by side."""
    found = []
    for manifest in sorted(FOLDER.glob("*/captures.toml")):
        for entry in tomllib.loads(manifest.read_text(encoding="utf-8"))["capture"]:
            anchors = tuple(anchor.encode() for anchor in entry.pop("anchors", ()))
            found.append(Capture(tool=manifest.parent.name, anchors=anchors, **entry))
    return tuple(found)
