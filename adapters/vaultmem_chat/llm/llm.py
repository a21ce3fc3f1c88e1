"""A language model behind an OpenAI-compatible service: requests, retries, and errors in one line."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from vaultmem import credentials
from vaultmem.adapter import JsonObject
from vaultmem.adapter.services import Message, Model, Question, Schema, Settings, object_schema
from vaultmem.credentials import Key
from vaultmem.errors import LlmError
from vaultmem.text import times, urls
from vaultmem.text.sanitize import one_line
from vaultmem_chat.llm import replies
from vaultmem_chat.llm.replies import WRAPPED, Answer
from vaultmem_chat.llm.wire import MOST_BYTES, MOST_STREAMED, Events, Reply, UnreachableError, Wire

CHAT = "/chat/completions"
PASSING = (408, 409, 429)  # and all from 500
LONGEST_WAIT = 30.0  # seconds: if a service names a longer wait, we give up
LONGEST_PAUSE = 8.0
LOOK = 3.0  # seconds to check whether a service is running
MOST_WORDS = 200  # characters of an error message of a service
MOST_FORMS = 256
_forms: dict[tuple[str, str, str], Form] = {}  # forms that a service and its model accept


class Patience(NamedTuple):
    """How often a call is retried, and how to wait."""

    retries: int
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random


class Service(NamedTuple):
    """A service with a language model."""

    url: str
    key: str  # the setting
    seconds: float  # for one answer

    def wire(self, key: Key | None) -> Wire:
        """A connection to it with a key, or with that of the settings."""
        return Wire(self.url, key or credentials.find(self.key, self.url), self.seconds)


def service_of(settings: Settings) -> Service | None:
    """The service of the settings, if one is set."""
    address = settings.text("llm.base_url")
    if not address:
        return None
    seconds = times.duration_seconds(settings.text("llm.timeout"))
    return Service(urls.endpoint(address), settings.text("llm.key"), seconds)


def open_model(settings: Settings, *, key: Key | None = None, model: str = "") -> Model | None:
    """The model of the settings, or None when no service is set. No request is made yet. `key` and `model` are
    those of a client's request, and take precedence over the settings. Thread-safe."""
    service = service_of(settings)
    if service is None:
        return None
    name, schema = model or settings.text("llm.model"), settings.text("llm.schema")
    return Llm(service, name, schema, Patience(settings.number("llm.retries")), key)


def whole_chat(settings: Settings, body: bytes, answer: Answer, key: Key | None = None) -> bytes:
    """The body of the answer to a chat completion, which `answer` reads; without retries. Raises LlmError."""
    service, wire = _chat_wire(settings, key)
    reply = wire.exchange(CHAT, body, MOST_STREAMED)
    if not 200 <= reply.status < 300:
        raise refusal(wire, service.key, reply)
    answer.read(reply.body)
    if answer.is_broken:
        raise LlmError(f"{wire.url} gave no answer: {_printable(answer.error, wire.key)}")
    return reply.body


def streamed_chat(
    settings: Settings, body: bytes, answer: Answer, key: Key | None = None
) -> Iterator[str]:
    """Yield the words of the answer as they arrive; `answer` reads all of it. Without retries, as words may have been
    printed. Raises LlmError, also when the answer is interrupted or has no words."""
    service, wire = _chat_wire(settings, key)
    events = Events()
    with wire.streamed(CHAT, body) as (head, pieces):
        if not 200 <= head.status < 300:
            raise refusal(wire, service.key, head._replace(body=b"".join(pieces)))
        for piece in pieces:
            yield from _fresh_words(answer, events.feed(piece))
    yield from _fresh_words(answer, events.close())
    if answer.is_complete:
        if not answer.calls and (problem := answer.problem()):
            raise LlmError(f"{wire.url} gave no answer: {_printable(problem, wire.key)}")
        return
    if not answer.is_begun:
        raise LlmError(f"{wire.url} does not stream its answer; check llm.base_url")
    message = _printable(answer.error, wire.key)
    why = f" ({message})" if message else ""
    raise LlmError(f"{wire.url} interrupted its answer{why}")


def _fresh_words(answer: Answer, events: Iterable[str]) -> Iterator[str]:
    for event in events:
        answer.feed(event)
    if words := answer.fresh():
        yield words


def _chat_wire(settings: Settings, key: Key | None) -> tuple[Service, Wire]:
    service = service_of(settings)
    if service is None:
        raise LlmError(
            "no language model is set; set llm.base_url, such as http://localhost:11434/v1"
        )
    return service, service.wire(key)


def lasting_reply(
    wire: Wire, path: str, body: JsonObject, patience: Patience, most: int = MOST_BYTES
) -> Reply:
    """The first reply that a retry would not change, or the last one. Raises LlmError."""
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    for attempt in range(patience.retries):
        try:
            reply = wire.exchange(path, content, most)
        except UnreachableError:
            patience.sleep(_pause(attempt, patience))
            continue
        wait = _wait(reply, attempt, patience)
        if wait is None:
            return reply
        patience.sleep(wait)
    return wire.exchange(path, content, most)


def _wait(reply: Reply, attempt: int, patience: Patience) -> float | None:
    """The seconds to wait before the next attempt; None when there is none."""
    if reply.status not in PASSING and reply.status < 500:
        return None
    try:
        retry_after = max(0.0, float(reply.retry_after))
    except ValueError:  # a date is rare
        return _pause(attempt, patience)
    return retry_after if retry_after <= LONGEST_WAIT else None


def _pause(attempt: int, patience: Patience) -> float:
    """The exponential backoff in seconds, half of it random, so that clients that failed together retry one by
    one."""
    return float(min(LONGEST_PAUSE, 0.5 * 2**attempt) * (0.5 + patience.random() / 2))


class Budget:
    """A model with a limited number of calls."""

    def __init__(self, model: Model, calls: int) -> None:
        self._model, self._calls = model, calls
        self._left = calls
        self._lock = threading.Lock()

    def ask(self, question: Question) -> object:
        """See Model. Raises LlmError when all calls are used up, including failed ones."""
        with self._lock:
            if self._left <= 0:
                raise LlmError(
                    f"all {self._calls} calls of a turn are used up; llm.calls says how many there are"
                )
            self._left -= 1
        return self._model.ask(question)


def within_budget(settings: Settings, model: Model | None) -> Model | None:
    """The model, if there is one, limited to the number of calls in the settings; None if they allow none."""
    calls = settings.number("llm.calls")
    return Budget(model, calls) if model and calls else None


class Llm:
    """A model of a service."""

    def __init__(
        self, service: Service, model: str, schema: str, patience: Patience, key: Key | None = None
    ) -> None:
        self._service, self._model, self._schema, self._patience = service, model, schema, patience
        self._key = key
        self._wire: Wire | None = None
        self._lock = threading.Lock()

    def ask(self, question: Question) -> object:
        """See Model. Tries a simpler form when the service does not understand one, and remembers it."""
        if not self._model:
            raise LlmError("no language model is named; set llm.model")
        with self._lock:  # a keyring may ask a person, so this happens once
            wire = self._wire = self._wire or self._service.wire(self._key)
        cache_key = (wire.url, self._model, self._schema)
        form = _forms.get(cache_key) or Form(JSON_SCHEMA if self._schema == AUTO else self._schema)
        while True:
            body = request_body(self._model, question, form)
            reply = lasting_reply(wire, CHAT, body, self._patience)
            if 200 <= reply.status < 300:
                break
            message = replies.error_message(reply.body)
            simpler = simpler_form(form, reply.status, message, schema=question.schema is not None)
            if simpler is None:
                raise refusal(wire, self._service.key, reply)
            form = simpler
        if len(_forms) >= MOST_FORMS:
            _forms.clear()
        _forms[cache_key] = form
        return self._read(reply, question, wire.key)

    def _read(self, reply: Reply, question: Question, key: Key | None) -> object:
        answer = Answer()
        answer.read(reply.body)
        if problem := answer.problem():
            raise LlmError(f"{self._service.url} gave no answer: {_printable(problem, key)}")
        if question.schema is None:
            words = replies.without_thoughts(answer.text)
            if not words:
                raise LlmError(
                    f"{self._model} only thought and gave no answer; try another llm.model"
                )
            return words
        try:
            return replies.parse_json(answer.text, question.schema)
        except ValueError:
            raise LlmError(
                f"{self._model} did not answer in JSON; try another llm.schema or llm.model"
            ) from None


def diagnose(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yield problems of the service of the settings, if one is set: severity, problem, advice."""
    service = service_of(settings)
    if service is None:
        return
    url, where, model = service.url, service.key, settings.text("llm.model")
    if not model:
        yield "warning", f"llm.base_url is {url}, but no model is named", "set llm.model"
    if urls.is_plaintext(url):
        advice = "set llm.base_url to https, if it answers there"
        yield "note", f"requests to {url} are unencrypted", advice
    try:
        key = credentials.find(where, url)
        reply = Wire(url, key, LOOK).get("/models")
    except LlmError as error:
        yield "warning", str(error), "until then turns are kept, and facts are found by rules"
        return
    if reply.status in (401, 403):
        what = "refuses the key that llm.key names" if key else "wants a key"
        yield "warning", f"{url} {what}", credentials.advice(where)
    elif key is None and credentials.is_named(where):
        yield "warning", f"llm.key is {where}, but there is no such key", credentials.advice(where)
    elif key is None and where != credentials.OFF and not urls.is_local(url):
        yield "note", f"{url} gets no key", credentials.advice(where)
    if reply.status >= 500:
        yield "warning", f"{url} answers {reply.status}", "look at its log, or wait"
    names = replies.model_names(reply.body)
    if reply.status == 200 and names and model and model not in names:
        models = one_line(", ".join(names[:5]), MOST_WORDS)
        yield "warning", f"{url} has no model {model}", f"set llm.model to one of {models}"


def refusal(wire: Wire, where: str, reply: Reply) -> LlmError:
    """The error for a reply without an answer; `where` is the setting of the key."""
    message = _printable(replies.error_message(reply.body), wire.key)
    what = f"{wire.url} answers {reply.status}" + (f" ({message})" if message else "")
    group = wire.settings
    if reply.status in (401, 403):
        return LlmError(f"{what}; {credentials.advice(where, f'{group}.key')}")
    if 300 <= reply.status < 400:
        leads = f" and leads to {_printable(reply.location, wire.key)}" if reply.location else ""
        return LlmError(f"{what}{leads}; set {group}.base_url to that address")
    if reply.status in PASSING or reply.status >= 500:
        return LlmError(f"{what}; it may do so later")
    if group == "llm" and reply.status in (400, 413):
        what += "; where that is too much for the model, lower conversations.budget"
    return LlmError(f"{what}; check {group}.base_url and {group}.model")


def _printable(text: str, key: Key | None) -> str:
    """A message of a service in one short line, without our key."""
    return one_line(key.hidden_in(text) if key else text, MOST_WORDS)


# The form of a request. Services differ in how they take a JSON Schema, in the name of the token limit and in whether
# a temperature may be given. A service that rejects a form says so, and a simpler one is tried.

AUTO, JSON_SCHEMA, JSON_OBJECT, WORDS = "auto", "json_schema", "json_object", "off"
TOKENS, NEW_TOKENS = "max_tokens", "max_completion_tokens"
REJECTED = (400, 404, 415, 422, 501)
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_OF_SCHEMA = re.compile(r"response.format|json_schema|json_object|schema|grammar|structured")


class Form(NamedTuple):
    """The form of a request."""

    schema: str = JSON_SCHEMA
    tokens: str = TOKENS
    temperature: bool = True


def simpler_form(form: Form, status: int, message: str, *, schema: bool) -> Form | None:
    """The form to try after a service has rejected one with this message; None when it rejected something else.
    `schema` says whether the request had one."""
    if status not in REJECTED:
        return None
    message = message.lower()
    if "max_tokens" in message and form.tokens == TOKENS:
        return form._replace(tokens=NEW_TOKENS)
    if "temperature" in message and form.temperature:
        return form._replace(temperature=False)
    if schema and form.schema != WORDS and _OF_SCHEMA.search(message):
        return form._replace(schema=JSON_OBJECT if form.schema == JSON_SCHEMA else WORDS)
    return None


def request_body(model: str, question: Question, form: Form) -> dict[str, object]:
    """The body of the request, as JSON values."""
    messages = question.messages
    request: dict[str, object] = {"model": model}
    if question.schema is not None:
        schema = question.schema
        if schema.get("type") != "object":  # services accept nothing else at the root
            schema = object_schema({WRAPPED: schema})
        if form.schema == JSON_SCHEMA:
            name = _NO_NAME.sub("-", question.purpose)[:64] or WRAPPED
            request["response_format"] = {
                "type": JSON_SCHEMA,
                JSON_SCHEMA: {"name": name, "strict": True, "schema": schema},
            }
        else:
            messages = _with_schema(messages, schema)
            if form.schema == JSON_OBJECT:
                request["response_format"] = {"type": JSON_OBJECT}
    request["messages"] = [
        {"role": message.role, "content": message.content} for message in messages
    ]
    request[form.tokens] = question.most_tokens
    if form.temperature:
        request["temperature"] = 0
    return request


def _with_schema(messages: tuple[Message, ...], schema: Schema) -> tuple[Message, ...]:
    """The messages with the schema in words, in the one system message that every template accepts: the first."""
    words = (
        "Answer with one JSON value that fits this JSON Schema, and with nothing else:\n"
        + json.dumps(schema, ensure_ascii=False)
    )
    if messages and messages[0].role == "system":
        first = messages[0]._replace(content=f"{messages[0].content}\n\n{words}")
        return (first, *messages[1:])
    return (Message("system", words), *messages)
