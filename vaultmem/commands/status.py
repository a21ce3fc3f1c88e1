"""vaultmem status: what is indexed, how fresh it is, and what the agent does."""

from __future__ import annotations

import os

from vaultmem import now as clock
from vaultmem.api import Vault
from vaultmem.chat import chat_counts
from vaultmem.chat.turn_queue import FOLDER, Turns
from vaultmem.errors import VaultmemError
from vaultmem.output import Output, table
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace, output: Output) -> int:
    """Say what there is. Reads the index only, never the notes."""
    given = args.vault  # in the agent, its own vault
    with given if isinstance(given, Vault) else Vault(given) as vault:
        agent, trouble = _agent(vault)
        facts = _facts(vault) if vault.is_indexed() else {"status": "not indexed"}
        memories = _memories(vault)
        facts = {
            **facts, "vault": vault.path, "state": vault.state.folder, "memory_count": memories["memory_count"],
            "memories": memories, "agent": agent, "turns_waiting": Turns(vault.state.path(FOLDER)).count(),
            "proxy": chat_counts.read(vault.state.folder),
        }  # fmt: skip
        if output.as_json:
            output.data(facts)
        elif "synced" in facts:
            _show(facts, vault, output)
            _show_rows(
                [*_memory_rows(memories), *_chat_rows(facts), *agent_rows(agent, trouble)], output
            )
        else:
            advice = "the agent is at it" if agent else "run vaultmem sync"
            output.line(f"{vault.path} is not indexed yet; {advice}")
            _show_rows(
                [*_memory_rows(memories), *_chat_rows(facts), *agent_rows(agent, trouble)], output
            )
        if trouble and output.as_json:
            output.remark(f"vaultmem: {trouble}")
    return 0


_NO_MEMORIES: dict[str, object] = {
    "memory_count": 0, "archived": 0, "phases": {}, "categories": {}, "scopes": {}, "history": None,
}  # fmt: skip


def _memories(vault: Vault) -> dict[str, object]:
    """How many memories there are. Without a memory folder there are none, and nothing more is loaded."""
    if not os.path.isdir(os.path.join(vault.path, vault.config.text("memory_folder"))):
        return _NO_MEMORIES
    return vault.overview()


def _memory_rows(memories: dict[str, object]) -> list[tuple[str, str]]:
    """What to tell a person of the memories, and why there is no history of them, if so."""
    waiting = int(_number(_part(memories, "phases"), "inbox"))
    inbox = f" ({waiting:,} in the inbox)" if waiting else ""
    archived = f", {_number(memories, 'archived'):,.0f} archived" if memories["archived"] else ""
    rows = [("memories", f"{_number(memories, 'memory_count'):,.0f}{inbox}{archived}")]
    return [*rows, ("history", str(memories["history"]))] if memories["history"] else rows


def _chat_rows(facts: dict[str, object]) -> list[tuple[str, str]]:
    """How many turns of conversations are not remembered yet, and how recall went in the proxy, if there are some."""
    waiting = int(_number(facts, "turns_waiting"))
    rows = [("waiting turns", f"{waiting:,} (vaultmem conversations learn)")] if waiting else []
    counts = {name: int(_number(_part(facts, "proxy"), name)) for name in chat_counts.OUTCOMES}
    if chats := sum(counts.values()):
        since = ago(clock.seconds() - _number(_part(facts, "proxy"), "since"))
        told, nothing = counts.pop(chat_counts.TOLD), counts.pop(chat_counts.NOTHING)
        dropped = ", ".join(f"{count:,} {why}" for why, count in counts.items() if count)
        said = f"{plural(chats, 'chat')} since it started {since}: {told:,} with memory, {nothing:,} nothing fits"
        rows.append(("proxy", f"{said}, without: {dropped}" if dropped else said))
    return rows


def _agent(vault: Vault) -> tuple[dict[str, object] | None, str]:
    """The agent's own status, and why it gives none although one is there."""
    try:
        return vault.agent(), ""
    except VaultmemError as error:
        return None, f"{error}; vaultmem restart ends the agent and starts another"


def _facts(vault: Vault) -> dict[str, object]:
    synced = vault.searcher().catalog.meta("synced")
    embedded, embeddable, trouble = vault.embedded()
    return {
        "status": "healthy",
        "vault": vault.path,
        "state": vault.state.folder,
        "synced": None if synced is None else int(synced),
        "index_bytes": folder_bytes(vault.state.generation() or ""),
        "vector_bytes": folder_bytes(vault.state.path("vec")),
        **vault.counts(),
        "embedded": embedded,
        "embeddable": embeddable,
        "model": vault.config["embedding.model"],
        "model_trouble": trouble,
    }


def folder_bytes(folder: str) -> int:
    """The size of all files below a folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.path.getsize(os.path.join(place, name))
            except OSError:
                continue  # a file that another process has just removed has no size
    return total


def _show(facts: dict[str, object], vault: Vault, output: Output) -> None:
    synced = facts["synced"]
    age = "never" if not isinstance(synced, int) else ago(clock.seconds() - synced)
    output.line(output.paint(vault.path, "bold"))
    rows = [("synced", age)]
    rows += [(name.replace("_", " "), f"{count:,}") for name, count in vault.counts().items()]
    blocks = f"{facts['embedded']:,} of {facts['embeddable']:,} blocks, model {facts['model']}"
    sizes = f"{_megabytes(facts['index_bytes'])}, vectors {_megabytes(facts['vector_bytes'])}"
    rows += [("embedded", blocks), ("index", sizes), ("state", vault.state.folder)]
    _show_rows(rows, output)
    if facts["model_trouble"]:
        output.line(f"  {facts['model_trouble']}")


def _show_rows(rows: list[tuple[str, str]], output: Output) -> None:
    for row in table(
        (f"  {name:<15}", text) for name, text in rows
    ):  # as wide as "conflict copies"
        output.line(row)


# --- the agent


def agent_rows(agent: dict[str, object] | None, trouble: str = "") -> list[tuple[str, str]]:
    """What to tell a person of the agent: that it is well in one line, troubles in a line each."""
    if trouble:
        return [("agent", trouble)]
    if agent is None:
        return [("agent", "none runs; vaultmem start keeps the index fresh")]
    age = span(_number(agent, "uptime"))
    rows = [("agent", f"running (pid {agent.get('pid')}), up {age}, {_doing(agent)}")]
    if agent.get("memory_bytes"):
        rows.append(("memory", f"{_megabytes(agent['memory_bytes'])}, {_model(agent)}"))
    watching = _part(agent, "watching")
    if watching.get("trouble") or watching.get("alive") is False:
        rows.append(("watching", str(watching.get("trouble") or "not at the moment")))
    rows += [*_job_rows(agent), *_reminder_rows(agent)]
    last = _part(agent, "last_error")
    if last:
        when = ago(clock.seconds() - _number(last, "time"))
        rows.append((f"last {last.get('level')}", f"{when}: {last.get('message')}"))
    return rows


def _doing(agent: dict[str, object]) -> str:
    if agent.get("vanished"):
        return f"waiting: {agent['vanished']}"
    indexing, waiting = _part(agent, "indexing"), _number(agent, "waiting")
    if indexing:
        of = f" of {_number(indexing, 'total'):,.0f}" if indexing.get("total") else ""
        said = f"{indexing.get('stage')} {_number(indexing, 'done'):,.0f}{of}"
    elif waiting:
        said = f"{plural(int(waiting), 'path')} to read"
    else:
        said = "index is current" if agent.get("current", True) else "looking for changes"
    blocks = _number(_part(agent, "embedding"), "waiting")
    return f"{said}, {plural(int(blocks), 'block')} to embed" if blocks else said


def _model(agent: dict[str, object]) -> str:
    model = _part(agent, "model")
    if model.get("trouble"):
        return str(model["trouble"])
    return f"model {model.get('name')} {'loaded' if model.get('loaded') else 'not loaded'}"


def _job_rows(agent: dict[str, object]) -> list[tuple[str, str]]:
    jobs = agent.get("jobs")
    listed = [job for job in jobs if isinstance(job, dict)] if isinstance(jobs, list) else []
    failed = [str(job.get("name")) for job in listed if job.get("ok") is False]
    if not listed:
        return []
    said = f", failed: {', '.join(failed)} (vaultmem jobs)" if failed else ""
    return [("jobs", f"{len(listed)}{said}")]


def _reminder_rows(agent: dict[str, object]) -> list[tuple[str, str]]:
    reminders = _part(agent, "reminders")
    troubles = reminders.get("troubles")
    rows = (
        [("next reminder", str(reminders["next"]).replace("T", " "))]
        if reminders.get("next")
        else []
    )
    return rows + [
        ("reminders", str(said)) for said in (troubles if isinstance(troubles, list) else [])
    ]


def _part(facts: dict[str, object], name: str) -> dict[str, object]:
    found = facts.get(name)
    return found if isinstance(found, dict) else {}


def _number(facts: dict[str, object], name: str) -> float:
    found = facts.get(name)
    return found if isinstance(found, (int, float)) else 0


def _megabytes(size: object) -> str:
    return f"{size / 1e6:.1f} MB" if isinstance(size, int) else "?"


_SPANS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def ago(seconds: float) -> str:
    """A moment of the past for a person."""
    return f"{span(seconds)} ago" if seconds >= 60 else "just now"


def span(seconds: float) -> str:
    """A span of time for a person."""
    for size, name in _SPANS:
        if seconds >= size:
            return plural(int(seconds // size), name)
    return plural(int(seconds), "second")
