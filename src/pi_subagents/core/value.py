"""
Immutable values: frozen slotted dataclasses at a tenth of their start-up cost.

The supervisor starts once per child.  `dataclasses` alone (with the `inspect` it needs) and the
code it generates for our two dozen values took more than half of its start; this does what we use
of it: init, equality within one class, hash, repr, match, defaults, and nothing can be assigned.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
JsonObject = dict[str, object]


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Turn a class of annotations and defaults into a value."""
    annotations: dict[str, object] = getattr(cls, "__annotations__", {})
    names = tuple(annotations)
    body = {
        name: member
        for name, member in vars(cls).items()
        if name not in names and name not in ("__dict__", "__weakref__")
    }
    defaults = {name: vars(cls)[name] for name in names if name in vars(cls)}
    content: Callable[[Any], object] = attrgetter(*names) if names else lambda _: ()

    def equal(self: object, other: object) -> object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return content(self) == content(other)

    def shown(self: object) -> str:
        return f"{cls.__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

    body |= {
        "__slots__": names,
        "__match_args__": names,
        "__init__": _Init(names, defaults, annotations),
        "__eq__": equal,
        "__hash__": lambda self: hash((cls, content(self))),
        "__repr__": shown,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
    }
    return cast("type[T]", type(cls.__name__, cls.__bases__, body))


def replace(original: T, **changes: object) -> T:
    """Return the value with some of its content changed."""
    content = {name: getattr(original, name) for name in original.__match_args__}  # type: ignore[attr-defined]  # set by @value
    return original.__class__(**{**content, **changes})


def as_dict(original: object) -> dict[str, object]:
    """Return the content by name, one level deep."""
    return {name: getattr(original, name) for name in original.__match_args__}  # type: ignore[attr-defined]  # set by @value


class _Init:
    """The constructor of a value, made when it is wanted: most programs never meet most values."""

    def __init__(
        self, names: tuple[str, ...], defaults: dict[str, object], annotations: dict[str, object]
    ) -> None:
        self._parts = names, defaults, annotations
        self._owner: type = object

    def __set_name__(self, owner: type, _: str) -> None:
        self._owner = owner

    def __get__(self, instance: object, _: type) -> object:
        made = _init(*self._parts)
        self._owner.__init__ = made  # type: ignore[misc]  # in our place, from now on
        return made if instance is None else made.__get__(instance)


def _init(
    names: tuple[str, ...], defaults: dict[str, object], annotations: dict[str, object]
) -> Callable[..., None]:
    """Return a real function, so that calls are quick and signatures can be read."""
    parameters = ", ".join(f"{n}=_default_{n}" if n in defaults else n for n in names)
    lines = [f"_set(self, {name!r}, {name})" for name in names] or ["pass"]
    source = f"def __init__(self, {parameters}):\n " + "\n ".join(lines)
    scope: dict[str, Any] = {f"_default_{n}": default for n, default in defaults.items()}
    scope["_set"] = object.__setattr__
    exec(source, scope)  # noqa: S102 - built from our own field names, as dataclasses does
    made: Callable[..., None] = scope["__init__"]
    made.__annotations__ = {**annotations, "return": None}
    return made


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    message = f"{type(self).__name__}.{name} cannot be changed"
    raise AttributeError(message)
