"""What the five seeds call things works here: their options, their settings, the store of memory-cli."""

import json
import os
from pathlib import Path

import pytest

from tests.agent_run import agent_on, until
from tests.cli_run import on, ran
from tests.conftest import fill
from vaultmem import Vault
from vaultmem.now import use_zone
from vaultmem_chat import memory_context, summarizer

pytestmark = pytest.mark.usefixtures("without_a_model")

DAY = 86_400
NOW = 1_795_000_000


def found(vault: Path, *words: str) -> int:
    said = on(vault, "search", "boiler", "--format", "json", *words)
    return int(json.loads(said.out)["count"])


def test_half_life_and_minimum_are_settings(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """720 hours and 0.3 unless said otherwise: after 20 days a third is left, after 40 nothing."""
    monkeypatch.setenv("VAULTMEM_NOW", str(NOW))
    on(vault, "write", "The boiler hums.", "--decay", "contextual")
    monkeypatch.setenv("VAULTMEM_NOW", str(NOW + 20 * DAY))
    assert found(vault) == 1
    monkeypatch.setenv("VAULTMEM_MEMORIES_MIN_CONFIDENCE", "0.5")
    assert found(vault) == 0
    assert found(vault, "--min-confidence", "0.3") == 1
    monkeypatch.delenv("VAULTMEM_MEMORIES_MIN_CONFIDENCE")
    monkeypatch.setenv("VAULTMEM_NOW", str(NOW + 40 * DAY))
    assert found(vault) == 0
    monkeypatch.setenv("VAULTMEM_MEMORIES_HALF_LIFE", "80d")
    assert found(vault) == 1
    with Vault(str(vault)) as opened:
        assert opened.memories()[0]["confidence"] == 0.5
        told = opened.recall("boiler")["memories"]
        assert [one["confidence"] for one in told] == [0.5]


def test_weights_of_recall_are_settings(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Vault(str(vault)) as opened:
        opened.write("The boiler hums in the cellar.")
        opened.write("A boiler.")
        opened.sync()
    for key, given in (
        ("RECENCY_WEIGHT", "0.5"),
        ("MMR_LAMBDA", "0.9"),
        ("SCORE_THRESHOLD", "0.8"),
    ):
        monkeypatch.setenv(f"VAULTMEM_RECALL_{key}", given)
    with Vault(str(vault)) as opened:
        said = opened.recall("boiler", explain=True)
    steps = {str(one["step"]): str(one["did"]) for one in said["explain"]}
    assert steps["recency"] == "0.5 relevance + 0.5 exp(-age in days / 30)"
    assert steps["mmr"].startswith("0.9 score - 0.1 similarity")
    assert len(said["memories"]) == 1


def test_no_history_where_none_is_wanted(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_MEMORIES_HISTORY", "off")
    with agent_on(vault) as agent:
        assert on(vault, "write", "The boiler hums.").code == 0
        assert "memories.history is off" in on(vault, "undo", "--last").err
        state = agent.state
        until(lambda: not list((state / "batches").glob("*.done")), what="a batch is kept")
    assert not (state / "history.git").exists()


def test_serve_takes_the_interval_of_its_jobs(vault: Path) -> None:
    with agent_on(vault, words=("--interval", "60s")):
        jobs: dict[str, str] = {}
        while not jobs:  # they are planned when the first index is whole
            said = on(vault, "jobs", "--format", "json").out
            jobs = {one["name"]: one["schedule"] for one in json.loads(said)["jobs"]}
        assert {jobs[name] for name in ("expire", "upgrade", "decay", "consolidate")} == {"60s"}
        assert jobs["dream"] == "20m"
    assert on(vault, "serve", "--interval", "soon").code == 2


def test_a_reminder_is_read_in_the_set_zone(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", "2026-11-22T20:00:00Z")
    monkeypatch.setenv("VAULTMEM_NOTIFY_TIMEZONE", "Asia/Shanghai")
    try:
        said = on(vault, "remind", "call Anne", "--at", "tomorrow at 9:00", "--format", "json")
    finally:
        use_zone("")
    assert '"remind": "2026-11-24T09:00"' in said.out  # there it is the 23rd already


def test_where_a_source_lies_is_a_setting(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    fill(tmp_path, {"mine/Reto.md": "Reto has the key of the side door.\n"})
    monkeypatch.setenv("VAULTMEM_INGESTION_OBSIDIAN_PATH", str(tmp_path / "mine"))
    with Vault(str(vault)) as opened:
        assert opened.ingest("obsidian", dry_run=True)["counts"]["new"] == 1
        assert opened.ingest("all", dry_run=True)["counts"]["new"] == 1
    monkeypatch.setenv("VAULTMEM_INGESTION_OBSIDIAN_ENABLED", "off")
    monkeypatch.setenv("VAULTMEM_INGESTION_LOGSEQ_PATH", str(tmp_path / "mine"))
    with Vault(str(vault)) as opened:
        report = opened.ingest("all", dry_run=True)
    assert [one["source"] for one in report["files"] if one["result"] == "new"] == ["logseq"]
    assert any("off in the settings" in remark for remark in report["remarks"])


ID = "550e8400-e29b-41d4-a716-44665544000"
MEMORY = """---
id: {own}
content_hash: a1b2c3
phase: organized
category: {category}
scope: agent:claude
tags:
- ui
source: claude
created_at: 2026-05-07T10:00:00Z
updated_at: 2026-05-07T10:00:00Z
expires_at: null
access_count: 3
links:
- {other}
version: 1
---
{content}"""
CONFIG = """\
storage:
  short_term_ttl: 168h
daemon:
  interval: 60s
  decay_threshold: 720h
notification:
  enabled: true
  method: osascript
  timezone: "Asia/Shanghai"
ingestion:
  logseq:
    path: ~/logseq
    enabled: true
"""


def test_settings_of_a_store_are_named_in_a_line_each(vault: Path, tmp_path: Path) -> None:
    """They are shown for the person's own settings: a value cannot be another line of these. Nobody waits for a fifo."""
    store = tmp_path / ".memory"
    (store / "categories").mkdir(parents=True)
    config = store / "config.yaml"
    config.write_text('notification:\n  timezone: "UTC\\n  llm.base_url: http://evil.example"\n')
    words = ("import", "--from", str(store), "--format", "text", "--vault", str(vault))
    (line,) = (one for one in ran(*words).err.splitlines() if "evil" in one)
    assert line == "  notify.timezone: UTC llm.base_url: http://evil.example"
    config.unlink()
    os.mkfifo(config)
    assert ran(*words).code == 0
    none = ran("import", "--from", f"{store}/none", "--format", "text", "--vault", str(vault))
    assert f"{store}/none does not exist" in none.err


def test_a_store_of_memory_cli_comes_in_whole(vault: Path, opened: Vault, tmp_path: Path) -> None:
    store = tmp_path / ".memory"
    for number, category, content in (
        (0, "preferences", "user prefers dark mode"),
        (1, "people", "Anne repairs bicycles"),
    ):
        own, other = f"{ID}{number}", f"{ID}{1 - number}"
        text = MEMORY.format(own=own, other=other, category=category, content=content)
        fill(store, {f"categories/{category}/{own}.md": text})
    bad = {"categories/people/bad.md": "---\nid: x\n---\n"}
    fill(store, {**bad, "config.yaml": CONFIG, "memory.md": "# the index"})
    ended = on(vault, "import", "--from", str(store), "--format", "text")
    assert ended.code == 1
    assert "categories/people/bad.md: it has no content" in ended.err
    for line in ("memories.inbox_ttl: 168h", "memories.decay_after: 720h", "notify.method: desktop",
                 "notify.timezone: Asia/Shanghai", "ingestion.logseq.enabled: on"):  # fmt: skip
        assert line in ended.err
    kept = {memory["content"]: memory for memory in opened.memories()}
    assert set(kept) == {"user prefers dark mode", "Anne repairs bicycles"}
    one = kept["user prefers dark mode"]
    assert (one["id"], one["category"], one["scope"]) == (f"{ID}0", "preferences", "agent:claude")
    assert (one["tags"], one["access_count"], one["links"]) == (["ui"], 3, [f"{ID}1"])
    assert str(one["created_at"]) == "2026-05-07T10:00:00Z"
    again = on(vault, "import", "--from", str(store), "--format", "text")
    assert "2 there already" in again.out + again.err
    (tmp_path / "memory_db" / "entries").mkdir(parents=True)
    for folder, advice in ((tmp_path, False), (tmp_path / "memory_db", True)):
        refused = on(vault, "import", "--from", str(folder))
        assert (refused.code, "copy its folder entries" in refused.err) == (1, advice)


def test_reminders_of_memory_cli_are_pending_at_once(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There they are only words, which count from the day they were written."""
    monkeypatch.setenv("VAULTMEM_NOW", "2026-05-08T08:00:00Z")  # the day after
    store = tmp_path / ".memory"
    texts = ["Call Anne tomorrow at 3pm", "每周一早上9点开会", "water the plants"]
    for number, content in enumerate(texts):
        names = {"own": f"{ID}{number}", "other": f"{ID}9", "category": "reminders"}
        text = MEMORY.format(content=content, **names)
        fill(store, {f"categories/reminders/{ID}{number}.md": text})
    for new, known in ((3, 0), (0, 3)):
        said = on(vault, "import", "--from", str(store), "--format", "json").out
        assert [json.loads(said)[name] for name in ("new", "known")] == [new, known]
    pending = json.loads(on(vault, "pending", "--format", "json").out)
    due = {one["text"]: one["due"] for part in ("today", "upcoming") for one in pending[part]}
    assert due == {
        "Call Anne tomorrow at 3pm": "2026-05-08T15:00",
        "每周一早上9点开会": "2026-05-11T09:00",
    }


ENTRY = """---
id: {own}
role: {role}
conversation_id: default
created_at: 2026-11-03T{time}.123456+00:00
---

{content}
"""
SAID = "My wife is Anne, and we live in Porto near the river with our two cats and an old boat that we repair each spring."


def context(vault: Vault) -> str:
    limits = memory_context.limits_of(vault.config)
    return memory_context.context_for(vault, "default", "Where do we live?", (), limits).text


@pytest.mark.parametrize("summary", ["summary", "L3/final"])
def test_entries_of_agent_cli_go_on_in_place(vault: Path, opened: Vault, summary: str) -> None:
    """Its folder `entries`, with the one summary of its first version or the levels of the second."""
    folder = vault / "vaultmem" / "entries" / "default"
    entries = (
        ("turns/user/2026-11-03T09-00-00__u1", "u1", "user", SAID),
        ("turns/assistant/2026-11-03T09-01-00__a1", "a1", "assistant", f"Nice! {3 * SAID}"),
        ("facts/2026-11-03T09-02-00__f1", "f111", "memory", "The user's wife is named Anne"),
        (f"summaries/{summary}", "default-summary", "summary", "They live in Porto."),
    )
    for minute, (place, own, role, content) in enumerate(entries):
        time = f"09:0{minute}:00"
        text = ENTRY.format(own=own, role=role, content=content, time=time)
        fill(folder, {f"{place}.md": text})
    opened.sync()
    assert "[summary] They live in Porto." in context(opened)
    (listed,) = json.loads(on(vault, "conversations", "--json").out)["conversations"]
    assert (listed["turns"], listed["facts"]) == (2, 1)
    assert listed["updated_at"].startswith("2026-11-03")
    told = on(vault, "conversations", "forget", "f111", "--dry-run").out
    assert "They live in Porto" in told, "it may tell what is forgotten"
    assert summarizer.update(opened, "default", None)
    only = opened.entries("default", kinds=["summaries"])
    assert [one["path"] for one in only] == [f"vaultmem/entries/default/summaries/{summary}.md"]
    assert "Anne" in str(only[0]["content"])
    assert context(opened).count("[summary]") == 1


def test_import_names_its_file_as_memory_cli_does(vault: Path, tmp_path: Path) -> None:
    lines = tmp_path / "memories.jsonl"
    lines.write_text('{"ID": "x1", "Content": "Anne repairs bicycles", "Category": "people"}\n')
    words = ("--format", "memory-cli", "--vault", str(vault))
    assert ran("import", "--input", str(lines), *words).code == 0
    assert ran("import", *words).code == 2
    assert ran("import", str(lines), "--input", str(lines), *words).code == 2
