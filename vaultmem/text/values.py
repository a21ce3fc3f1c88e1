"""Small things that every package uses: light records, limits, plural forms."""

from __future__ import annotations

__all__ = ["TYPE_CHECKING", "value"]

TYPE_CHECKING = False

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(cls):
        """Give a class with annotated fields __init__, __eq__, __repr__ and replace-able fields."""
        names = tuple(cls.__annotations__)
        wanted = frozenset(names)
        defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}

        def __init__(self, *args, **given):  # noqa: N807 - becomes the method of the class
            if len(args) == len(names) and not given:
                self.__dict__.update(zip(names, args, strict=True))
                return
            if not (args or defaults) and given.keys() == wanted:
                self.__dict__.update(given)
                return
            fields = {**defaults, **dict(zip(names, args, strict=False)), **given}
            if len(args) > len(names) or fields.keys() != wanted:
                odd = sorted(fields.keys() ^ wanted)
                raise TypeError(
                    f"{cls.__name__}() takes {', '.join(names)}; check {', '.join(odd)}"
                )
            self.__dict__.update(fields)

        def __eq__(self, other):  # noqa: N807 - as above
            return self.__dict__ == other.__dict__ if other.__class__ is cls else NotImplemented

        def __repr__(self):  # noqa: N807 - as above
            return f"{cls.__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

        cls.__init__, cls.__eq__, cls.__repr__ = __init__, __eq__, __repr__
        cls.__hash__, cls.__match_args__ = None, names
        return cls


# How much may be asked for at once: one limit each, whatever the door.

RESULTS = 1_000_000  # of a search or a list
TOKENS, MEMORIES = 1_000_000, 1_000  # of a recall
DAYS = 36_500  # ahead; a calendar ends somewhere


# Small turns of phrase for messages.


def plural(count: int, noun: str, several: str = "") -> str:
    """ "1 note", "2 notes"."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"
