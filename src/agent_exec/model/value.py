"""The base of our value types: named fields, equality, a readable form, a changed copy.

The standard library's generators of such classes cost more to import than
the interpreter costs to start, and every command-line call would pay that.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self


class Value:
    """A value: equal when its fields are equal, and not to be changed once made."""

    __slots__: tuple[str, ...] = ()

    def replace(self, **changes: "Any") -> "Self":
        """Return a copy with some fields changed, checked like a new one."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return type(self)(**(fields | changes))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self.__slots__)))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"
