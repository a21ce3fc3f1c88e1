"""What `doctor` and `status` report on language models, conversations and the proxy (a
vaultmem.adapter.services.Health)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TypedDict, cast

from vaultmem import now as clock
from vaultmem.adapter import JsonObject
from vaultmem.api import Vault
from vaultmem.errors import VaultmemError
from vaultmem.notes.places import ENTRIES
from vaultmem.text.values import plural
from vaultmem_chat.learning import turn_queue
from vaultmem_chat.learning.turn_queue import FOLDER, Turns

LEARN = "vaultmem conversations learn"
# Severity, problem, advice, places, and the command that fixes it.
Finding = tuple[str, str, str, list[str], str]


def findings(vault: Vault) -> Iterator[Finding]:
    """Yield problems without changing anything; configured services get one short request."""
    if vault.config["llm.base_url"]:
        from vaultmem_chat.llm import llm

        yield from ((*finding, [], "") for finding in llm.diagnose(vault.config))
    yield from _turns(vault)
    yield from _entries(vault)
    if vault.config["embedding.base_url"]:
        from vaultmem_chat.llm import embedding_service

        folder = vault.state.models_folder()
        for finding in embedding_service.check_service(vault.config, folder):
            yield (*finding, [], "")


def _turns(vault: Vault) -> Iterator[Finding]:
    turns = Turns(vault.state.path(FOLDER))
    if waiting := sum(not item.is_open for item in turns.waiting()):
        many = plural(waiting, "turn")
        what = f"{many} of conversations {'waits' if waiting == 1 else 'wait'} to be remembered"
        yield "note", what, f"{LEARN}, if no proxy runs", [], LEARN
    if broken := turns.broken():
        what = f"{plural(len(broken), 'turn')} of conversations could not be remembered"
        advice = "the files hold what was said; look at them, keep what you want, remove them"
        yield "warning", what, advice, broken, ""


def _entries(vault: Vault) -> Iterator[Finding]:
    folder = f"{vault.config.text('memory_folder')}/{ENTRIES}"
    if not os.path.isdir(os.path.join(vault.path, folder)):
        return
    try:
        troubles: list[list[str]] = vault.ask("conversations")["troubles"]
    except VaultmemError:  # an agent of another version, which another finding names
        return
    if troubles:
        places = [f"{path}: {reason}" for path, reason in troubles]
        what = f"{plural(len(places), 'file')} in the folders of conversations skipped"
        yield "note", what, "each line says what to do", places, ""


class _Facts(TypedDict):
    turns_waiting: int
    proxy: dict[str, int] | None  # counts by outcome, and the start as "since"


def facts(state: str) -> _Facts:
    """The number of turns to be learned from, and the proxy's counts of recalls."""
    turns = Turns(os.path.join(state, FOLDER)).count()
    return {"turns_waiting": turns, "proxy": turn_queue.read_counts(state)}


def rows(facts: JsonObject) -> list[tuple[str, str]]:
    """The non-empty facts as rows for a person."""
    from vaultmem.commands.status_views import ago

    chat_facts = cast("_Facts", facts)
    turns, proxy = chat_facts["turns_waiting"], chat_facts["proxy"] or {}
    result = [("waiting turns", f"{turns:,} (vaultmem conversations learn)")] if turns else []
    counts = {name: proxy.get(name, 0) for name in turn_queue.OUTCOMES}
    if chats := sum(counts.values()):
        since = ago(clock.seconds() - proxy["since"])
        with_memory, nothing = counts.pop(turn_queue.RECALLED), counts.pop(turn_queue.NOTHING)
        dropped = ", ".join(f"{count:,} {why}" for why, count in counts.items() if count)
        text = f"{plural(chats, 'chat')} since it started {since}: {with_memory:,} with memory"
        text = f"{text}, {nothing:,} nothing fits"
        result.append(("proxy", f"{text}, without: {dropped}" if dropped else text))
    return result
