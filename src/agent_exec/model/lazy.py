"""Loads public names when they are first used: a call pays for nothing that it does not use."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def homes(names: "Mapping[str, str]") -> dict[str, str]:
    """Return the module of each name, by a table of the names that each module has."""
    return {name: home for home, words in names.items() for name in words.split()}


def public(
    module: str, name: str, names: "Mapping[str, str]", moved: "Mapping[str, str] | None" = None
) -> object:
    """Return a public name of a module by its tables, and have it there from now on: its `__getattr__`.

    `__all__` is one too. Names that `moved` are not listed in it.
    """
    known = homes(names)
    if name == "__all__":
        value: object = sorted(known, key=lambda name: (not name.isupper(), name))
        setattr(sys.modules[module], name, value)
        return value
    return loader(module, {**known, **homes(moved or {})}, "agent_exec")(name)


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


class Later:
    """A module that is loaded when an attribute of it is first used.

    A type checker is to read an import of that module in its place.
    """

    __slots__ = ("_home",)

    def __init__(self, home: str) -> None:
        self._home = home

    def __getattr__(self, name: str) -> object:
        __import__(self._home)
        return getattr(sys.modules[self._home], name)


class Methods:
    """A module whose functions are methods of a class elsewhere: each attribute is one, loaded at first use.

    A type checker is to read an import of that module in its place.
    """

    __slots__ = ("_home",)

    def __init__(self, home: str) -> None:
        self._home = home

    def __getattr__(self, name: str) -> object:
        return _Method(self._home, name)


class _Method:
    """A method that is not loaded yet; it replaces itself with the function."""

    __slots__ = ("_home", "_name")

    def __init__(self, home: str, name: str) -> None:
        self._home = home
        self._name = name

    def __get__(self, instance: object, owner: type) -> object:
        __import__(self._home)
        function = getattr(sys.modules[self._home], self._name)
        setattr(owner, self._name, function)
        return function.__get__(instance, owner)
