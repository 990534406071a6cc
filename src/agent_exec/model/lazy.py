"""Loads public names when they are first used: a call pays for nothing that it does not use."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def homes(names: "Mapping[str, str]") -> dict[str, str]:
    """Return the module of each name, by a table of the names that each module has."""
    return {name: home for home, words in names.items() for name in words.split()}


def door(
    module: str, names: "Mapping[str, str]", moved: "Mapping[str, str] | None" = None
) -> "tuple[list[str], Callable[[], list[str]], Callable[[str], object]]":
    """Return `__all__`, `__dir__` and `__getattr__` of a public module; names that `moved` are not listed."""
    listed = sorted(names, key=lambda name: (not name.isupper(), name))
    return listed, lambda: listed, loader(module, {**names, **(moved or {})}, "agent_exec")


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
