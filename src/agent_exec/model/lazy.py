"""Loads public names when they are first used: a call pays for nothing that it does not use."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def loader(module: str, homes: "Mapping[str, str]", root: str = "") -> "Callable[[str], object]":
    """Return the `__getattr__` of a module whose names are defined in others; `dir` lists its `__all__`.

    `homes` has the module of each name, relative to `root`, by default to the
    module itself. A name that is its own home is a module.
    """

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        path = f"{root or module}.{home}"
        __import__(path)
        value = sys.modules[path] if home == name else getattr(sys.modules[path], name)
        setattr(sys.modules[module], name, value)
        return value

    space = vars(sys.modules[module])
    if "__all__" in space:
        space["__dir__"] = lambda: space["__all__"]
    return load
