"""With a real model: the wire, the schema and the stream, as llama.cpp's server has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import jsonschema
import pytest

from tests.real_llm import RealLlm
from vaultmem import config
from vaultmem.adapter.services import Message, Model, Question
from vaultmem.errors import LlmError
from vaultmem_chat.llm import llm
from vaultmem_chat.llm.llm import Form

EVENTS = {
    "type": "array",
    "maxItems": 1,
    "items": {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 0, "maximum": 9},
            "event": {"enum": ["ADD", "UPDATE", "DELETE", "NONE"]},
            "text": {"type": "string", "maxLength": 8},
        },
        "required": ["id", "event", "text"],
        "additionalProperties": False,
    },
}
TURN = (
    Message("system", "You keep notes about people."),
    Message("user", "My wife is Anne. We live in Lyon."),
)


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    llm._forms.clear()
    yield
    llm._forms.clear()


def model_of(real_llm: RealLlm, **settings: str) -> Model:
    named = {"BASE_URL": real_llm.url, "MODEL": real_llm.model, "KEY": "off", **settings}
    model = llm.open_model(
        config.load(None, {f"VAULTMEM_LLM_{name}": value for name, value in named.items()})
    )
    assert model
    return model


def test_a_plain_answer(real_llm: RealLlm) -> None:
    said = model_of(real_llm).ask(Question("summary", TURN, None, 12))
    assert isinstance(said, str)
    assert said
    assert said == said.strip()


@pytest.mark.parametrize(
    "schema",
    [EVENTS, {"type": "array", "items": {"type": "string", "maxLength": 12}, "maxItems": 2}],
)
def test_an_answer_that_fits_its_schema(real_llm: RealLlm, schema: dict[str, object]) -> None:
    """The server's grammar enforces it, which shows that the schema arrived."""
    value = model_of(real_llm).ask(Question("reconcile", TURN, schema, 60))
    jsonschema.validate(value, schema)
    assert list(llm._forms.values()) == [Form("json_schema", "max_tokens", True)]


def test_a_schema_that_the_server_does_not_take(real_llm: RealLlm) -> None:
    """It answers 400, and a simpler way is found."""
    odd = {"type": "array", "items": {"type": "nonsense"}}
    with suppress(LlmError):  # eight tokens are hardly JSON
        model_of(real_llm).ask(Question("facts", TURN, odd, 8))
    assert all(form.schema != "json_schema" for form in llm._forms.values())
    assert llm._forms


def test_too_little_time(real_llm: RealLlm) -> None:
    """The schema prevents the model from stopping earlier."""
    long = {"type": "array", "minItems": 300, "items": {"enum": ["a hundred and twenty-one", 121]}}
    with pytest.raises(LlmError, match=r"took longer than 1 s"):
        model_of(real_llm, TIMEOUT="1s").ask(
            Question("facts", (Message("user", "Count."),), long, 4_000)
        )
