"""The contracts of packages for language models and assistants: protocols and values only.

Entry points: "vaultmem.models" (a Models: services that answer questions), "vaultmem.health" (a Health: what a
package reports in doctor and status), "vaultmem.assistants" (the Assistants that can be connected).
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
    "unchecked": bool,  # our own: the verb checks it itself
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
    most_tokens: int = 512


class Model(Protocol):
    """A language model that answers one question at a time. Any thread may ask."""

    def ask(self, question: Question) -> object:
        """The answer: text, or with a schema the JSON value in the reply, which the caller must check against the
        schema. Raises LlmError when there is no answer."""


class Settings(Protocol):
    """The part of the settings that such a package needs."""

    def text(self, key: str) -> str:
        """A setting that is text."""

    def number(self, key: str) -> int:
        """A setting that is a whole number."""


class Nearby(NamedTuple):
    """A program on this machine that serves language models, and the first chat model in its list."""

    program: str
    address: str
    model: str


class Models(Protocol):
    """Network services that answer questions or embed texts; their settings are llm.* and embedding.*."""

    def open_model(self, settings: Settings) -> Model | None:
        """The language model of the settings; None if none is set. Sends and reads nothing yet."""

    def open_embedder(self, settings: Settings, folder: str) -> TextEmbedder:
        """The embedder for embedding.base_url; `folder` holds the records of models. Raises ModelError with
        advice."""

    def local_models(self) -> list[Nearby]:
        """Language models that run on this machine."""


class Health(Protocol):
    """What a package with background work reports in `doctor` and `status`."""

    def findings(self, vault: Vault) -> Iterator[tuple[str, str, str, list[str], str]]:
        """Yield problems: severity (error, warning, note), problem, advice, places, and the command that fixes it.
        Changes nothing."""

    def facts(self, state: str) -> JsonObject:
        """Values for the status of a vault, by name, from its state folder. Fast."""

    def rows(self, facts: JsonObject) -> list[tuple[str, str]]:
        """The same values for a person, as pairs of a name and a text."""


class Assistant(Protocol):
    """A program that runs assistants and can be connected."""

    @property
    def name(self) -> str:
        """Its name in commands."""

    @property
    def title(self) -> str:
        """Its name in sentences."""

    def is_connected(self) -> bool:
        """Whether our hook is in its settings."""


# The schema of our questions and their answers: an object with one list


def list_schema(name: str, properties: Mapping[str, Schema], most: int | None = None) -> Schema:
    """The schema of an object with one list of objects with exactly these properties."""
    several: Schema = {"type": "array", "items": object_schema(properties)}
    if most is not None:
        several["maxItems"] = most
    return object_schema({name: several})


def object_schema(properties: Mapping[str, Schema]) -> Schema:
    """The schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def json_lines(items: Sequence[object]) -> str:
    """A list as JSON, one item per line. No text of an item can escape its string."""
    return "[" + ",\n ".join(json.dumps(item, ensure_ascii=False) for item in items) + "]"


def records(answer: object) -> list[Mapping[object, object]]:
    """The objects in an answer: those of a list, of the only list in an object, or the object itself."""
    if isinstance(answer, Mapping):
        lists = [value for value in answer.values() if isinstance(value, list)]
        answer = lists[0] if len(lists) == 1 else [answer] if answer else []
    return [row for row in answer if isinstance(row, Mapping)] if isinstance(answer, list) else []


def short_id(value: object) -> int | None:
    """A short id, given as a number or as digits; None for anything else."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 9:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value
