"""The base of our value types: named fields, equality, a readable form, a changed copy.

The standard library's generators of such classes cost more to import than
the interpreter costs to start, and every command-line call would pay that.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self, dataclass_transform
else:

    def dataclass_transform(**_terms):
        """Return a decorator that changes nothing: only a type checker reads it."""
        return lambda kind: kind


_OFTEN = 16
"""How many values of a class are made before its `__init__` is compiled: a short process compiles none."""


class _Fields(type):
    """Makes a class whose fields are its annotations, unless the class has an `__init__` of its own."""

    def __new__(cls, name: str, bases: tuple[type, ...], space: "dict[str, Any]") -> "_Fields":
        fields = space.get("__annotations__")
        if not fields or "__init__" in space or "__slots__" in space:
            return super().__new__(cls, name, bases, space)
        defaults = {field: space.pop(field) for field in fields if field in space}
        space["__slots__"] = tuple(fields)
        space["__init__"], space["__setattr__"], space["__delattr__"] = _fill, refuse_change, refuse_change
        made = super().__new__(cls, name, bases, space)
        made._defaults = defaults
        made._made = 0
        made._setters = tuple(getattr(made, field).__set__ for field in fields)
        return made

    _defaults: "dict[str, Any]"
    _made: int
    _setters: "tuple[Any, ...]"

    @property
    def __signature__(cls) -> "Any":
        """Return the fields as parameters, for `inspect` and `help`, before `__init__` is compiled too."""
        owner: Any = next(kind for kind in cls.__mro__ if "__init__" in vars(kind))
        if "_setters" not in vars(owner):
            raise AttributeError("__signature__")
        from inspect import Signature, signature

        parameters = list(signature(_compiled(owner)).parameters.values())
        return Signature(parameters[1:])


def _fill(self: "Any", *values: object, **named: object) -> None:
    """Set every field once, in the order of the annotations: `__init__` of a class without one."""
    kind = type(self)
    kind._made += 1
    if kind._made == _OFTEN:
        kind.__init__ = _compiled(kind)
    if named or len(values) != len(kind._setters):
        values = _arrange(kind, values, named)
    for put, value in zip(kind._setters, values, strict=True):
        put(self, value)
    if hasattr(kind, "__post_init__"):
        self.__post_init__()


def _compiled(kind: "Any") -> "Any":
    """Return an `__init__` of the class's own: five times as fast, and worth compiling if many are made."""
    space = {f"put_{field}": put for field, put in zip(kind.__slots__, kind._setters, strict=True)}
    space |= {f"default_{field}": value for field, value in kind._defaults.items()}
    space["__name__"] = kind.__module__
    fields = (f"{name}=default_{name}" if name in kind._defaults else name for name in kind.__slots__)
    lines = [
        f"def __init__(self, {', '.join(fields)}):",
        *(f"put_{name}(self, {name})" for name in kind.__slots__),
    ]
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    # Of a text, exec would have the process die of SIGINT at its end, if an interrupt came in between.
    exec(compile("\n ".join(lines), __file__, "exec"), space)
    return space["__init__"]


def _arrange(kind: "Any", values: tuple[object, ...], named: "dict[str, Any]") -> tuple[object, ...]:
    """Return one value for each field; raise TypeError like a function that is called wrongly."""
    fields = kind.__slots__
    rest = fields[len(values) :]
    found = kind._defaults | named
    try:
        arranged = (*values, *map(found.__getitem__, rest))
    except KeyError:
        arranged = ()
    if len(arranged) == len(fields) and named.keys() <= set(rest):
        return arranged
    missing = [field for field in rest if field not in found]
    wrong = [name for name in named if name not in rest] or values[len(fields) :]
    problem = f"lacks {missing}" if missing else f"does not take {wrong}"
    raise TypeError(f"{kind.__name__}({', '.join(fields)}) {problem}")


def refuse_change(self: object, name: str, _value: object = None) -> None:
    """Raise AttributeError: the `__setattr__` and `__delattr__` of a value."""
    raise AttributeError(f"{type(self).__name__}.{name} cannot be changed; use replace({name}=...)")


@dataclass_transform(frozen_default=True)
class Value(metaclass=_Fields):
    """A value: equal when its fields are equal, and not to be changed once made.

    The fields are the annotations of the class. `__post_init__`, if there is
    one, validates them. A class with an `__init__` of its own lists its
    fields in `__slots__`.
    """

    __slots__: "ClassVar[tuple[str, ...]]" = ()

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

    def __reduce__(self) -> "tuple[object, ...]":
        return _rebuild, (type(self), {name: getattr(self, name) for name in self.__slots__})

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


def _rebuild(kind: type[Value], fields: "dict[str, Any]") -> Value:
    return kind(**fields)
