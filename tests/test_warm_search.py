"""A searcher that stays open answers as one that is opened anew, and its snippets mark the words that were searched; who keeps
which index open, and for how long."""

import os
import random
import re
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import Write, fill
from tests.index_dump import synced
from tests.laws import some
from tests.mounting import mounts, runs_with_mounts
from vaultmem import Filter, Vault
from vaultmem.agent.pool import Pool, WarmSearcher
from vaultmem.index.keyword import analyzer, words
from vaultmem.search import snippet
from vaultmem.search.query import Answer, Ask
from vaultmem.search.search import Searcher
from vaultmem.search.snippet import STEM_ENDING, Marker, NoteTexts
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
    return NoteTexts(str(fill(vault, {"sub/n.md": "one"})))


def test_a_note_that_did_not_change_is_read_once(texts: NoteTexts, opened_files: list[str]) -> None:
    for _ in range(3):
        assert texts.read(["sub/n.md", "sub/n.md", "none.md"])["sub/n.md"] == "one"
    assert opened_files.count("sub/n.md") == 1


@pytest.mark.usefixtures("never_settled")
def test_a_fresh_file_is_read_again(vault: Path, opened_files: list[str]) -> None:
    """It may change within the same tick of the clock."""
    (vault / "n.md").write_text("one")
    texts = NoteTexts(str(vault))
    for _ in range(2):
        assert texts.read(["n.md"]) == {"n.md": "one"}
    assert opened_files == ["n.md", "n.md"]


def test_nothing_remembered_passes_a_link(texts: NoteTexts, vault: Path, tmp_path: Path) -> None:
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


def test_a_moved_note_is_found_while_its_old_words_go(vault: Path, opened: Vault) -> None:
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


# --- Snippets


PHRASES = st.lists(
    st.sampled_from(
        ["apple", "Apple", "roof", "x", "桥", "计划", "é", "a-b", "\n", "\t", "…", "word" * 90]
    ),
    max_size=120,
)


@given(
    PHRASES.map(" ".join) | st.text(max_size=600),
    st.sets(st.sampled_from(["apple", "roof", "桥", "é", "none"])),
    st.integers(60, 400),
)
def test_laws(text: str, wanted: set[str], width: int) -> None:
    shown = Marker(wanted, lambda word: [word.rstrip("s")]).snippet(text, width)
    flat = " ".join(text.split())
    bare = shown.text.removeprefix("…").removesuffix("…") if shown.text not in flat else shown.text
    assert "".join(bare.split()) in "".join(flat.split())
    assert len(shown.text) <= width + 2
    assert "\n" not in shown.text
    end = 0
    for start, stop in shown.marks:
        assert end <= start < stop <= len(shown.text)
        end = stop
        assert shown.text[start:stop].lower().strip("s") in wanted or any(
            w in shown.text[start:stop].lower() for w in wanted
        )
    if not wanted & {w for w in ("apple", "roof", "桥", "é") if w in flat.lower()}:
        assert shown.marks == []


ANALYZER = analyzer()
CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
WORD = re.compile(rf"[{CJK}✨]|[^\W{CJK}]+")
ENDINGS = "s es ies ed ing y ational ization fulness iveness ivity bility bly ency ably ally ical ment li".split()
ALPHABET = "✨aA sS_eé ñßİıſ中のが한ヿゟ゛Ωя-…\u0301１ｗ①Ⅳǅyingd\n "


def tokens(word: str) -> list[str]:
    return list(ANALYZER.analyze(words(word)))


@example("✨ apples", random.Random(0))
@example("İ✨", random.Random(0))
@given(st.text(ALPHABET, max_size=60) | st.text(max_size=200), st.randoms())
def test_the_marked_words_are_all_whose_tokens_are_wanted(text: str, rng: random.Random) -> None:
    words = WORD.findall(text)
    wanted = {token for word in rng.sample(words, min(3, len(words))) for token in tokens(word)}
    shown = Marker(wanted, tokens).snippet(text, width=10_000)
    marked: set[int] = set()
    for match in WORD.finditer(shown.text):
        if wanted & set(tokens(match[0].lower())):
            marked.update(range(*match.span()))
    assert {place for mark in shown.marks for place in range(*mark)} == marked


def test_no_stem_ends_otherwise_than_words_are_looked_for() -> None:
    vocabulary = (resources.files("vaultmem") / "data/minilm/vocab.txt").read_text("utf-8").split()
    plain = [word for word in vocabulary if word.isascii() and word.isalnum()]
    plain += [word + ending for word in plain[::7] for ending in ENDINGS]
    for word in plain:
        for token in ANALYZER.analyze(word):
            assert word.startswith(token[: max(1, len(token) - STEM_ENDING)]), word


@pytest.fixture
def pool(vault: Path, write: Write) -> Iterator[Pool]:
    write("Roof.md", "slate\n")
    synced(vault)
    with Vault(str(vault)) as opened:
        pool = Pool(opened.path, opened.config)
    yield pool
    pool.close()


def is_open(searcher: WarmSearcher) -> bool:
    try:
        searcher.catalog.version()
    except sqlite3.ProgrammingError:
        return False
    return True


def replace(vault: Path, pool: Pool) -> None:
    Vault(str(vault)).sync(rebuild=True)
    pool.replaced()


def test_a_replaced_index_is_let_go_at_once(vault: Path, pool: Pool) -> None:
    with pool.by_meaning() as by_meaning, pool.searcher() as by_keyword:
        pass
    replace(vault, pool)
    assert not is_open(by_meaning)
    assert not is_open(by_keyword)
    with pool.by_meaning() as fresh:
        assert fresh.search(Ask("slate")).results


def test_while_it_is_lent_it_stays_open_and_then_is_let_go(vault: Path, pool: Pool) -> None:
    with pool.by_meaning() as lent:
        replace(vault, pool)
        assert lent.search(Ask("slate")).results
    assert not is_open(lent)


def test_every_replaced_searcher_is_closed(vault: Path, pool: Pool) -> None:
    seen: set[WarmSearcher] = set()
    ended = threading.Event()

    def borrow() -> None:
        while not ended.is_set():
            with pool.by_meaning() as searcher:
                seen.add(searcher)
                assert is_open(searcher)

    threads = [threading.Thread(target=borrow) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(200):
        pool.replaced()
        if number % 20 == 0:
            replace(vault, pool)
    ended.set()
    for thread in threads:
        thread.join()
    assert len(seen) > 1
    pool.replaced()
    assert not any(is_open(searcher) for searcher in seen)


UNWRITABLE = """
import os, subprocess, sys
from pathlib import Path
from vaultmem import Vault
from vaultmem.agent.pool import Pool
from vaultmem.search.query import Ask

vault, state = sys.argv[1:]
os.environ["VAULTMEM_STATE"] = state
with Vault(vault) as opened:
    opened.sync()
    pool = Pool(opened.path, opened.config)

    def found():
        with pool.searcher() as searcher:
            return [one.path for one in searcher.search(Ask("slate")).results]

    assert found() == ["Roof.md"]
    Path(vault, "Wall.md").write_text("slate, too")
    opened.sync()
    pool.changed()
    subprocess.run(["mount", "--bind", state, state], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", state], check=True)
    assert found() == found() == ["Roof.md"]
    subprocess.run(["umount", state], check=True)
    assert sorted(found()) == ["Roof.md", "Wall.md"]
"""


@mounts
def test_an_unwritable_state_still_answers(vault: Path, write: Write, tmp_path: Path) -> None:
    """Tantivy makes a lock file before it reads what is new, and a disk may have become read-only."""
    write("Roof.md", "slate\n")
    (tmp_path / "state").mkdir()
    runs_with_mounts(UNWRITABLE, vault, tmp_path / "state")
