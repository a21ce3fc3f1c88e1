"""Dreams over memories, manual changes, proposals, and Logseq graphs."""

import os
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.memories_run import FACTS, Write, files
from tests.stand_in_agent import agent_for
from vaultmem import Vault
from vaultmem.ledger import reads
from vaultmem.ledger.ledger import Ledger
from vaultmem.memories.draft import Finding
from vaultmem.memories.item_answers import finding_id
from vaultmem.progress import report_to


def texts(vault: Path) -> str:
    """All text in memories, live or archived."""
    return "\n".join(data.decode() for data in files(vault, "vaultmem").values())


def test_a_dream_files_what_is_plain_and_says_why(vault: Path, opened: Vault, write: Write) -> None:
    write("Mine.md", "[[Nowhere]] and dark mode")
    opened.sync()
    outside = {
        path: data for path, data in files(vault).items() if not path.startswith("vaultmem/")
    }
    for fact in FACTS:
        opened.write(fact)
    before = files(vault)
    shown = opened.dream(1, dry_run=True)
    assert files(vault) == before
    done = opened.dream(1)
    assert [c["target"] for c in done["changes"]] == [c["target"] for c in shown["changes"]]
    filed = {m["content"]: m["category"] for m in opened.memories()}
    assert filed[FACTS[0]] == "preferences"
    assert filed[FACTS[1]] == "decisions"
    assert filed[FACTS[3]] == "lessons"
    assert all(change["why"] for change in done["changes"])
    assert not opened.dream(1)["changes"]
    assert not opened.dream(3)["changes"]
    now = files(vault)
    assert {path: now[path] for path in outside} == outside


def test_what_was_undone_is_not_done_again(opened: Vault, vault: Path) -> None:
    one = opened.write(FACTS[0])
    opened.dream(1)
    opened.undo(last=True)
    assert not opened.dream(1)["changes"]
    assert opened.read(one["id"])["category"] == "inbox"
    opened.tag(one["id"], "ui")
    (vault / one["path"]).write_text((vault / one["path"]).read_text() + "more of it\n")
    os.utime(vault / one["path"], (time.time() - 86_400,) * 2)
    assert opened.dream(1)["changes"]


class Heard:
    """A Progress that remembers its stages: name, total, done."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int, int]] = []

    def stage(self, name: str, total: int) -> None:
        self.stages.append((name, total, 0))

    def advance(self, count: int = 1) -> None:
        name, total, done = self.stages[-1]
        self.stages[-1] = (name, total, done + count)


@pytest.mark.parametrize("by_agent", [False, True])
def test_a_dream_reports_its_progress(vault: Path, opened: Vault, by_agent: bool) -> None:
    for fact in FACTS[:3]:
        opened.write(fact)
    heard = Heard()
    with agent_for(vault) if by_agent else nullcontext(), report_to(heard):
        opened.dream(2)
    names = {name for name, _, _ in heard.stages}
    if by_agent:  # which does not forward every line
        assert names
    else:
        assert names == {"filing", "comparing", "writing"}
        assert all(done == total for _, total, done in heard.stages)


def test_findings_without_ids_of_an_earlier_version_stop_no_dream(opened: Vault) -> None:
    one = opened.write(FACTS[0])
    ledger = Ledger(opened.state.path("ledger.db"))
    old: Finding = {"kind": "unsure", "subject": one["path"], "said": "nothing tells", "others": []}
    reads.keep_findings(ledger, ["unsure"], [old], 0.0)
    opened.dream(3)
    assert all(row["ids"] for row in reads.findings(ledger))


def test_merging_keeps_every_word_and_every_link(vault: Path, opened: Vault) -> None:
    text = "The release needs a tag, a changelog, a green build and two reviews before it goes out, and a cake for all"
    a = opened.write(text, category="project")
    b = opened.write(text + "\n\nand somebody has to hum\n", category="project", tags=["hum"])
    c = opened.write(f"See [[{b['title']}]] before Friday", category="project")
    words = set(texts(vault).split())
    opened.read(a["id"])
    opened.dream(2)
    alive = {m["id"]: m for m in opened.memories()}
    assert set(alive) == {a["id"], c["id"]}
    assert "somebody has to hum" in alive[a["id"]]["content"]
    assert alive[a["id"]]["tags"] == ["hum"]
    assert a["id"] in alive[c["id"]]["links"] or a["title"] in alive[c["id"]]["content"]
    assert {word for word in words if word.isalpha()} <= set(texts(vault).split())
    assert not opened.dream(2)["changes"]


def test_a_contradiction_waits_until_it_is_answered_or_edited(
    opened: Vault, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dream compares only what is a few days old, but its earlier findings must stay."""
    monkeypatch.setenv("VAULTMEM_NOW", str(time.time() - 60))
    older = opened.write("Project Atlas uses Postgres 14.")["id"]
    monkeypatch.delenv("VAULTMEM_NOW")
    newer = opened.write("Project Atlas uses Postgres 16.")["id"]
    opened.dream(3)
    for days in (10, 40):
        monkeypatch.setenv("VAULTMEM_NOW", str(time.time() + days * 86_400))
        opened.dream(3)
        assert [one["id"] for one in opened.waiting()["findings"]] == [newer]
        path = vault / opened.read(newer)["path"]
        path.rename(path.with_name(f"Renamed {days}.md"))
        opened.sync()
        assert opened.waiting()["findings"][0]["subject"].endswith(f"/Renamed {days}.md")
    (finding,) = opened.waiting()["findings"]
    question = finding_id({"kind": "contradiction", "subject": "", "ids": [newer, older]})
    for state, is_open in (("dropped", False), ("open", True)):
        opened.ask("answer", id=question, state=state)
        assert opened.waiting()["findings"] == [finding] * is_open
    opened.delete(older)
    assert not opened.waiting()["findings"]
    opened.restore(older)
    assert opened.waiting()["findings"] == [finding]
    opened.edit(newer, "Project Birch uses Postgres 16.")
    opened.dream(3)
    assert not opened.waiting()["findings"]
