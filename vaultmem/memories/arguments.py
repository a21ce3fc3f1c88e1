"""The parameters of a verb: text, times, tags and scopes of one request, after api.params has checked their types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from vaultmem import now as clock
from vaultmem.adapter import JsonObject, Moment, Phrase, Value
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.access import SCOPE
from vaultmem.text.times import day_range, days_of_month, moment
from vaultmem.text.values import lazy

if TYPE_CHECKING:
    import re

MAX_CONTENT = 262_144  # bytes
MAX_TEXT = 160_000  # bytes; as JSON, each may become six
MAX_FIELD = 200  # characters
CONTROL = lazy(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_KEPT = (
    "by",
    "agent",
    "command",
)  # the writer, and JSON, which its verb parses before cleaning it
_BLANKS = {9: " ", 10: " "}
_QUOTED = 40  # characters quoted of text that is not understood
_AHEAD = lazy(r"next|coming|nächste|kommende|[下来]")  # not a past Friday
_NO_TAG = lazy(r"[\s,#\[\]\"']")


def find_control(text: str) -> re.Match[str] | None:
    """The first control character that our texts may not have, if any."""
    is_plain = text.isascii() and text.translate(_BLANKS).isprintable()
    return None if is_plain else CONTROL.search(text)


class Arguments:
    """The parameters of one request. Every method raises VaultmemError or UsageError in one clear line."""

    def __init__(
        self, params: JsonObject, spelled: Callable[[str], str] = '"{}"'.format, redacted: tuple[str, ...] = ()
    ) -> None:  # fmt: skip
        self.spelled = spelled  # spells a parameter as the door of the request does
        self.redacted = redacted  # the kinds of secrets removed
        self._params = {name: value for name, value in params.items() if value is not None}

    def but(self, **changes: object) -> Arguments:
        """A copy with some values replaced."""
        return Arguments({**self._params, **changes}, self.spelled, self.redacted)

    def of_assistant(self) -> Arguments:
        """A copy as an assistant may write it: without secrets, and without code that an editor would run; lists keep
        only texts without secrets."""
        from vaultmem.text.secrets import redact_foreign

        # A title often repeats the text: a secret in both counts once.
        kinds = Counter(self.redacted)

        def clean(value: object) -> object:
            nonlocal kinds
            if isinstance(value, list):
                return [item for item in value if not isinstance(item, str) or clean(item) == item]
            if not isinstance(value, str):
                return value
            text, removed = redact_foreign(value)
            kinds |= Counter(removed)
            return text

        own = {
            name: value if name in _KEPT else clean(value) for name, value in self._params.items()
        }
        return Arguments(own, self.spelled, (*kinds.elements(),))

    def text(self, name: str, default: str = "") -> str:
        """A short text of one line."""
        text = self._string(name, default)
        if len(text) > MAX_FIELD or "\n" in text or find_control(text):
            kind = UsageError if name == "by" else VaultmemError  # programs name themselves
            raise kind(
                f"{self.spelled(name)} must be one line of at most {MAX_FIELD} characters without control characters"
            )
        return text.strip()

    def _string(self, name: str, default: object = None) -> str:
        value = self._params.get(name, default)
        if not isinstance(value, str):
            raise UsageError(f"{self.spelled(name)} must be text")
        return value

    def line(self, name: str) -> str:
        """One line of any length, from another part of vaultmem."""
        return " ".join(self._string(name, "").split())

    def needed(self, name: str) -> str:
        """A short required text, such as the id of a memory."""
        text = self._string(name, "").strip()
        if not text:
            raise UsageError(f"{self.spelled(name)} is missing")
        return text

    def has(self, name: str) -> bool:
        """Whether it was given."""
        return name in self._params

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A boolean."""
        return bool(self._params.get(name, default))

    def value(self, name: str) -> Value:
        """Any value that a property can have."""
        value: Value = self._params.get(name)  # type: ignore[assignment] # it came as JSON
        return value

    def number(self, name: str, default: float = 0.0) -> float:
        """A number."""
        value = self._params.get(name, default)
        assert isinstance(value, (int, float))
        return value

    def whole(self, name: str, default: int = 0) -> int:
        """A whole number."""
        return int(self.number(name, default))

    def content(self) -> str:
        """The text of a memory."""
        cut = f"have vaultmem ingest --text cut parts of {MAX_TEXT:,} bytes into memories"
        advice = f"keep it as a note of the vault, or {cut}"
        return self.long_text(
            "content", MAX_CONTENT, f"a memory has at most {MAX_CONTENT:,}; {advice}"
        )

    def whole_text(self, name: str) -> str:
        """A text that will be cut up."""
        return self.long_text(
            name, MAX_TEXT, f"at most {MAX_TEXT:,} can be ingested at once; split it"
        )

    def long_text(self, name: str, most: int = 1 << 30, advice: str = "") -> str:
        """A non-empty text of any number of lines without control characters."""
        text = self._string(name).replace("\r\n", "\n").replace("\r", "\n").strip("\n")
        if not text.strip():
            raise UsageError("the content is empty; give some text, or - to read it from stdin")
        if match := find_control(text):
            raise VaultmemError(
                f"the content holds a control character (U+{ord(match[0]):04X} at character "
                f"{match.start() + 1}); remove it and write again"
            )
        if (size := len(text.encode())) > most:
            raise VaultmemError(f"the {name} has {size:,} bytes, and {advice}")
        return text

    def tags(self, name: str = "tags") -> tuple[str, ...]:
        """Tags: a list, whose texts may hold several with commas; each without "#"."""
        names = (tag.strip() for text in self._list(name) for tag in text.split(","))
        results = [tag.removeprefix("#") for tag in names if tag]
        for tag in results:
            if _NO_TAG.search(tag) or tag.isdigit() or len(tag) > MAX_FIELD or find_control(tag):
                raise UsageError(
                    f"{tag[:40]!r} is not a tag; one word, not digits alone, with - or / instead of blanks"
                )
        return tuple(dict.fromkeys(results))

    def texts(self, name: str) -> tuple[str, ...]:
        """Short texts of one line each: one, or a list."""
        each = (Arguments({name: one}, self.spelled).text(name) for one in self._list(name))
        return tuple(dict.fromkeys(one for one in each if one))

    def _list(self, name: str) -> list[str]:
        value = self._params.get(name, ())
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
            raise UsageError(f"{self.spelled(name)} must be text, or a list of texts")
        return [*texts]

    def records(self, name: str) -> tuple[JsonObject, ...]:
        """A list of objects, which the verb itself checks."""
        value = self._params.get(name, ())
        assert isinstance(value, (list, tuple))
        return tuple(value)

    def scope(self) -> str:
        """A scope, or "" for none."""
        return next(iter(self.scopes()), "")

    def scopes(self) -> tuple[str, ...]:
        """Like scope(), for several."""
        scopes = self.texts("scope")
        for scope in scopes:
            if not SCOPE.fullmatch(scope):
                raise UsageError(
                    f"{scope!r} is not a scope; global, agent:NAME, conversation:ID or user:ID"
                )
        return scopes

    def moment(self, name: str, now: datetime, *, ahead: bool) -> float:
        """A day or time in the person's zone, in digits or words, or a span: ahead of now, or back from now."""
        text = self.text(name)
        at = moment(text, now, ahead=ahead)
        if at is None:
            meant = _in_words(text, now, ahead=ahead)
            at = None if meant is None else meant.when.timestamp()
        if at is None and ahead:
            at = self._day_in_figures(name, now)
        if at is None:
            raise UsageError(
                f"{self.spelled(name)} must be a day, a time or a span, such as 2026-11-22, 2026-11-22T18:30, "
                f"{'tomorrow' if ahead else 'yesterday'} or 7d, not {text!r}"
            )
        return at

    def _day_in_figures(self, name: str, now: datetime) -> float | None:
        """The start of a day in figures, such as 12/25; ambiguous ones, such as 3/4, are rejected."""
        from vaultmem.plugins import language

        phrase = language().time_alone(self.text(name), now)
        if phrase.either:
            raise UsageError(f"{self.spelled(name)}: {which_day(phrase)}")
        moment = phrase.moment
        if not moment or phrase.rest or moment.repeat:
            return None
        when = moment.when.replace(hour=0, minute=0) if moment.all_day else moment.when
        return when.timestamp()

    def days(self, name: str, now: datetime) -> tuple[str, str]:
        """The first and last ISO day of a day, month or year looked back to; "" for none."""
        text = self.text(name)
        return days(text, now, spelled=self.spelled(name)) if text else ("", "")


def days(
    text: str, now: datetime | None = None, *, ahead: bool = False, spelled: str = ""
) -> tuple[str, str]:
    """The first and last ISO day of 2026-11, last week or 7d. Raises UsageError if it is not understood."""
    if span := day_range(text):
        return span
    now = now or clock.local()
    at = moment(text, now, ahead=ahead)
    if at is not None:
        return (str(datetime.fromtimestamp(at, now.tzinfo).date()),) * 2
    meant = _in_words(text, now, ahead=ahead)
    if meant is None:
        raise UsageError(
            f"{spelled} must be a day, a month or a year, in digits (2026-11-22, 2026-11, 2026) or in words such as "
            f"last week, not {text[:_QUOTED]!r}"
        )
    first = meant.when.date()
    last = first
    if meant.grain == "week":
        last += timedelta(6 - first.weekday())
    elif meant.grain in ("month", "year"):
        month = 12 if meant.grain == "year" else first.month
        last = first.replace(month=month, day=days_of_month(first.year, month))
    return str(first), str(last)


def _in_words(name: str, now: datetime, *, ahead: bool) -> Moment | None:
    """The moment that words mean, if they are a single time expression; the beginning of a whole day or month. What
    has a first and a second day is a month, in any language."""
    if meant := _day_or_time(name, now, ahead=ahead):
        return meant
    start = now.replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )  # this month is also ahead
    for day in ("{} {}", "{1}{0}日"):
        first, second = (
            _day_or_time(day.format(number, name), start, ahead=ahead) for number in (1, 2)
        )
        if first and second and (first.when.day, second.when.day) == (1, 2):
            return first._replace(grain="month")
    return None


def _day_or_time(name: str, now: datetime, *, ahead: bool) -> Moment | None:
    """The same without months. Looking back, "Friday" is the last one."""
    meant = _expression(name, now)
    if meant is None or ahead or meant.when <= now:
        return meant
    earlier = [(f"last {name}", now)]
    before = _expression(name, now - timedelta(1))
    is_same = before and f"{before.when:%m-%d %H:%M}" == f"{meant.when:%m-%d %H:%M}"  # of any year
    if is_same and not _AHEAD.search(name.lower()):
        earlier += [(name, now - timedelta(days)) for days in (7, 366)]
    past = (_expression(text, day) for text, day in earlier)
    return next((at for at in past if at is not None and at.when <= now), meant)


def _expression(text: str, now: datetime) -> Moment | None:
    from vaultmem.plugins import language  # most requests have no time words

    for phrase in (text, f"at {text}", f"in {text}"):  # the answer to "when?"
        times = language().times(phrase, now)
        if len(times) == 1 and not times[0].repeat:
            rest = phrase[: times[0].start] + phrase[times[0].end :]
            if rest.strip() in ("", "at"):
                break
    else:
        return None
    at = times[0].when
    if times[0].all_day:
        at = at.replace(hour=0, minute=0, second=0, microsecond=0)
    return times[0]._replace(when=at)


def which_day(phrase: Phrase) -> str:
    """The question to ask about words that may mean several days."""
    return f'"{phrase.words}" may be {" or ".join(phrase.either)}; write the day as one of these'
