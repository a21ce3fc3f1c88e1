"""What sync promises, one promise a test; the laws over random histories are in property/test_sync_laws.py."""

import os
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Write, fill
from tests.index_dump import (
    DEFAULTS,
    SECOND,
    Clock,
    assert_equals_rebuilt,
    catalog_dump,
    generation,
    indexed_blocks,
    other_state,
    synced,
)
from tests.laws import examples
from vaultmem.api import Vault
from vaultmem.config import Config
from vaultmem.index import indexer as indexer_module
from vaultmem.index.catalog import Catalog
from vaultmem.index.indexer import Indexer
from vaultmem.index.sync import changes, sync
from vaultmem.notes.dialects import open_rulebook
from vaultmem.vault import files as reading

NOW = 1_795_000_000 * SECOND


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    told = Clock(NOW)
    monkeypatch.setattr(indexer_module, "time", told)
    return told


def stamped(file: Path, at: int) -> None:
    os.utime(file, ns=(at, at))


# --- what counts as a change


def test_a_settled_note_is_not_read_again(
    vault: Path, write: Write, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = write("Note.md", "apple")
    stamped(note, NOW)
    synced(vault)
    clock.now += 3 * SECOND
    synced(vault)  # was fresh when it was read, so it is read once more
    read: list[str] = []
    real = reading.read
    monkeypatch.setattr(reading, "read", lambda *given: read.append(given[1]) or real(*given))
    assert synced(vault).unchanged == 1
    assert read == []
    stamped(note, NOW + SECOND)
    assert synced(vault).changed == 0
    assert read == ["Note.md"]


def stopped_after(
    patch: pytest.MonkeyPatch, batches: int, vault: Path, config: Config = DEFAULTS
) -> None:
    """A sync that is killed when so many batches of one note have been written."""
    real, done = indexer_module.Indexer._apply, [0]

    def apply(self: Indexer, *given: Any) -> int:
        if done[0] == batches:
            raise KeyError
        done[0] += 1
        return real(self, *given)

    patch.setattr(indexer_module, "BATCH_NOTES", 1)
    patch.setattr(indexer_module.Indexer, "_apply", apply)
    with pytest.raises(KeyError):
        sync(str(vault), config)
    patch.undo()


def test_a_first_reading_that_is_killed_goes_on_where_it_was(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for number in range(6):
        stamped(write(f"Note {number}.md", "apple"), NOW - 60 * SECOND)
    with other_state(tmp_path / "state"):
        stopped_after(monkeypatch, 4, vault)
        assert synced(vault)[:4] == (2, 0, 0, 4)
        assert_equals_rebuilt(vault, tmp_path / "scratch")


def test_other_rules_reach_every_note_whatever_is_killed(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for number in range(6):
        text = "---\ncategory: people\nid: m1\n---\napple"
        stamped(write(f"mind/people/Note {number}.md", text), NOW - 60 * SECOND)
    mind = Config({"memory_folder": "mind"})
    with other_state(tmp_path / "state"):
        stopped_after(monkeypatch, 3, vault)  # the first reading, by other rules
        stopped_after(monkeypatch, 4, vault, mind)
        report = sync(str(vault), mind)
        assert report.added + report.changed == 6
        stopped_after(monkeypatch, 2, vault)
        assert synced(vault).changed == 6
        stopped_after(monkeypatch, 2, vault, mind)
        assert synced(vault).changed == 6, "two notes had been read by other rules meanwhile"
        assert_equals_rebuilt(vault, tmp_path / "scratch")


def test_a_sync_that_stops_before_its_end_is_finished_later(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write("Plan.md", "apple [[Fresh]]")
    synced(vault)
    write("Plan.sync-conflict-20261103-081512-ABCDEFG.md", "apple")
    write("Fresh.md", "apple")
    with monkeypatch.context() as patch:
        patch.setattr(indexer_module.Indexer, "_finish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            synced(vault)
    synced(vault)
    assert len(catalog_dump(vault)["conflicts"]) == 1
    assert_equals_rebuilt(vault, tmp_path / "scratch")


@pytest.mark.usefixtures("clock")
def test_changes_writes_nothing_and_agrees_with_sync(vault: Path, write: Write) -> None:
    for number in range(6):
        stamped(write(f"Note {number}.md", "apple"), NOW - 60 * SECOND)
    assert changes(str(vault), DEFAULTS).added == 6
    synced(vault)
    stamped(write("Note 1.md", "longer than before"), NOW - 60 * SECOND)
    (vault / "Note 2.md").unlink()
    stamped(write("Seven.md", "new"), NOW - 60 * SECOND)
    told, done = changes(str(vault), DEFAULTS), synced(vault)
    assert told[:4] == done[:4] == (1, 1, 1, 4)


def test_one_long_note_does_not_crowd_out_others(vault: Path, opened: Vault, write: Write) -> None:
    write("Long.md", "\n\n".join(f"## Part {n}\n\n" + "apple tree " * 90 for n in range(400)))
    for number in range(5):
        write(
            f"Short {number}.md",
            "There is one apple in a rather long sentence about something else.",
        )
    synced(vault)
    assert indexed_blocks(vault).total() > 400
    assert len(opened.search("apple")) == 6


# --- links


PATHS = (
    "A.md", "B.md", "a/B.md", "a/b/C.md", "b/C.md", "a/A.md", "计划.md", "pages/A.md", "pages/x___y.md",
    "journals/2026_11_21.md", "p.png",
)  # fmt: skip
LINKS = ("[[A]]", "[[b]]", "[[a/B]]", "[[./B]]", "[[../A]]", "[[/b/C]]", "[[C#h]]", "[[#own]]", "![[p.png]]", "[t](b/C.md)", "[[Nowhere]]",
         "[[计划|x]]", "[[x/y]]", "[[Nov 21st, 2026]]", "[[Alias]]", "#A", "alias:: Alias", "[[C.md]]", "[[b/C]]", "[[A]] [[A]]")  # fmt: skip
vaults = st.dictionaries(
    st.sampled_from(PATHS), st.lists(st.sampled_from(LINKS), max_size=6).map("\n".join), min_size=1
)


def made(root: Path, files: dict[str, str], marks: tuple[str, ...]) -> Path:
    for mark in marks:
        (root / mark).mkdir(parents=True)
    return fill(root, files | ({"logseq/config.edn": "{}"} if "logseq" in marks else {}))


class Resolver:
    """Finds the target of a link from the names in the catalog, without what the catalog says it is."""

    def __init__(self, root: Path) -> None:
        self.rules = open_rulebook(str(root), "auto")
        catalog = Catalog(f"{generation(root)}/catalog.db")
        self.names: dict[str, list[str]] = {}
        sql = "SELECT n.name, f.path FROM names n JOIN files f ON f.id = n.file ORDER BY f.path"
        for name, path in catalog.db.execute(sql):
            self.names.setdefault(name, []).append(path)
        sql = "SELECT f.path, l.ordinal, l.key FROM links l JOIN files f ON f.id = l.source"
        self.keys = {row[:2]: row[2] for row in catalog.db.execute(sql).fetchall()}
        catalog.close()

    def target(self, source: str, ordinal: int, path: str) -> tuple[object, ...]:
        key = self.keys[source, ordinal]
        if not key:
            return source, 0
        found = [self.names.get(name, []) for name in self.rules.lookups(key)]
        return tuple(self.rules.resolve(path, key, source, found))


@given(files=vaults, marks=st.sampled_from([(".obsidian",), ("logseq",), (".obsidian", "logseq")]))
@settings(max_examples=examples(30))
def test_backlinks_are_the_inverse_of_links(files: dict[str, str], marks: tuple[str, ...]) -> None:
    with TemporaryDirectory() as folder:
        root = made(Path(folder, "vault"), files, marks)
        synced(root)
        notes = [str(row[0]) for row in catalog_dump(root)["notes"]]
        resolver = Resolver(root)
        with Vault(str(root)) as opened:
            links = {note: opened.links(note) for note in notes}
            unresolved = [(one.name, one.source, one.line) for one in opened.unresolved()]
            backward = Counter(
                (link.source, note, link.line) for note in notes for link in opened.backlinks(note)
            )
    every = [(note, n, link) for note in notes for n, link in enumerate(links[note])]
    for note, ordinal, link in every:
        assert (link.target, link.choices) == resolver.target(note, ordinal, link.path)
    nowhere = [(link.path, note, link.line) for note, _, link in every if link.target is None]
    assert sorted(unresolved) == sorted(nowhere)
    # An alias in its own page is no reference (R-LS-9).
    forward = [(note, link.target, link.line) for note, _, link in every if link.kind != "self"]
    assert backward == Counter(each for each in forward if each[1] in notes)


# --- which dialect (R-DIAL-1)


def dialects(root: Path) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in catalog_dump(root)["notes"]}


def mixed(root: Path) -> Path:
    return fill(root, {
        "logseq/config.edn": "{}", ".obsidian/app.json": "{}", "Home.md": "[[Field kit]] [[Alias]] [[Other|x]]",
        "Other.md": "x", "pages/Field kit.md": "alias:: Alias\n\n- [[Home]] [[Nov 21st, 2026]]",
        "journals/2026_11_21.md": "- [[Other|x]] [[field KIT]] [[alias]]", "pages/sub/Deep.md": "- x", "Sub/pages/Not a page.md": "x",
    })  # fmt: skip


def test_a_mixed_vault_is_read_by_folder(tmp_path: Path) -> None:
    root = mixed(tmp_path / "v")
    synced(root)
    assert dialects(root) == {
        "Home.md": "obsidian", "Other.md": "obsidian", "Sub/pages/Not a page.md": "obsidian", "pages/Field kit.md": "logseq",
        "journals/2026_11_21.md": "logseq", "pages/sub/Deep.md": "logseq",
    }  # fmt: skip
    with Vault(str(root)) as opened:

        def targets(note: str) -> list[str | None]:
            return [link.target for link in opened.links(note)]

        # Obsidian's rules: an alias leads nowhere, the part after the bar is shown.
        assert targets("Home.md") == ["pages/Field kit.md", None, "Other.md"]
        # Logseq's rules: an alias leads to its page, a date to its journal, and there is no bar.
        assert targets("pages/Field kit.md")[-2:] == ["Home.md", "journals/2026_11_21.md"]
        assert targets("journals/2026_11_21.md") == [
            None,
            "pages/Field kit.md",
            "pages/Field kit.md",
        ]


@pytest.mark.parametrize("name", ["obsidian", "logseq"])
def test_the_setting_decides(tmp_path: Path, name: str) -> None:
    root = mixed(tmp_path / "v")
    sync(str(root), Config({"dialect": name}))
    assert set(dialects(root).values()) == {name}


def test_another_dialect_reads_everything_again(tmp_path: Path) -> None:
    root = mixed(tmp_path / "v")
    synced(root)
    (root / "logseq" / "config.edn").unlink()
    synced(root)
    assert set(dialects(root).values()) == {"obsidian"}
    assert_equals_rebuilt(root, tmp_path / "scratch")


def test_a_note_of_the_future_is_read_each_time(vault: Path, write: Write, clock: Clock) -> None:
    note = write("Note.md", "apple")
    for text in ("grape", "lemon"):
        stamped(note, NOW + 86400 * SECOND)
        synced(vault)
        note.write_text(text)
        stamped(note, NOW + 86400 * SECOND)
        clock.now += 60 * SECOND
        assert synced(vault).changed == 1
