"""A vault about which a scripted model gives advice."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import Arguments, Reply, as_json
from vaultmem import Vault
from vaultmem_chat.llm import llm

ODD = "zzz qqq xyzzy"  # no rule can be sure about that


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, scripted_llm: ScriptedLlm) -> ScriptedLlm:
    """The configured model, which gives no advice unless told to."""
    llm._forms.clear()
    for name, value in (
        ("BASE_URL", scripted_llm.url),
        ("MODEL", "scripted"),
        ("KEY", "off"),
        ("RETRIES", "0"),
    ):
        monkeypatch.setenv(f"VAULTMEM_LLM_{name}", value)
    scripted_llm.otherwise = advice()
    return scripted_llm


def items_of(asked: Arguments) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(asked.messages[-1]["content"])
    return found


def advice(
    text: str = "none", pair: str = "none", reason: str = "because"
) -> Callable[[Arguments], Reply]:
    """A model that chooses `this` for every text and `that` for every pair it is asked about."""

    def answer(asked: Arguments) -> Reply:
        choices = {one["id"]: pair if "first" in one else text for one in items_of(asked)}
        return as_json(
            {
                "answers": [
                    {"id": at, "choice": one, "reason": reason} for at, one in choices.items()
                ]
            }
        )

    return answer


def tree(vault: Path) -> dict[str, bytes]:
    return {
        path.relative_to(vault).as_posix(): path.read_bytes()
        for path in vault.rglob("*.md")
        if path.name != "What changed.md" and path.parent.name != "sync"
    }


def of_model(vault: Vault) -> list[dict[str, object]]:
    return [proposal for proposal in vault.proposals() if proposal.get("who") == "model"]


LISBON, PORTO = "Anne spends every winter in Lisbon", "In winter Anne can be found in Porto"
