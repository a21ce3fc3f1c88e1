"""Memories through the Python API, on real folders: nothing is lost, nothing outside is touched, everything can be
undone."""

import time
from pathlib import Path

import pytest

from tests.cli_run import as_text, on, one_line
from tests.conftest import Write
from tests.memories_run import FACTS, files
from tests.tables import each_case
from vaultmem import Vault
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError


@each_case(
    "about, says",
    [
        ({"content": ""}, "empty"),
        ({"content": " \n\t\n"}, "empty"),
        ({"content": "a\x00b"}, "U+0000 at character 2"),
        ({"content": "a\x1b[31mb"}, "control character"),
        ({"content": "x" * 1_000_000}, "at most 262,144"),
        ({"content": "x" * 1_000_000}, "ingest --text cut parts of 160,000 bytes"),
        ({"content": "x", "category": "peple"}, "did you mean people"),
        ({"content": "x", "scope": "team"}, "not a scope"),
        ({"content": "x", "decay": "never"}, '"decay" must be one of'),
        ({"content": "x", "tags": ["two words"]}, "not a tag"),
        ({"content": "x", "expires": "someday"}, '"expires" must be'),
        ({"content": "x", "expires": "2020-01-01"}, "is over"),
        ({"content": "x", "project": "a\nb"}, "one line"),
        ({"content": "x", "replaces": "nothing-like-it"}, "Memory not found"),
    ],
)
def test_what_cannot_be_a_memory_is_refused_and_nothing_is_written(
    vault: Path, opened: Vault, about: dict[str, object], says: str
) -> None:
    with pytest.raises(VaultmemError, match=says.replace("+", r"\+")) as caught:
        opened.write(**about)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert not files(vault)


def test_titles_are_unique_in_the_whole_vault(opened: Vault, write: Write) -> None:
    write("Projects/Roof.md", "a note of mine")
    first = opened.write("Roof\nneeds slates")
    second = opened.write("roof\nneeds a ladder")
    titles = {"roof", first["title"].lower(), second["title"].lower()}
    assert len(titles) == 3
    opened.sync()
    third = opened.write("ROOF\nneeds nails")
    assert third["title"].lower() not in titles


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (".obsidian/app.json", '{"userIgnoreFilters": ["vaultmem/"]}'),
        ("logseq/config.edn", '{:hidden ["/vaultmem"]}'),
    ],
)
def test_memories_are_found_where_the_editor_hides_their_folder(
    opened: Vault, write: Write, settings: str, text: str
) -> None:
    write(settings, text)
    write("pages/Femi.md", "alias:: Femi Adeyemi\n\n- a friend\n")
    opened.sync()
    own = opened.write("Femi Adeyemi\nis allergic to hazelnuts")
    is_alias_a_name = settings.startswith("logseq")
    assert (own["title"] == "Femi Adeyemi") is not is_alias_a_name
    opened.sync()
    assert [one.path for one in opened.search("hazelnuts")] == [own["path"]]


def test_of_a_long_text_only_what_is_new_and_matters_becomes_memories(opened: Vault) -> None:
    minutes = (
        "Anne and Berit met in Lisbon on 3 May 2026 and agreed that the release of vaultmem 2.0 waits for the new "
        "index format. I prefer short meetings, and I always want the minutes the same day, in plain text, please.\n\n"
        "The budget of 4,000 euros for the workshop in October was approved by Carla, who also found the room, and "
        "the deploy branch will be `release/2.0` from now on, as decided with the platform team and with Daniel.\n"
    )
    said = opened.ingest_text(minutes, session_id="s1", source="meeting", by="claude")
    assert [part["result"] for part in said["parts"]] == ["new", "new"]
    assert said["parts"][0]["memory_type"] == "procedural"
    found = opened.memories()
    assert {m["source"] for m in found} == {"meeting"}
    assert all(m["importance"] >= 0.3 for m in found)
    assert opened.history()[0]["by"] == "claude"
    again = opened.ingest_text(minutes)
    assert [part["result"] for part in again["parts"]] == ["known", "known"]
    assert not again["changes"]
    dull = opened.ingest_text("it is what it is and so it goes on and on", dry_run=True)
    assert dull["dry_run"]


def test_a_memory_says_where_it_comes_from_and_who_recalled_it(
    vault: Path, opened: Vault, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("House/Roof.md", "# Roof\n\nSlate it is. The slates cost 3.50 a piece. Ask Femi.\n")
    old = opened.write("The slates cost 3.20", title="Price of slates")
    one = opened.write("The slates cost 3.50", source="House/Roof.md", replaces=old["id"])
    first = time.time() - 40 * 86_400
    for day in range(25):
        monkeypatch.setenv("VAULTMEM_NOW", str(first + day * 86_400))
        opened.read(one["id"], by="codex")
        opened.read(one["id"], by="codex")
    monkeypatch.delenv("VAULTMEM_NOW")
    opened.read(one["id"])
    known = opened.ask("read", id=one["id"], provenance=True, counts=False)
    assert known["drawn_from"] == {
        "path": "House/Roof.md", "sentence": "The slates cost 3.50 a piece.", "line": 3
    }  # fmt: skip
    assert [each["id"] for each in known["replaced"]] == [old["id"]]
    recalled = [(each["by"], each["times"]) for each in known["recalled"]]
    assert recalled == [("", 1), *[("codex", 2)] * 19], "the newest days"
    gone = opened.ask("read", id=old["id"], provenance=True, deleted=True)
    assert (gone["deleted"], gone["replaced_by"]) == (True, one["id"])
    with pytest.raises(UsageError, match="only you"):
        opened.ask("read", id=one["id"], provenance=True, by="codex")
    assert "recalled" not in opened.read(one["id"], by="codex")
    assert "codex" not in (vault / one["path"]).read_text()


def test_a_list_narrows_by_every_field(opened: Vault) -> None:
    a = opened.write(FACTS[0], agent="claude", project="x", tags="ui,dark", category="preferences")
    opened.write(FACTS[1], agent="codex", project="y", scope="agent:codex", everywhere=True)
    assert [m["id"] for m in opened.memories(agent="claude")] == [a["id"]]
    assert [m["id"] for m in opened.memories(tags=["UI"])] == [a["id"]]
    assert [m["id"] for m in opened.memories(phase="organized")] == [a["id"]]
    assert [m["project"] for m in opened.memories(everywhere=True)] == ["y"]
    assert len(opened.memories(scope="agent:codex")) == 1
    assert not opened.memories(until="2001-01-01")
    assert len(opened.memories(since="2001-01-01", limit=1)) == 1
    assert [m["id"] for m in opened.memories(words="MODE dark")] == [a["id"]]
    with pytest.raises(VaultmemError, match="must be a day"):
        opened.memories(since="soon")
    with pytest.raises(UsageError, match="from 1 to"):
        opened.memories(limit=0)


def test_a_list_comes_in_parts_and_says_what_there_is(opened: Vault) -> None:
    wrote = [opened.write(text)["id"] for text in FACTS[:3]]
    opened.write(FACTS[3], agent="codex", source="House/Roof.md:12", tags="work")
    opened.approve(opened.write(FACTS[4], agent="codex", source="roofing")["id"])
    parts = [opened.ask("list", offset=at, limit=2) for at in (0, 2, 4, 6)]
    assert [part["count"] for part in parts] == [2, 2, 1, 0]
    assert {part["total"] for part in parts} == {5}
    ids = [m["id"] for part in parts for m in part["memories"]]
    assert ids == [m["id"] for m in opened.memories()]
    said = [
        as_text(opened.path, "list", "--offset", str(at), "--limit", "2").err.strip()
        for at in (0, 4)
    ]
    assert said == ["vaultmem: 2 of 5 memories; --offset 2 lists more", "vaultmem: 1 of 5 memories"]
    assert set(wrote) < set(ids)
    facets = opened.ask("list", limit=1, category="people", facets=True)["facets"]
    assert facets == {"category": {"inbox": 5}, "agent": {"codex": 2}, "tags": {"work": 1}}
    assert [m["tags"] for m in opened.memories(unapproved=True)] == [["work"]]
    for name in ("Roof", "[[roof]]", "House/Roof.md", "Roof.md:3"):
        assert [m["tags"] for m in opened.memories(source=name)] == [["work"]], name


def test_reinforcing_is_for_those_that_can_be(opened: Vault) -> None:
    stable = opened.write(FACTS[0], decay="stable")
    fading = opened.write(FACTS[1], decay="contextual")
    learned = opened.write(FACTS[3], decay="reinforceable")
    with pytest.raises(
        VaultmemError, match=r"^Memory has stable decay policy, reinforcement has no effect$"
    ):
        opened.reinforce(stable["id"])
    with pytest.raises(
        VaultmemError, match=r"^Memory has contextual decay policy, reinforcement is not supported$"
    ):
        opened.reinforce(fading["id"])
    said = opened.reinforce(learned["id"])
    assert [*said] == ["id", "confidence", "last_reinforced_at"]
    assert said["confidence"] == 1.0


def test_each_undo_goes_one_change_back_each_redo_forward(vault: Path, opened: Vault) -> None:
    def memories() -> dict[str, bytes]:
        found = files(vault, "vaultmem").items()
        return {path: data for path, data in found if path.startswith("vaultmem/inbox/")}

    one, _ = opened.write(FACTS[0]), opened.write(FACTS[1])
    states = [memories()]
    for tag in ("ui", "dark", "old"):
        opened.tag(one["id"], tag)
        states.append(memories())
    for wanted in (states[2], states[1]):
        opened.undo(last=True)
        assert memories() == wanted
    opened.undo(redo=True)
    assert memories() == states[2]
    for wanted in (states[1], states[0]):
        opened.undo(last=True)
        assert memories() == wanted
    for wanted in states[1:]:
        opened.undo(redo=True)
        assert memories() == wanted
    with pytest.raises(VaultmemError, match="nothing to do again"):
        opened.undo(redo=True)


def test_what_was_removed_by_hand_comes_back_by_its_id(vault: Path, opened: Vault) -> None:
    one, other = opened.write(FACTS[0]), opened.write(FACTS[1])
    opened.delete(other["id"])
    kept = (vault / one["path"]).read_bytes()
    (vault / one["path"]).unlink()
    assert [each["id"] for each in opened.memories(deleted=True, by="codex")] == [other["id"]]
    listed = {each["id"]: each for each in opened.memories(deleted=True)}
    assert listed.keys() == {one["id"], other["id"]}
    assert listed[one["id"]]["content"] == one["content"]
    whys = [each["why"] for each in opened.history(one["id"][:8])]
    assert whys == ["removed outside vaultmem", f"write {one['title']}"]
    with pytest.raises(NoteNotFoundError, match=f"was deleted; vaultmem restore {one['id'][:8]} "):
        opened.read(one["id"])
    with pytest.raises(NoteNotFoundError, match="not found"):
        opened.restore(one["id"], by="codex")
    assert opened.restore(one["id"][:8])["id"] == one["id"]
    assert (vault / one["path"]).read_bytes() == kept
    assert [memory["id"] for memory in opened.memories(deleted=True)] == [other["id"]]
    with pytest.raises(VaultmemError, match="is not deleted"):
        opened.restore(one["id"])
    (vault / one["path"]).unlink()
    (removal, *_) = [each for each in opened.history() if "removed outside" in each["why"]]
    opened.undo(removal["commit"])
    assert (vault / one["path"]).read_bytes() == kept
    with pytest.raises(NoteNotFoundError, match="not found"):
        opened.restore("Never there")


def test_a_copy_in_the_archive_is_not_restored(vault: Path, opened: Vault) -> None:
    one = opened.write(FACTS[0])
    copy = vault / "vaultmem/archive/copy.md"
    copy.parent.mkdir()
    copy.write_bytes((vault / one["path"]).read_bytes())
    with pytest.raises(
        VaultmemError, match=f"it is {one['path']}, and {copy.relative_to(vault)} is a copy"
    ):
        opened.restore(one["id"])


def test_an_undo_that_cannot_be_names_the_one_before_it(vault: Path, opened: Vault) -> None:
    opened.write(FACTS[1])
    one = opened.write(FACTS[0])
    opened.tag(one["id"], "ui")
    (vault / one["path"]).unlink()
    said = on(vault, "undo", "--last")
    before = opened.undo(last=True, dry_run=True)["before"]
    assert said.code == 1
    assert one_line(said).count(one["path"]) == 1
    assert one_line(said).endswith(f"; what was done before it: vaultmem undo {before[:8]}")
    assert on(vault, "undo", before[:8]).code == 0


def test_a_note_of_the_person_is_named_and_not_deleted(opened: Vault, write: Write) -> None:
    roof = write("House/Roof.md", "slates")
    opened.sync()
    opened.write("The roofer is called Marek", by="claude")
    for name in ("Roof", "House/Roof.md", "[[roof]]"):
        with pytest.raises(NoteNotFoundError, match=r"House/Roof\.md is a note of yours"):
            opened.delete(name)
    with pytest.raises(NoteNotFoundError, match="nothing has the id"):
        opened.delete("Roof", by="claude")
    assert roof.exists()
