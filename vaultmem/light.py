"""Records and protocols without the module typing, which takes two thousandths of a second to load and a tenth of one
to make each NamedTuple, of which a command may have eighty. Type checkers see the real ones."""

from __future__ import annotations

from _thread import RLock, allocate_lock  # threading takes a third of a thousandth

__all__ = [
    "GARBAGE", "TYPE_CHECKING", "NamedTuple", "NotRequired", "Protocol", "RLock", "TypedDict", "allocate_lock", "cast",
    "final",
]  # fmt: skip

TYPE_CHECKING = False
# For gc.set_threshold: to look for garbage every 700 objects takes a twentieth of a short command.
GARBAGE = 50_000, 20, 20

if TYPE_CHECKING:
    from typing import NamedTuple, NotRequired, Protocol, TypedDict, cast, final
else:
    from collections import _tuplegetter, namedtuple

    Protocol = object
    NotRequired = None  # stands in annotations only

    class TypedDict:
        """Its classes make plain dicts."""

        def __init_subclass__(cls, **_options):
            pass

        def __new__(cls, *of_a_class, **fields):
            return type(of_a_class[0], (cls,), {}) if of_a_class else fields

    def final(one):
        """What is given."""
        return one

    def cast(_kind, one):
        """What is given, which a type checker takes for `kind`."""
        return one

    class _Record(tuple):
        """What all of them can do; of one kind they differ in their fields."""

        __slots__ = ()
        _fields, _field_defaults = (), {}

        def __new__(cls, *args, **named):
            if named or len(args) != len(cls._fields):
                kind = next(one for one in cls.__mro__ if "_fields" in one.__dict__)
                real = namedtuple(
                    kind.__name__, kind._fields, defaults=kind._field_defaults.values()
                )
                kind.__new__ = real.__new__  # from now on
                return real.__new__(cls, *args, **named)
            return tuple.__new__(cls, args)

        @classmethod
        def _make(cls, fields):
            return cls(*fields)

        def _replace(self, **named):
            return type(self)(**{**self._asdict(), **named})

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            fields = ", ".join(f"{name}={one!r}" for name, one in self._asdict().items())
            return f"{type(self).__name__}({fields})"

        def __getnewargs__(self):
            return tuple(self)

    class _Kind(type):
        """Makes a tuple with named fields of a class with annotations, as typing.NamedTuple does."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body["__annotations__"])
            defaults = {field: body.pop(field) for field in fields if field in body}
            getters = {field: _tuplegetter(place, None) for place, field in enumerate(fields)}
            own = {"__slots__": (), "__match_args__": fields, "_fields": fields}
            return type(name, (_Record,), {**body, **getters, **own, "_field_defaults": defaults})

    class NamedTuple(metaclass=_Kind):
        """As in typing."""
