"""`recall` through its doors: what is returned, what is not, and that this counts as reading."""

import re
import shlex
import threading
from pathlib import Path

import pytest

from tests.cli_run import on, ran
from tests.conftest import Write
from tests.index_dump import synced
from tests.recalled import WORDS, knowing, titles
from vaultmem import Vault
from vaultmem.api.rpc import Reader, carry_out
from vaultmem.pending.open_store import open_store

__all__ = ["knowing"]  # fixtures


def test_a_reminder_is_recalled_with_its_time(vault: Path) -> None:
    with Vault(str(vault)) as opened:
        made = opened.remind("water the orchids every friday at 9")
        due = f"reminds on {made['remind'].replace('T', ' ')}, every week on Friday"
        opened.sync()
        (recalled,) = opened.recall("orchids", **WORDS)["memories"]  # type: ignore[misc]
        assert recalled["repeat"] == "every week on Friday"
        told = on(vault, "recall", "orchids", "--without", "meaning").out
        assert f", {due}) water the orchids" in told
        opened.delete(made["id"])
        gone = on(vault, "recall", "orchids", "--without", "meaning").out
        assert "reminds on" not in gone


ABOUT_ME = ("what do you know about me?", "user profile", "Wer bin ich?", "我的情况")


@pytest.mark.parametrize("query", ABOUT_ME)
def test_a_question_about_the_person_as_such_finds_what_is_about_them(
    vault: Path, query: str
) -> None:
    with Vault(str(vault)) as opened:
        for text in ("Allergic to penicillin", "I live in Porto", "The deploy script is ship.sh"):
            opened.write(text, title=text)
        opened.sync()
    assert {*titles(vault, query)} == {"Allergic to penicillin", "I live in Porto"}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [("座位", {"Seat"}), ("喜欢坐的座位", {"Seat"}), ("座", {"Seat", "Stars"}), ("靠窗 票", {"Seat", "Ticket"}), ("とうきょう", {"Tokyo"})],
)  # fmt: skip
def test_one_character_of_a_word_is_not_shared(
    vault: Path, write: Write, query: str, wanted: set[str]
) -> None:
    write("Seat.md", "我要靠窗的座位。\n")
    write("Stars.md", "他在其位，不谋星座。\n")
    write("Ticket.md", "门票在抽屉里。\n")
    write("Tokyo.md", "とうきょうにすむ\n")
    write("Kana.md", "うどんをたべた\n")
    synced(vault)
    assert {*titles(vault, query)} == wanted


def test_a_line_that_is_split_into_blocks_is_recalled_once(vault: Path, write: Write) -> None:
    long = " ".join(f"The boiler hums in way {number}." for number in range(120))
    write("Hums.md", f"# Boiler\n\nIt hums.\n\n{long}\n")
    synced(vault)
    text = ran("recall", "boiler hums", "--vault", str(vault), "--format", "text").out
    assert (text.count("in way 5."), text.count("It hums.")) == (1, 1)


def test_the_person_hears_which_scopes_were_left_out_and_how_to_see_them(knowing: Path) -> None:
    with Vault(str(knowing)) as opened:
        opened.write("The boiler of Reto is old", scope="user:reto smith", title="Reto")
        opened.write("The kettle whistles", scope="user:tea", title="Kettle")
        opened.write("The boiler is mute", scope="user:mute", title="Mute")
        opened.write("The boiler sang in a chat", scope="conversation:c1", title="Sang")
        private = knowing / opened.read("Mute")["path"]
        private.write_text(private.read_text().replace("---\n", "---\nprivate: true\n", 1))
        opened.sync()
    why = "2 answers of other scopes left out; recall with --scope agent:claude --scope 'user:reto smith' includes them"
    ended = on(knowing, "recall", "boiler", "--without", "meaning")
    assert why in ended.err
    assert "Anne" not in ended.out
    named = shlex.split(why.partition("with ")[2].partition(" tells")[0])
    told = on(knowing, "recall", "boiler", "--without", "meaning", *named)
    assert "left out" not in told.err
    assert "The boiler of Anne leaks" in told.out
    assert "The boiler of Reto is old" in told.out
    with Vault(str(knowing)) as opened:
        assert opened.recall("boiler", **WORDS)["remarks"] == [why]  # type: ignore[misc]
        for by in ("codex", "user:tea"):  # nobody else gets them
            assert "remarks" not in opened.recall("boiler", by=by, **WORDS)  # type: ignore[misc]
        assert "remarks" not in opened.recall("hums", **WORDS)  # type: ignore[misc]


def test_what_another_assistant_wrote_is_told_when_it_is_approved_or_asked_for(
    knowing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for by in (
        {},
        {"by": "codex"},
        {"by": "claude"},
    ):  # the person, its writer, another with a name
        assert "Bleach" in titles(knowing, top_k=20, **by)
    monkeypatch.setenv("VAULTMEM_RECALL_TRUST", "own")
    with Vault(str(knowing)) as opened:

        def told(**how: object) -> list[str]:
            found = opened.recall("boiler", by="claude", top_k=20, **how, **WORDS)  # type: ignore[misc, arg-type]
            return [one["title"] for one in found["memories"]]

        assert "Bleach" not in told()
        assert "Bleach" in told(untrusted=True)
        found = opened.recall("boiler", by="claude", notes=False, **WORDS)  # type: ignore[misc]
        assert found["left_out"] == {"untrusted": 2}
        opened.upgrade("Bleach", category="knowledge", by="codex")
        assert "Bleach" not in told()
        assert opened.approve("Bleach")["approved"] == 1
        assert "Bleach" in told()


def test_what_has_no_words_of_its_own_is_not_told(knowing: Path, write: Write) -> None:
    write("A.md", "# Boilers\n\n![[Boilers.base#Gas]]\n\n- ![](boiler.jpg)\n")
    write("C.md", "---\nmaker: Boiler Works\nfuel:\nparts: []\n---\n")
    write("D.md", "# The boiler is green\n")
    write("E.md", "![the boiler in May](boiler.jpg)\n")
    write("F.md", "\n")
    write("G.md", "---\n---\n\n")
    with Vault(str(knowing)) as opened:
        opened.sync()
        answer = opened.recall("boiler boilers", notes=True, top_k=30, **WORDS)["memories"]  # type: ignore[misc]
    own = {one["path"]: one["content"] for one in answer if len(one["path"]) == len("A.md")}
    assert own == {
        "C.md": "maker: Boiler Works", "D.md": "# The boiler is green", "E.md": "![the boiler in May](boiler.jpg)",
    }  # fmt: skip


def test_the_state_of_an_outline_is_not_told(vault: Path, opened: Vault, write: Write) -> None:
    (vault / "logseq").mkdir()
    write("logseq/config.edn", "{}")
    write(
        "pages/Boat.md",
        "- The boat lies in Whitby harbour\n  id:: 6734b1a0-3f52-4c1e-9d27-0a5b8c11e204\n  collapsed:: true\n"
        "  :LOGBOOK:\n  CLOCK: [2026-11-20 Fri 10:00:00]\n  :END:\n"
        "\t- created_at:: 1609237391135\n\t  card-repeats:: 3\n\t  hl-color:: red\n\t  Its mast is oak, berth:: 14\n\t  berth:: 14\n",
    )
    synced(vault)
    (told,) = opened.recall("where does the boat lie?")["memories"]
    (shown,) = opened.search("whitby harbour")
    for text in (told["content"], shown.snippet):
        assert not re.search("id::|collapsed|created|card|color|CLOCK|:END:", text)
        assert "oak, berth:: 14" in text
        assert len(re.findall("berth:: 14", text)) == 2
    write(
        "pages/Mill.org", "* The mill\n:PROPERTIES:\n:id: x\n:miller: Tom\n:END:\nIt grinds rye\n"
    )
    synced(vault)
    (mill,) = opened.recall("what does the mill grind?")["memories"]
    assert mill["content"] == "* The mill\n:miller: Tom\nIt grinds rye"
    own = opened.write("The dinghy lies in Whitby, too", category="knowledge")
    page = vault / own["path"]
    page.write_text(f"{page.read_text('utf-8')}id:: {'0' * 36}\ncollapsed:: true\n", "utf-8")
    synced(vault)
    (mine,) = opened.recall("where is the dinghy?", notes=False)["memories"]
    assert mine["content"] == "The dinghy lies in Whitby, too"
    (why,) = opened.write("The dinghy lies in Scarborough now")["contradicts"]
    assert "id::" not in why["why"]


@pytest.mark.parametrize("front", ["private: true", "private: true\ncategory: knowledge\nid: m-1"])
def test_an_assistant_learns_of_nothing_private(opened: Vault, write: Write, front: str) -> None:
    write("Open.md", "The roof leaks.\n")
    write("vaultmem/knowledge/Trip.md", f"---\n{front}\n---\nThe zanzibar trip is secret.\n")
    opened.sync()
    probe, other = (
        opened.recall(query, by="codex", explain=True, **WORDS)  # type: ignore[misc]
        for query in ("zanzibar", "kangaroo")
    )
    assert probe == other
    assert opened.recall("zanzibar", **WORDS)["left_out"] == {"private": 1}  # type: ignore[misc]


def test_types_and_importance_and_compression(vault: Path, opened: Vault, write: Write) -> None:
    for name, head in {
        "Told": "memory_type: episodic", "Dull": "importance: 0.1", "Old": "compressed: true\nsession_id: s1",
        "Alone": "compressed: true\nsession_id: s2", "Sum": "compression_source: true\nsession_id: s1",
        "Over": 'expires_at: "2001-01-01T00:00:00Z"', "Later": 'expires_at: "2999-01-01T00:00:00Z"',
    }.items():  # fmt: skip
        text = f"---\nid: {name}\n{head}\n---\nA heron stood there\n"
        write(f"vaultmem/knowledge/{name}.md", text)
    opened.sync()
    assert sorted(titles(vault, "heron")) == ["Alone", "Later", "Sum", "Told"]
    assert "Old" in titles(vault, "heron", include_compressed=True)
    assert {"Dull", "Old"} <= set(titles(vault, "heron", without=["meaning", "filters"]))
    episodic = titles(vault, "heron", types=["episodic"])
    assert "Told" in episodic
    assert "Dull" not in episodic
    for number in range(60):  # filters that bite do not empty the answer
        text = f"---\nid: d{number}\nimportance: 0.1\n---\negret egret egret\n"
        write(f"vaultmem/knowledge/d{number}.md", text)
    good = "---\nid: good\n---\nLong ago, on some wet day, an egret came by the river\n"
    write("vaultmem/knowledge/Good.md", good)
    opened.sync()
    assert titles(vault, "egret") == ["Good"]


def test_what_was_edited_since_is_told_as_it_is_now_and_counts_as_read(knowing: Path) -> None:
    with Vault(str(knowing)) as opened:
        for _ in range(2):
            opened.recall("boiler", top_k=9, **WORDS)  # type: ignore[misc]
        opened.recall("boiler", counts=False, **WORDS)  # type: ignore[misc]
        counted = {memory["title"]: memory["access_count"] for memory in opened.memories()}
    names = ("Boiler", "Short", "Hums", "Anne")
    assert [counted[name] for name in names] == [2, 0, 2, 0]
    file = knowing / "vaultmem" / "knowledge" / "Pressure.md"
    file.write_text(file.read_text().replace("1.4 bar", "1.9 bar"))
    with Vault(str(knowing)) as opened:
        told = opened.recall("boiler", **WORDS)["memories"]  # type: ignore[misc]
    assert "The boiler pressure sits at 1.9 bar" in [one["content"] for one in told]
    file.write_text(file.read_text().replace("---\n", "---\nprivate: true\n", 1))
    assert "Pressure" not in titles(knowing)


def test_a_recall_waits_for_nobody_at_the_desk(knowing: Path) -> None:
    with Vault(str(knowing)) as opened:
        store, reader = open_store(opened.state, opened.config), Reader(opened)
        told: list[object] = []

        def ask() -> None:
            own = open_store(opened.state, opened.config)
            told.append(carry_out(own, reader, "recall", {"query": "boiler", **WORDS}))

        with store.session(reader, writes=False):
            asked = threading.Thread(target=ask)
            asked.start()
            asked.join(60)
        assert told


def test_each_step_can_be_switched_off(knowing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {"recency", "confidence", "mmr", "preferences", "rerank"}
    with Vault(str(knowing)) as opened:
        for step in steps:
            found = opened.recall("boiler", explain=True, without=["meaning", step])
            off = {one["step"] for one in found["explain"] if one["did"] == "switched off"}
            assert off & steps == {step}
    monkeypatch.setenv("VAULTMEM_RECALL_RERANKER", "/nowhere")
    with Vault(str(knowing)) as opened:  # a reranker that is not there is skipped and named
        found = opened.recall("boiler", explain=True, **WORDS)  # type: ignore[misc]
    (did,) = [one["did"] for one in found["explain"] if one["step"] == "rerank"]
    assert "/nowhere is not a reranker" in did
    assert "/nowhere is not a reranker" in found["remarks"][-1]
    assert found["memories"]
    monkeypatch.setattr(
        "vaultmem.embedding.models.Reranker.scores",
        lambda _self, _question, texts: [9.0 if "bar" in text else -9.0 for text in texts],
    )
    alone = ["meaning", "preferences"]
    assert titles(knowing, without=alone)[0] == "Pressure"
    assert titles(knowing, without=alone, score_threshold=0.35) == ["Pressure"]


def test_notes_are_in_unless_unwanted_and_a_fitting_preference_is_first(knowing: Path) -> None:
    assert "Short" not in titles(knowing, top_k=9)
    query = "boiler, and how long are answers?"
    assert titles(knowing, query, top_k=2)[0] == "Short"
    found = titles(knowing, query, top_k=9)
    assert found[0] == "Short"
    assert {"Boiler", "Pressure", "Hums"} <= set(found[1:])
    with Vault(str(knowing)) as opened:
        for how, kinds in (({}, {"memory", "note"}), ({"notes": False}, {"memory"})):
            told = opened.recall("boiler", top_k=9, **how, **WORDS)["memories"]  # type: ignore[misc]
            assert {one["kind"] for one in told} == kinds
    words = ("recall", "boiler Ketley", "--vault", str(knowing), "--format", "text")
    assert "\n[SEMANTIC] House/Boiler.md:1: # Boiler\n" in ran(*words).out
    assert "Ketley" not in ran(*words, "--no-notes").out
