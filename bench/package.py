"""The measured package: where it is imported from, and which source it is."""

import hashlib
import os

import agent_exec


def root() -> str:
    """Return the folder from which it is imported."""
    assert agent_exec.__file__ is not None
    return os.path.dirname(os.path.dirname(os.path.abspath(agent_exec.__file__)))


def digest() -> str:
    """Return a short word for its source as it is now: another word, another source."""
    found = hashlib.sha256()
    top = os.path.join(root(), "agent_exec")
    for folder, folders, files in os.walk(top):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found.update(os.path.relpath(path, top).encode() + b"\0" + file.read())
    return found.hexdigest()[:12]
