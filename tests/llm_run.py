"""A model of a scripted service, called without waiting."""

from collections.abc import Iterator

import pytest

from tests.scripted_llm import ScriptedLlm
from vaultmem.adapter.services import Message, Question
from vaultmem.credentials import Key
from vaultmem.errors import LlmError
from vaultmem_chat.llm import llm
from vaultmem_chat.llm.llm import Budget, Llm, Patience, Service

SECRET = "sk-proj-AbCdEf0123456789AbCdEf0123456789"


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    """No service has been called before, and no key or proxy of this machine has an effect."""
    llm._forms.clear()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            patch.delenv(name, raising=False)
            patch.delenv(name.lower(), raising=False)
        patch.delenv("OPENAI_API_KEY", raising=False)
        yield


class Models:
    """Makes models of a scripted service. They do not really wait: `pauses` are the seconds that they would."""

    def __init__(self, llm: ScriptedLlm) -> None:
        self.llm = llm
        self.pauses: list[float] = []

    def __call__(
        self, schema: str = "auto", *, seconds: float = 5.0, retries: int = 2, key: str | None = None, url: str = "",
        model: str = "small",
    ) -> Llm:  # fmt: skip
        patience = Patience(retries, self.pauses.append, lambda: 1.0)
        service = Service(url or self.llm.url, "env:OPENAI_API_KEY", seconds)
        return Llm(service, model, schema, patience, Key(key) if key else None)


@pytest.fixture
def models(scripted_llm: ScriptedLlm) -> Models:
    return Models(scripted_llm)


def extraction(
    schema: dict[str, object] | None = None, purpose: str = "facts", most: int = 99
) -> Question:
    messages = (Message("system", "You find facts."), Message("user", "My wife is Anne. 你好"))
    return Question(purpose, messages, schema, most)


def failed(model: Llm | Budget, question: Question | None = None) -> str:
    """The one line in which a model says why it has no answer."""
    with pytest.raises(LlmError) as error:
        model.ask(question or extraction())
    said = str(error.value)
    assert "\n" not in said
    assert len(said) < 500
    return said
