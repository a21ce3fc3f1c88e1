"""What a verb is asked with: checked once, whether it came from Python, the command line or the socket."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta

from vaultmem import now as clock
from vaultmem.adapter import Value
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.languages import when
from vaultmem.memories.model import SCOPE
from vaultmem.text.times import moment

Params = Mapping[str, object]
MAX_CONTENT = 262_144  # bytes
MAX_TEXT = 160_000  # bytes; as JSON, each may become six
MAX_FIELD = 200  # characters
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_AHEAD = re.compile(r"next|coming|下")  # no Friday of the past
_NO_TAG = re.compile(r"[\s,#\[\]\"']")


def _quoted(name: str) -> str:
    return f'"{name}"'


class Asked:
    """The parameters of one request. Every method raises VaultmemError or UsageError in one clear line."""

    def __init__(self, params: Params, spelled: Callable[[str], str] = _quoted) -> None:
        self.spelled = spelled  # how a parameter is called at the door where it came in
        self._params = {name: given for name, given in params.items() if given is not None}

    def text(self, name: str, default: str = "") -> str:
        """A short text of one line."""
        given = self._params.get(name, default)
        if not isinstance(given, str):
            raise UsageError(f"{self.spelled(name)} must be text")
        if len(given) > MAX_FIELD or "\n" in given or CONTROL.search(given):
            kind = UsageError if name == "by" else VaultmemError  # a program names itself
            raise kind(
                f"{self.spelled(name)} must be one line of at most {MAX_FIELD} characters without control characters"
            )
        return given.strip()

    def told(self, name: str) -> str:
        """What another part of us says, in one line of any length."""
        given = self._params.get(name, "")
        return " ".join(given.split()) if isinstance(given, str) else ""

    def needed(self, name: str) -> str:
        """A short text that must be there, such as the id of a memory."""
        given = self._params.get(name)
        if not isinstance(given, str) or not given.strip():
            raise UsageError(f"{self.spelled(name)} is missing")
        return given.strip()

    def has(self, name: str) -> bool:
        """Whether it was given at all."""
        return name in self._params

    def flag(self, name: str, *, default: bool = False) -> bool:
        """True or false."""
        given = self._params.get(name, default)
        if not isinstance(given, bool):
            raise UsageError(f"{self.spelled(name)} must be true or false")
        return given

    def value(self, name: str) -> Value:
        """Any value that a property can have."""
        given: Value = self._params.get(name)  # type: ignore[assignment] # it came as JSON
        return given

    def number(self, name: str, default: float = 0.0) -> float:
        """A number."""
        given = self._params.get(name, default)
        assert isinstance(given, (int, float))
        return given

    def whole(self, name: str, default: int = 0) -> int:
        """A whole number."""
        return int(self.number(name, default))

    def content(self) -> str:
        """The text of a memory."""
        text = self.long_text("content")
        size = len(text.encode())
        if size > MAX_CONTENT:
            raise VaultmemError(
                f"the content has {size:,} bytes, and a memory at most {MAX_CONTENT:,}; keep it as a note of the "
                "vault, or have vaultmem ingest --text cut it into memories"
            )
        return text

    def whole_text(self, name: str) -> str:
        """A text that is to be cut up."""
        text = self.long_text(name)
        size = len(text.encode())
        if size > MAX_TEXT:
            raise VaultmemError(
                f"the text has {size:,} bytes, and {MAX_TEXT:,} at most can be taken in at once; cut it in parts"
            )
        return text

    def long_text(self, name: str) -> str:
        """A text of many lines that is not empty and holds no control characters."""
        given = self._params.get(name)
        if not isinstance(given, str):
            raise UsageError(f"{self.spelled(name)} must be text")
        text = given.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
        if not text.strip():
            raise VaultmemError("the content is empty; give some text, or - to read it from stdin")
        found = CONTROL.search(text)
        if found:
            raise VaultmemError(
                f"the content holds a control character (U+{ord(found[0]):04X} at character "
                f"{found.start() + 1}); remove it and write again"
            )
        return text

    def tags(self, name: str = "tags") -> tuple[str, ...]:
        """Tags: a list, also with commas in its texts; each without "#"."""
        given = self._params.get(name, ())
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, (list, tuple)) or not all(isinstance(one, str) for one in texts):
            raise UsageError(f"{self.spelled(name)} must be a list of texts")
        each = (tag.strip() for one in texts for tag in one.split(","))
        found = [tag.removeprefix("#") for tag in each if tag]
        for tag in found:
            if _NO_TAG.search(tag) or tag.isdigit() or len(tag) > MAX_FIELD or CONTROL.search(tag):
                raise UsageError(
                    f"{tag[:40]!r} is no tag; one word, not digits alone, with - or / instead of blanks"
                )
        return tuple(dict.fromkeys(found))

    def texts(self, name: str) -> tuple[str, ...]:
        """Short texts of one line each: one, or a list."""
        given = self._params.get(name, ())
        each = [given] if isinstance(given, str) else given
        if not isinstance(each, (list, tuple)) or not all(isinstance(one, str) for one in each):
            raise UsageError(f"{self.spelled(name)} must be text, or a list of texts")
        found = (Asked({name: one}, self.spelled).text(name) for one in each)
        return tuple(dict.fromkeys(one for one in found if one))

    def records(self, name: str) -> tuple[Mapping[str, object], ...]:
        """A list of objects, which the verb itself looks into."""
        given = self._params.get(name, ())
        if not isinstance(given, (list, tuple)) or not all(isinstance(one, dict) for one in given):
            raise UsageError(f"{self.spelled(name)} must be a list of objects")
        return tuple(given)

    def scope(self) -> str:
        """A scope, or "" for none."""
        given = self.text("scope")
        if given and not SCOPE.fullmatch(given):
            raise UsageError(
                f"{given!r} is no scope; global, agent:NAME, conversation:ID or user:ID"
            )
        return given

    def moment(self, name: str, now: datetime, *, ahead: bool) -> float:
        """A day or a time on the person's clock, in digits or in words, or a span: from now on, or back from now."""
        given = self.text(name)
        found = moment(given, now, ahead=ahead)
        if found is None:
            spoken = _spoken(given, now, ahead=ahead)
            found = None if spoken is None else spoken.timestamp()
        if found is None:
            raise UsageError(
                f"{self.spelled(name)} must be a day, a time or a span, such as 2026-11-22, 2026-11-22T18:30, "
                f"{'tomorrow' if ahead else 'yesterday'} or 7d, not {given!r}"
            )
        return found

    def day(self, name: str, now: datetime | None = None) -> str:
        """A day as YYYY-MM-DD, in digits or in words ("yesterday", by the clock on the wall if `now` is not given),
        or ""."""
        given = self.text(name)
        if not given:
            return ""
        try:
            return date.fromisoformat(given).isoformat()
        except ValueError:
            spoken = _spoken(given, now or clock.local(), ahead=False)
        if spoken is None:
            raise UsageError(
                f"{self.spelled(name)} must be a day such as 2026-11-22 or yesterday, not {given!r}"
            )
        return spoken.date().isoformat()


def _spoken(given: str, now: datetime, *, ahead: bool) -> datetime | None:
    """The moment that words mean, if they are one expression of time and nothing else; a whole day is its beginning.
    Looking back, a "Friday" is the last one."""
    found = _expression(given, now)
    if found is None or ahead or found <= now:
        return found
    earlier = [(f"last {given}", now)]
    if _expression(given, now - timedelta(1)) == found and not _AHEAD.search(given.lower()):
        earlier += [(given, now - timedelta(days)) for days in (7, 366)]
    past = (_expression(text, day) for text, day in earlier)
    return next((at for at in past if at is not None and at <= now), found)


def _expression(text: str, now: datetime) -> datetime | None:
    for said in (text, f"at {text}", f"in {text}"):  # what answers to "when?"
        found = when.find(said, now)
        if len(found) == 1 and not found[0].repeat:
            rest = said[: found[0].start] + said[found[0].end :]
            if rest.strip() in ("", "at"):
                break
    else:
        return None
    at = found[0].when
    return at.replace(hour=0, minute=0, second=0, microsecond=0) if found[0].all_day else at
