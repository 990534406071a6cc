"""What the tests of patches share: trees of files as values, and patches as text."""

import os
import stat
from pathlib import Path

from agent_exec.patch.grammar import AddFile, DeleteFile, Patch
from agent_exec.patch.journal import journals

Tree = dict[str, tuple[str, int, bytes]]


def make(root: Path, files: dict[str, str | bytes]) -> Path:
    """Make files, and the folders they are in."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def tree(root: Path) -> Tree:
    """Return all that is below a folder: what it is, its mode, its content or where it leads."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        state = path.lstat()
        mode = stat.S_IMODE(state.st_mode)
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", 0, os.fsencode(path.readlink()))
        elif path.is_dir():
            found[name] = ("folder", mode, b"")
        else:
            found[name] = ("file", mode, path.read_bytes())
    return found


def left_journals() -> list[Path]:
    """Return the journals of patches that are being applied, or were killed."""
    return [path for folder in journals() for path in Path(folder).glob("*")]


def contents(root: Path) -> dict[str, str]:
    """Return the text of every file below a folder."""
    return {
        str(path.relative_to(root)): path.read_bytes().decode()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def wrapped(*lines: str) -> str:
    """Return a patch with these lines between its markers."""
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def render(patch: Patch) -> str:
    """Return a patch as text."""
    lines = [] if patch.environment is None else [f"*** Environment ID: {patch.environment}"]
    for hunk in patch.hunks:
        if isinstance(hunk, AddFile):
            lines += [f"*** Add File: {hunk.path}", *(f"+{line}" for line in hunk.lines)]
        elif isinstance(hunk, DeleteFile):
            lines += [f"*** Delete File: {hunk.path}"]
        else:
            lines += [f"*** Update File: {hunk.path}"]
            lines += [] if hunk.move_to is None else [f"*** Move to: {hunk.move_to}"]
            for chunk in hunk.chunks:
                lines += ["@@" if chunk.context is None else f"@@ {chunk.context}"]
                lines += [sign + line for sign, line in chunk.edits]
                lines += ["*** End of File"] if chunk.at_end else []
    return wrapped(*lines) + "\n"


FILES: dict[str, str | bytes] = {
    "a.txt": "a\n",
    "sub/b.txt": "a\r\nb\r\n",
    "sub/c.txt": "c\n",
    "d.txt": b"\xff\n",
    "e.txt": "e\n",
    "x.sh": "x\n",
}
PATCH = wrapped(
    "*** Update File: a.txt",
    "-a",
    "+A",
    "*** Add File: new/deep/n.txt",
    "+n",
    "*** Add File: new/m.txt",
    "*** Delete File: sub/c.txt",
    "*** Update File: sub/b.txt",
    "*** Move to: moved/b.txt",
    "-a",
    "+A",
    "*** Add File: d.txt",
    "+d",
    "*** Update File: x.sh",
    "*** Move to: e.txt",
    "-x",
    "+X",
    "*** Delete File: link",
)


def filled(root: Path) -> Path:
    """Make the tree that PATCH fits."""
    make(root, FILES)
    (root / "x.sh").chmod(0o755)
    (root / "a.txt").chmod(0o640)
    (root / "link").symlink_to("a.txt")
    return root
