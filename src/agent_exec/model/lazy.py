"""Loads the names of a package when they are first used: a call pays for nothing that it does not use."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def loader(package: str, homes: "Mapping[str, str]") -> "Callable[[str], object]":
    """Give the `__getattr__` of a package whose names live in these modules of it."""

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = f"{package}.{home}"
        __import__(module)
        value = getattr(sys.modules[module], name)
        setattr(sys.modules[package], name, value)
        return value

    return load
