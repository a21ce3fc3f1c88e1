"""A searcher that stays open answers as one that is opened anew, whatever has been changed in between."""

import os
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.index_dump import synced
from tests.laws import some
from vaultmem import Filter, Vault
from vaultmem.search import snippet
from vaultmem.search.query import Answer, Ask
from vaultmem.search.search import Searcher
from vaultmem.search.snippet import NoteTexts
from vaultmem.vault import files
from vaultmem.vault.files import Inside

WORDS = "roof slate copper gutter ladder nail beam loft 屋顶 铜 Dachrinne Öfen the of and".split()
QUERIES = [
    "roof", "the slate of copper", '"copper gutter"', "ladder OR beam -loft", "屋顶", "öfen", "nai*", "coper", "tag:house nail",
    "path:sub roof", "after:2025 the", "tag:house", "title:note roof", "unheard", "category:people roof",
]  # fmt: skip


class Editor:
    """Changes a vault as its owner might."""

    def __init__(self, vault: Path, seed: int) -> None:
        self.vault = vault
        self.rng = random.Random(seed)
        self.clock = 1_700_000_000

    def text(self) -> str:
        rng = self.rng
        head = ""
        if rng.random() < 0.5:
            head = f"---\ndate: 202{rng.randint(4, 6)}-05-01\ntags: [{rng.choice(['house', 'work'])}]\n---\n"
        if rng.random() < 0.2:
            head = "---\nid: m1\ncreated_at: 2020-01-01\ncategory: project\n---\n"
        parts = (
            " ".join(rng.choices(WORDS, k=rng.randint(3, 60))) for _ in range(rng.randint(1, 6))
        )
        return head + "\n\n".join(f"## {rng.choice(WORDS)}\n\n{part}." for part in parts)

    def put(self, path: str) -> None:
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.text(), encoding="utf-8")
        self.clock += 60
        os.utime(file, (self.clock, self.clock))

    def paths(self) -> list[str]:
        return sorted(str(file.relative_to(self.vault)) for file in self.vault.rglob("*.md"))

    def change(self) -> None:
        """One of what happens to notes."""
        path = self.rng.choice(self.paths())
        kind = self.rng.randrange(5)
        if kind == 0:
            (self.vault / path).unlink()
        elif kind == 1:
            target = self.vault / f"sub/moved {self.rng.randrange(1000)}.md"
            (self.vault / path).rename(target)
        elif kind == 2:
            name = path.removesuffix(".md")
            shutil.copy(self.vault / path, self.vault / f"{name} (conflicted copy).md")
        else:
            self.put(path if kind == 3 else f"sub/deep/note {self.rng.randrange(1000)}.md")


def asked(searcher: Searcher) -> list[Answer]:
    kinds: list[dict[str, object]] = [
        {}, {"group": "block", "limit": 30}, {"filters": (Filter("to", "2025"),)}, {"min_confidence": 0.0}
    ]  # fmt: skip
    return [searcher.search(Ask(text, **kind)) for text in QUERIES for kind in kinds]  # type: ignore[arg-type] # tests


@pytest.mark.parametrize("seed", range(some(2)))
def test_warm_equals_fresh(vault: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SETTLED_NS", -(10**18))  # remember all, however fresh
    editor = Editor(vault, seed)
    for number in range(25):
        editor.put(f"{'sub/' if number % 3 else 'memory/'}note {number}.md")
    synced(vault)
    with Vault(str(vault)) as opened:
        warm = opened.searcher()
        for _ in range(4):
            for _ in range(4):
                editor.change()
            assert asked(warm) == fresh(opened), "edited, not yet synced"
            synced(vault)
            warm.refresh()
            should = fresh(opened)
            assert asked(warm) == should
            near = {text: warm.near(Ask(text)) for text in QUERIES}
            whole = {text: warm.search(Ask(text), texts=False).results for text in QUERIES}
            assert [*map(list, near.values())] == [
                [hit.path for hit in all_] for all_ in whole.values()
            ]


def fresh(vault: Vault) -> list[Answer]:
    searcher = Searcher(vault.path, vault.config)
    try:
        return asked(searcher)
    finally:
        searcher.close()


def test_threads_may_take_turns(vault: Path, opened: Vault) -> None:
    Editor(vault, 1).put("note.md")
    synced(vault)
    expected = asked(opened.searcher())
    for _ in range(3):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: asked(opened.searcher())).result() == expected


# Texts of notes


@pytest.fixture
def opened_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of notes in the order in which they are opened."""
    paths: list[str] = []
    real = Inside.open

    def open_and_tell(self: Inside, path: str) -> int:
        paths.append(path)
        return real(self, path)

    monkeypatch.setattr(Inside, "open", open_and_tell)
    return paths


@pytest.fixture
def texts(vault: Path, monkeypatch: pytest.MonkeyPatch) -> NoteTexts:
    monkeypatch.setattr(files, "SETTLED_NS", -(10**18))
    (vault / "sub").mkdir()
    (vault / "sub/n.md").write_text("one")
    return NoteTexts(str(vault))


def test_a_note_that_did_not_change_is_read_once(texts: NoteTexts, opened_files: list[str]) -> None:
    for _ in range(3):
        assert texts.read(["sub/n.md", "sub/n.md", "none.md"])["sub/n.md"] == "one"
    assert opened_files.count("sub/n.md") == 1


def test_same_size_and_time_are_not_enough_to_be_the_same(texts: NoteTexts, vault: Path) -> None:
    note = vault / "sub/n.md"
    before = note.stat()
    assert texts.read(["sub/n.md"]) == {"sub/n.md": "one"}
    changed = vault / "changed"
    changed.write_text("two")
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed.rename(note)
    assert texts.read(["sub/n.md"]) == {"sub/n.md": "two"}


def test_a_fresh_file_is_read_again(vault: Path, opened_files: list[str]) -> None:
    """It may change within the same tick of the clock."""
    (vault / "n.md").write_text("one")
    texts = NoteTexts(str(vault))
    for _ in range(2):
        assert texts.read(["n.md"]) == {"n.md": "one"}
    assert opened_files == ["n.md", "n.md"]


def test_what_is_remembered_is_not_shown_through_a_link(
    texts: NoteTexts, vault: Path, tmp_path: Path
) -> None:
    assert texts.read(["sub/n.md"]) == {"sub/n.md": "one"}
    (vault / "sub").rename(tmp_path / "elsewhere")
    (vault / "sub").symlink_to(tmp_path / "elsewhere")  # the very same file, outside of the vault
    assert texts.read(["sub/n.md"]) == {"sub/n.md": ""}
    (vault / "sub").unlink()
    (tmp_path / "elsewhere").rename(vault / "sub")
    assert texts.read(["sub/n.md"]) == {"sub/n.md": "one"}


@pytest.mark.parametrize("most", [("MOST_NOTES", 5), ("MOST_LETTERS", 400)])
def test_only_so_much_is_remembered(
    texts: NoteTexts,
    vault: Path,
    opened_files: list[str],
    monkeypatch: pytest.MonkeyPatch,
    most: tuple[str, int],
) -> None:
    monkeypatch.setattr(snippet, *most)
    names = [f"{number}.md" for number in range(20)]
    for name in names:
        (vault / name).write_text("x" * 80)
    texts.read(names)
    opened_files.clear()
    assert texts.read(names[-4:]) == dict.fromkeys(names[-4:], "x" * 80)
    assert opened_files == [], "the last ones are known"
    texts.read(names[:10])
    assert opened_files == names[:10], "the others were let go"
    assert texts.read(["sub/n.md"]) == {"sub/n.md": "one"}


def test_a_note_that_moved_is_found_while_its_old_words_are_being_removed(
    vault: Path, opened: Vault
) -> None:
    """Its rows are gone and marked, and the searcher has not seen the commit with its new place yet."""
    (vault / "Roof.md").write_text("slate\n")
    synced(vault)
    searcher = Searcher(opened.path, opened.config)
    (old,) = searcher.catalog.db.execute("SELECT id FROM files WHERE path = 'Roof.md'").fetchone()
    (vault / "Roof.md").rename(vault / "Attic.md")
    synced(vault)
    searcher.catalog.db.execute("INSERT INTO dirty VALUES (?)", (old,))
    assert [result.path for result in searcher.search(Ask("slate")).results] == ["Attic.md"]
    searcher.close()
