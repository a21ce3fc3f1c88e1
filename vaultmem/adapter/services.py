"""What packages for language models and assistants offer, and what they are asked: contracts and values, nothing else.

Entry points: "vaultmem.models" (a Models, the services that answer questions), "vaultmem.health" (a Health, what a
package has to say in doctor and status), "vaultmem.assistants" (the Assistants that can be connected).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from vaultmem.adapter import JsonObject
from vaultmem.light import NamedTuple, Protocol, TypedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultmem.api import Vault
    from vaultmem.embedding.embed import TextEmbedder


Schema = TypedDict("Schema", {
    "type": "str | list[str]", "description": str, "pattern": str, "items": "Schema", "enum": Sequence[object],
    "properties": "Mapping[str, Schema]", "required": list[str], "additionalProperties": bool, "minimum": float,
    "maximum": float, "minLength": int, "maxLength": int, "maxItems": int, "default": object,
    "unchecked": bool,  # of ours: the verb checks it itself
}, total=False)  # fmt: skip
"""The part of JSON Schema that tools and questions use."""


class Message(NamedTuple):
    """One message of a chat."""

    role: str  # system, user, assistant
    content: str


class Question(NamedTuple):
    """One call of a model."""

    purpose: str  # facts, reconcile, summary, ...: for logs and for the budget of calls
    messages: tuple[Message, ...]
    # The JSON Schema of the answer; None: the answer is plain text.
    schema: Schema | None = None
    most_tokens: int = 512  # of the answer


class Model(Protocol):
    """A language model that answers one question at a time. Any thread may ask."""

    def ask(self, question: Question) -> object:
        """The answer: text, or with a schema the JSON value that was read out of the reply; whether it fits the schema
        is for the caller to check. Raises LlmError when there is none."""


class Settings(Protocol):
    """What such a package needs of the settings."""

    def text(self, key: str) -> str:
        """A setting that is text."""

    def number(self, key: str) -> int:
        """A setting that is a whole number."""


class Nearby(NamedTuple):
    """A program that serves language models on this machine, and the first model of its list that talks."""

    program: str
    address: str
    model: str


class Models(Protocol):
    """Services behind the network that answer questions or embed texts; their settings are llm.* and embedding.*."""

    def open_model(self, settings: Settings) -> Model | None:
        """The language model of the settings, None where none is set. Nothing is asked or read yet."""

    def open_embedder(self, settings: Settings, folder: str) -> TextEmbedder:
        """What embeds texts where embedding.base_url is set; `folder` holds what is known of models. Raises ModelError
        with what to do."""

    def local_models(self) -> list[Nearby]:
        """Language models that run on this machine."""


class Health(Protocol):
    """What a package with work of its own says in `doctor` and `status`."""

    def findings(self, vault: Vault) -> Iterator[tuple[str, str, str, list[str], str]]:
        """What is wrong: how bad (error, warning, note), what, what to do about it, where, and the command
        that mends it as it stands. Changes nothing."""

    def facts(self, state: str) -> JsonObject:
        """What belongs into the status of a vault, by name, out of its state folder. Quick."""

    def rows(self, facts: JsonObject) -> list[tuple[str, str]]:
        """The same for a person, in rows of a name and a text."""


class Assistant(Protocol):
    """A program that runs assistants and can be connected."""

    @property
    def name(self) -> str:
        """What it is called in commands."""

    @property
    def title(self) -> str:
        """What it is called in sentences."""

    def is_connected(self) -> bool:
        """Whether our hook is in its settings."""


# The form of our questions and their answers: an object with one list


def list_schema(name: str, properties: Mapping[str, Schema], most: int | None = None) -> Schema:
    """An object with one list, of objects that have all of these properties and no others."""
    several: Schema = {"type": "array", "items": object_schema(properties)}
    if most is not None:
        several["maxItems"] = most
    return object_schema({name: several})


def object_schema(properties: Mapping[str, Schema]) -> Schema:
    """An object that has all of these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def json_lines(items: Sequence[object]) -> str:
    """A list as JSON, an item a line. No words of an item can leave its string."""
    return "[" + ",\n ".join(json.dumps(item, ensure_ascii=False) for item in items) + "]"


def records(answer: object) -> list[Mapping[object, object]]:
    """The objects of an answer: those of a list, of the one list in an object, or the object itself."""
    if isinstance(answer, Mapping):
        lists = [one for one in answer.values() if isinstance(one, list)]
        answer = lists[0] if len(lists) == 1 else [answer] if answer else []
    return [one for one in answer if isinstance(one, Mapping)] if isinstance(answer, list) else []


def short_id(value: object) -> int | None:
    """A short id that is a number or its digits."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 9:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value
