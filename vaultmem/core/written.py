"""The day from which relative words such as "tomorrow" are to be reckoned.

A journal says its day, and so may the name of a note. Otherwise it is when the words were first seen, which is
remembered: a later edit of the note must not move the day that they mean.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from typing import NamedTuple

from vaultmem.core.values import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultmem.core.when import Moment

BEGAN = "began"  # under this key stands when we looked for the first time
FURTHEST_DAYS = 3660  # what is further away nobody plans in words


class Source(NamedTuple):
    """What tells when the words of a note were written."""

    stem: str  # see core.stems
    day: str  # that the note speaks of; "" for none
    own: bool  # the day is that of a journal, or in the name: it holds whenever the note is edited
    mtime: datetime  # when the note was last written, in the zone of the person


class Written:
    """When the words of one note were written, of what was met before (key: local day and minute)."""

    def __init__(self, source: Source, met: Mapping[str, str]) -> None:
        self._source = source
        self._met = met
        self.used: dict[str, str] = {}  # what this note has, to be remembered

    @property
    def zone(self) -> tzinfo | None:
        """The zone of the person."""
        return self._source.mtime.tzinfo

    def moment(self, text: str, read: Callable[[datetime], Moment | None]) -> Moment | None:
        """What `read` makes of a text on the day it was written."""
        key = self._key(text)
        written = self._since(key)
        found = read(written)
        if found is None or abs((found.when - written).days) > FURTHEST_DAYS:
            return None
        if found.relative or found.repeat:
            self.used[key] = f"{written:%Y-%m-%dT%H:%M}"
        return found

    def first_seen(self, text: str) -> str:
        """The ISO day on which a text was there for the first time."""
        key = self._key(text)
        self.used[key] = self._met.get(key) or f"{self._source.mtime:%Y-%m-%dT%H:%M}"
        return self.used[key][:10]

    def _since(self, key: str) -> datetime:
        source = self._source
        since = self._of_the_note() if source.day else source.mtime
        known = self._met.get(key, "")
        if not known or (source.own and known[:10] != source.day):
            return since
        try:
            return datetime.fromisoformat(known).replace(tzinfo=source.mtime.tzinfo)
        except ValueError:
            return since

    def _of_the_note(self) -> datetime:
        """The day of the note, unless it was written to since we know it: words may be added to any note."""
        source, mtime = self._source, self._source.mtime
        began = self._met.get(BEGAN, "")
        if f"{mtime:%Y-%m-%d}" == source.day:
            return mtime
        if not source.own and began and f"{mtime:%Y-%m-%dT%H:%M}" > began:
            return mtime
        try:
            return datetime.fromisoformat(source.day).replace(tzinfo=mtime.tzinfo)
        except ValueError:
            return mtime

    def _key(self, text: str) -> str:
        data = f"{self._source.stem}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(data).hexdigest()[:20]


_NAME_DAY = re.compile(r"(?<!\d)\d{4}[-_.]?\d\d[-_.]?\d\d(?!\d)")


def names_day(path: str, day: str) -> bool:
    """Whether the name of a note has that ISO day."""
    found = _NAME_DAY.search(path.rpartition("/")[2])
    return found is not None and re.sub(r"\D", "", found[0]) == day.replace("-", "")
