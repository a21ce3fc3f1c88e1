"""Records and protocols without the module typing, which takes 2 ms to import and 0.1 ms per NamedTuple, of which a
command may have eighty. Type checkers see the real ones."""

from __future__ import annotations

from _thread import RLock, allocate_lock  # importing threading takes 0.3 ms

__all__ = [
    "GARBAGE", "TYPE_CHECKING", "NamedTuple", "NotRequired", "Protocol", "RLock", "TypedDict", "allocate_lock", "cast",
    "final",
]  # fmt: skip

TYPE_CHECKING = False
# For gc.set_threshold: collecting garbage every 700 objects takes 5 % of a short command.
GARBAGE = 50_000, 20, 20

if TYPE_CHECKING:
    from typing import NamedTuple, NotRequired, Protocol, TypedDict, cast, final
else:
    from collections import _tuplegetter, namedtuple

    Protocol = object
    NotRequired = None  # only for annotations

    class TypedDict:
        """A base whose subclasses create plain dicts."""

        def __init_subclass__(cls, **_options):
            pass

        def __new__(cls, *of_a_class, **fields):
            return type(of_a_class[0], (cls,), {}) if of_a_class else fields

    def final(cls):
        """Return the argument unchanged."""
        return cls

    def cast(_kind, value):
        """Return the argument unchanged; a type checker takes it for `kind`."""
        return value

    class _Record(tuple):
        """The methods of all records."""

        __slots__ = ()
        _fields, _field_defaults = (), {}

        def __new__(cls, *args, **named):
            if named or len(args) != len(cls._fields):
                kind = next(parent for parent in cls.__mro__ if "_fields" in parent.__dict__)
                real = namedtuple(
                    kind.__name__, kind._fields, defaults=kind._field_defaults.values()
                )
                kind.__new__ = real.__new__  # cached from now on
                return real.__new__(cls, *args, **named)
            return tuple.__new__(cls, args)

        @classmethod
        def _make(cls, fields):
            return cls(*fields)

        def _replace(self, **named):
            values = [*self]
            for name, value in named.items():
                values[self._fields.index(name)] = value
            return tuple.__new__(type(self), values)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({fields})"

        def __getnewargs__(self):
            return tuple(self)

    class _Kind(type):
        """The metaclass that turns an annotated class into a named tuple, like typing.NamedTuple."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body["__annotations__"])
            defaults = {field: body.pop(field) for field in fields if field in body}
            getters = {field: _tuplegetter(place, None) for place, field in enumerate(fields)}
            record_fields = {"__slots__": (), "__match_args__": fields, "_fields": fields}
            return type(
                name, (_Record,), {**body, **getters, **record_fields, "_field_defaults": defaults}
            )

    class NamedTuple(metaclass=_Kind):
        """Like typing.NamedTuple."""
