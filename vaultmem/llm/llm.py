"""A language model behind an OpenAI-compatible service: asks, tries again, and says in one line what is wrong."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from vaultmem import now
from vaultmem.errors import LlmError
from vaultmem.llm import answers, credentials, request
from vaultmem.llm.answers import NoAnswerError
from vaultmem.llm.chat_answer import Answer
from vaultmem.llm.credentials import Key
from vaultmem.llm.request import Manner, Model, Question
from vaultmem.llm.wire import (
    MOST_BYTES,
    MOST_STREAMED,
    Events,
    Reply,
    UnreachableError,
    Wire,
)
from vaultmem.text import times
from vaultmem.text.sanitize import one_line

if TYPE_CHECKING:
    from typing import Protocol

    class Settings(Protocol):
        """What is needed of the settings."""

        def text(self, key: str) -> str:
            """A setting that is text."""

        def number(self, key: str) -> int:
            """A setting that is a whole number."""


CHAT = "/chat/completions"
PASSING = (408, 409, 429)  # and all from 500
LONGEST_WAIT = 30.0  # seconds: who is told to come back later than that gives up
LONGEST_PAUSE = 8.0
LOOK = 3.0  # seconds for a look whether a service is there
MOST_WORDS = 200  # characters of what a service says of an error
MOST_MANNERS = 256
_manners: dict[tuple[str, str, str], Manner] = {}  # what a service and its model have understood


class Patience(NamedTuple):
    """How often a call is tried again, and how time passes meanwhile."""

    retries: int
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random
    now: Callable[[], datetime] = lambda: datetime.fromtimestamp(now.seconds(), UTC)


def open_model(settings: Settings, *, key: Key | None = None, model: str = "") -> Model | None:
    """The model of the settings, or None when no service is set. Nothing is asked or read yet. `key` and `model` are
    those of somebody else's request, and go before the settings. Any thread may ask it."""
    given = settings.text("llm.base_url")
    if not given:
        return None
    return Llm(
        Service(
            request.endpoint(given),
            settings.text("llm.key"),
            times.duration_seconds(settings.text("llm.timeout")),
        ),
        model or settings.text("llm.model"),
        settings.text("llm.schema"),
        Patience(settings.number("llm.retries")),
        key,
    )


def whole_chat(settings: Settings, body: bytes, answer: Answer, key: Key | None = None) -> bytes:
    """The answer of the service to a chat completion, which `answer` reads. Nothing is tried again: who has asked is
    there, and decides. Raises LlmError."""
    wire, where = _chat_wire(settings, key)
    reply = wire.exchange(CHAT, body, MOST_STREAMED)
    if not 200 <= reply.status < 300:
        raise refused(wire, where, reply)
    answer.read(reply.body)
    if answer.is_broken:
        raise LlmError(f"{wire.url} gave no answer: {_shown(answer.error, wire.key)}")
    return reply.body


def streamed_chat(
    settings: Settings, body: bytes, answer: Answer, key: Key | None = None
) -> Iterator[str]:
    """The words of the answer as they come; `answer` reads all of it. Nothing is tried again: words of it have been
    shown already. Raises LlmError, also when the answer breaks off."""
    wire, where = _chat_wire(settings, key)
    events = Events()
    with wire.streamed(CHAT, body) as (head, pieces):
        if not 200 <= head.status < 300:
            raise refused(wire, where, head._replace(body=b"".join(pieces)))
        for piece in pieces:
            yield from _fresh_words(answer, events.feed(piece))
    yield from _fresh_words(answer, events.close())
    if not answer.is_complete:
        said = _shown(answer.error, wire.key)
        raise LlmError(
            f"{wire.url} broke off in the middle of its answer" + (f" ({said})" if said else "")
            if answer.is_begun
            else f"{wire.url} does not answer in a stream; look at llm.base_url"
        )


def _fresh_words(answer: Answer, events: Iterable[str]) -> Iterator[str]:
    """The words that are new."""
    for event in events:
        answer.feed(event)
    if words := answer.fresh():
        yield words


def _chat_wire(settings: Settings, key: Key | None) -> tuple[Wire, str]:
    """Where a chat is asked, and the setting of its key."""
    given = settings.text("llm.base_url")
    if not given:
        raise LlmError(
            "no language model is set; set llm.base_url, such as http://localhost:11434/v1"
        )
    url, where = request.endpoint(given), settings.text("llm.key")
    seconds = times.duration_seconds(settings.text("llm.timeout"))
    return Wire(url, key or credentials.find(where, url), seconds), where


def lasting_reply(
    wire: Wire, path: str, body: Mapping[str, object], patience: Patience, most: int = MOST_BYTES
) -> Reply:
    """The first reply that will not be another one the next time, or the last one. Raises LlmError."""
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    for tried in range(patience.retries + 1):
        last = tried == patience.retries
        try:
            reply = wire.exchange(path, content, most)
        except UnreachableError:
            if last:
                raise
            patience.sleep(_pause(tried, patience))
            continue
        wait = _wait(reply, tried, patience)
        if last or wait is None:
            return reply
        patience.sleep(wait)
    raise AssertionError("there is at least one try")


def _wait(reply: Reply, tried: int, patience: Patience) -> float | None:
    """How long to wait before the next try, in seconds; None when there is none to be made."""
    if reply.status not in PASSING and reply.status < 500:
        return None
    told = _seconds(reply.retry_after, patience.now())
    if told is None:
        return _pause(tried, patience)
    return told if told <= LONGEST_WAIT else None


def _pause(tried: int, patience: Patience) -> float:
    """Doubles from try to try; half of it is chance, so that many who failed at once come back one by one."""
    return float(min(LONGEST_PAUSE, 0.5 * 2**tried) * (0.5 + patience.random() / 2))


class Budget:
    """A model that can be asked so often and no more."""

    def __init__(self, model: Model, calls: int) -> None:
        self._model, self._calls = model, calls
        self._left = calls
        self._lock = threading.Lock()

    def ask(self, question: Question) -> object:
        """What the model answers. Raises LlmError when all calls are used up; one that failed was one, too."""
        with self._lock:
            if self._left <= 0:
                raise LlmError(
                    f"all {self._calls} calls of a turn are used up; llm.calls says how many there are"
                )
            self._left -= 1
        return self._model.ask(question)


class Service(NamedTuple):
    """Where the model is asked."""

    url: str
    key: str  # the setting
    seconds: float  # for one answer


class Llm:
    """A model of a service."""

    def __init__(
        self, service: Service, model: str, schema: str, patience: Patience, key: Key | None = None
    ) -> None:
        self._service, self._model, self._schema, self._patience = service, model, schema, patience
        self._given = key
        self._found: Key | None = None
        self._looked = False
        self._lock = threading.Lock()

    def ask(self, question: Question) -> object:
        """See Model. Tries a plainer manner when the service does not understand one, and remembers it."""
        if not self._model:
            raise LlmError("no language model is named; set llm.model")
        wire = Wire(self._service.url, self._key(), self._service.seconds)
        known = (wire.url, self._model, self._schema)
        manner = _manners.get(known) or request.first_manner(self._schema)
        while True:
            asked = request.body(self._model, question, manner)
            reply = lasting_reply(wire, CHAT, asked, self._patience)
            if 200 <= reply.status < 300:
                break
            said = answers.error_message(reply.body)
            next_one = request.plainer(
                manner, reply.status, said, schema=question.schema is not None
            )
            if next_one is None:
                raise refused(wire, self._service.key, reply)
            manner = next_one
        if len(_manners) >= MOST_MANNERS:
            _manners.clear()
        _manners[known] = manner
        return self._read(reply, question, wire.key)

    def _key(self) -> Key | None:
        """Looked for once: a keyring may ask a person."""
        if self._given:
            return self._given
        with self._lock:
            if not self._looked:
                self._found = credentials.find(self._service.key, self._service.url)
                self._looked = True
            return self._found

    def _read(self, reply: Reply, question: Question, key: Key | None) -> object:
        try:
            said = answers.completion(reply.body)
        except NoAnswerError as error:
            raise LlmError(
                f"{self._service.url} gave no answer: {_shown(str(error), key)}"
            ) from None
        if question.schema is None:
            words = answers.without_thoughts(said.text)
            if not words:
                raise LlmError(
                    f"{self._model} thought and said nothing; llm.model may name another one"
                )
            return words
        try:
            return answers.parse_json(said.text, question.schema)
        except ValueError:
            raise LlmError(
                f"{self._model} did not answer in JSON; llm.schema or llm.model may be changed"
            ) from None


def examined(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """What is wrong with the service of the settings: how bad, what, and what to do; nothing when none is set. Asks it
    for its list of models, for a moment."""
    given = settings.text("llm.base_url")
    if not given:
        return
    url, where = request.endpoint(given), settings.text("llm.key")
    if not settings.text("llm.model"):
        yield "warning", f"llm.base_url is {url}, and no model of it is named", "set llm.model"
    if request.is_overheard(url):
        advice = "set llm.base_url to https, if it answers there"
        yield "note", f"what is asked of {url} can be read on the way", advice
    try:
        key = credentials.find(where, url)
        reply = Wire(url, key, LOOK).send("/models")
    except LlmError as error:
        yield "warning", str(error), "until then turns are kept, and facts are found by rules"
        return
    if reply.status in (401, 403):
        what = "refuses the key that llm.key names" if key else "wants a key"
        yield "warning", f"{url} {what}", credentials.lacks(where)
    elif key is None and credentials.is_named(where):
        yield "warning", f"llm.key is {where}, and there is none", credentials.lacks(where)
    elif key is None and where != credentials.OFF and not request.is_here(url):
        yield "note", f"{url} is asked without a key", credentials.lacks(where)
    if reply.status >= 500:
        yield "warning", f"{url} answers {reply.status}", "look at its log, or wait"
    there, model = answers.models(reply.body), settings.text("llm.model")
    if reply.status == 200 and there and model and model not in there:
        known = one_line(", ".join(there[:5]), MOST_WORDS)
        yield "warning", f"{url} has no model {model}", f"set llm.model to one of {known}"


def refused(wire: Wire, where: str, reply: Reply) -> LlmError:
    """The error for a reply that is no answer; `where` is the setting of the key."""
    said = _shown(answers.error_message(reply.body), wire.key)
    what = f"{wire.url} answers {reply.status}" + (f" ({said})" if said else "")
    named = wire.settings
    if reply.status in (401, 403):
        return LlmError(f"{what}; {credentials.lacks(where, f'{named}.key')}")
    if 300 <= reply.status < 400:
        leads = f" and leads to {_shown(reply.location, wire.key)}" if reply.location else ""
        return LlmError(f"{what}{leads}; set {named}.base_url to the place itself")
    if reply.status in PASSING or reply.status >= 500:
        return LlmError(f"{what}; it may do so later")
    return LlmError(f"{what}; look at {named}.base_url and {named}.model")


def _shown(text: str, key: Key | None) -> str:
    """What a service says, in one short line, and never with our key in it."""
    return one_line(key.hidden_in(text) if key else text, MOST_WORDS)


def _seconds(retry_after: str, now: datetime) -> float | None:
    """Retry-After as seconds from now: a number, or a date. None when it is neither."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime  # a date is rare

    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - now).total_seconds())
    except (TypeError, ValueError):
        return None
