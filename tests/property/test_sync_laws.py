"""The law of sync for everything that people, editors and sync programs do to a vault: incremental equals rebuilt."""

import os
import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.index_dump import (
    DEFAULTS,
    SECOND,
    Clock,
    assert_equals_rebuilt,
    catalog_dump,
    generation,
    other_state,
    synced,
)
from tests.laws import examples
from vaultmem.index import indexer as indexer_module
from vaultmem.index.compare import Place
from vaultmem.index.indexer import Indexer
from vaultmem.index.sync import rules_of

UUID = "6734b1a0-3f52-4c1e-9d27-0a5b8c11e204"
NOTES = (
    "Note.md", "note.md", "a/Note.md", "a/b/Deep.md", "Plan.md", "计划.md", "café.md", "cafe\u0301.md", "a/b/Plan.MD",
    "pages/Page.md", "pages/a___b.md", "pages/Note.md", "journals/2026_11_21.md", "2026-11-20.md",
    "Plan.sync-conflict-20261103-081512-ABCDEFG.md", "a/Note (Conflicted copy Mac 202611211015).md",
    "vaultmem/people/Ann.md", "vaultmem/pending.md", "logseq/bak/Page.md", "Plan 2.md", "plan (1).md", "a/Note-MAC.md",
)  # fmt: skip
FILES = ("pic.png", "a/pic.png", "board.canvas")
FOLDERS = ("a", "a/b", "pages", "c", "c/d")
PARTS = (
    "A red apple, and a second apple.", "The roof of [[Note]] leaks.", "See [[Deep#Part|the deep]] and [[a/Note]].",
    "![[pic.png]]", "[label](pages/Page.md)", "[[Plan]] [[计划]] [[café]]", "[[Alias One]] is an alias of a note.",
    "[[a/b]] [[Nov 21st, 2026]] [[2026-11-20]]", "Point ((" + UUID + "))", f"- block of page\n  id:: {UUID}",
    "alias:: Alias One, Alias Two", "#tag #tag/sub #计划", "- [ ] roof task 📅 2026-12-01", "- TODO ring the bell",
    "## Heading bells\n\nbelling", "这座桥的计划。", "**Ann:** I said apple.\n\n**Ben:** Roof.", "`[[Plan]]` $[[Note]]$",
    "- parent\n\t- child apple\n\t\t- grandchild", "---\naliases: [late]\n---", "long " * 300, "\0", "",
)  # fmt: skip
FRONTS = (
    "", "", "---\naliases: [Alias One]\ntags: [x, y/z]\n---\n", "---\nalias: Alias Two\ndate: 2026-11-19\n---\n",
    "---\na: [\n---\n", "---\ncategory: people\nid: m1\nup: '[[Plan]]'\n---\n", "title:: Renamed\n",
)  # fmt: skip
IGNORED = ("", '{"userIgnoreFilters": ["a/"]}', '{"showUnsupportedFiles": true}')
HIDDEN = ("{}", '{:hidden ["/a"]}')

texts = st.builds(
    lambda front, parts: front + "\n\n".join(parts) + "\n",
    st.sampled_from(FRONTS),
    st.lists(st.sampled_from(PARTS), max_size=5),
)


class VaultMachine(RuleBasedStateMachine):
    """A vault on disk, a clock, and everything that happens to files."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="vaultmem-laws-"))
        self.root = self.place / "vault"
        self.clock = Clock(1_795_000_000 * SECOND)
        self.real_time = indexer_module.time
        indexer_module.time = self.clock  # type: ignore[attr-defined, assignment]
        self.trash: dict[Path, tuple[bytes, int]] = {}

    def teardown(self) -> None:
        try:
            if self.root.exists():
                self.sync()
        finally:
            indexer_module.time = self.real_time  # type: ignore[attr-defined]
            shutil.rmtree(self.place)

    @initialize(
        dialect=st.sampled_from(["obsidian", "logseq", "both"]),
        first=st.lists(texts, min_size=3, max_size=8),
    )
    def begin(self, dialect: str, first: list[str]) -> None:
        self.root.mkdir()
        if dialect != "logseq":
            (self.root / ".obsidian").mkdir()
        if dialect != "obsidian":
            self._put(self.root / "logseq" / "config.edn", "{}")
        for path, text in zip(NOTES[:: 2 if dialect == "obsidian" else 1], first, strict=False):
            self._put(self.root / path, text)
        synced(self.root)

    def _put(self, file: Path, text: str | bytes, mtime: int | None = None) -> None:
        if file.is_dir() or any(parent.is_file() for parent in file.parents):
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True) if file.is_symlink() else None
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        self._stamp(file, mtime)

    def _stamp(self, file: Path, mtime: int | None = None) -> None:
        at = self.clock.now if mtime is None else mtime
        os.utime(file, ns=(at, at))

    def _files(self) -> list[Path]:
        found = [p for p in sorted(self.root.rglob("*")) if p.is_file() and not p.is_symlink()]
        return [p for p in found if ".obsidian" not in p.parts and p.name != "config.edn"]

    def _pick(self, number: int) -> Path:
        files = self._files()
        return files[number % len(files)]

    @rule(path=st.sampled_from(NOTES), text=texts)
    def write(self, path: str, text: str) -> None:
        self._put(self.root / path, text)

    @rule(path=st.sampled_from(FILES))
    def add_file(self, path: str) -> None:
        self._put(self.root / path, b"\x89PNG")

    @rule(number=st.integers(0, 30), front=st.sampled_from(FRONTS))
    def change_properties(self, number: int, front: str) -> None:
        file = self._pick(number)
        body = file.read_bytes().rpartition(b"---\n")[2]
        self._put(file, front.encode() + body)

    @rule(number=st.integers(0, 30), part=st.sampled_from(PARTS))
    def append(self, number: int, part: str) -> None:
        file = self._pick(number)
        self._put(file, file.read_bytes() + b"\n" + part.encode())

    @rule(number=st.integers(0, 30))
    def edit_within_a_tick(self, number: int) -> None:
        """An edit with the same size and time, as with two quick saves under a coarse clock."""
        file = self._pick(number)
        before = file.stat().st_mtime_ns
        if self.clock.now - before > 1.9 * SECOND:
            return
        swapped = (
            file.read_bytes()
            .replace(b"apple", b"zzzzz")
            .replace(b"roof", b"bell")
            .replace(b"[[N", b"[[P")
        )
        self._put(file, swapped, before)

    @rule(number=st.integers(0, 30))
    def edit_keeping_size(self, number: int) -> None:
        file = self._pick(number)
        self._put(file, file.read_bytes().replace(b"bell", b"roof").replace(b"zzzzz", b"apple"))

    @rule(number=st.integers(0, 30))
    def replace_keeping_time(self, number: int) -> None:
        """As rsync and atomic saves do."""
        file = self._pick(number)
        new = file.with_name(".new")
        new.write_bytes(file.read_bytes().replace(b"apple", b"elppa"))
        self._stamp(new, file.stat().st_mtime_ns)
        new.replace(file)

    @rule(number=st.integers(0, 30))
    def touch(self, number: int) -> None:
        self._stamp(self._pick(number))

    @rule(number=st.integers(0, 30), to=st.sampled_from(NOTES))
    def rename(self, number: int, to: str) -> None:
        self._move(self._pick(number), self.root / to)

    @rule(number=st.integers(0, 30), folder=st.sampled_from(FOLDERS))
    def move_to_folder(self, number: int, folder: str) -> None:
        file = self._pick(number)
        self._move(file, self.root / folder / file.name)

    @rule(number=st.integers(0, 30))
    def change_case_only(self, number: int) -> None:
        file = self._pick(number)
        self._move(file, file.with_name(file.stem.swapcase() + file.suffix))

    @rule(number=st.integers(0, 30))
    def copy_in_conflict(self, number: int) -> None:
        file = self._pick(number)
        self._put(
            file.with_name(f"{file.stem}.sync-conflict-20261104-081512-ABCDEFG{file.suffix}"),
            file.read_bytes(),
        )

    @rule(folder=st.sampled_from(FOLDERS), to=st.sampled_from(("c", "e", "pages/x")))
    def rename_folder(self, folder: str, to: str) -> None:
        source, target = self.root / folder, self.root / to
        if source.is_dir() and source not in target.parents:
            self._move(source, target)

    def _move(self, source: Path, target: Path) -> None:
        if (
            target.is_dir()
            or source == target
            or any(parent.is_file() for parent in target.parents)
        ):
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)

    @rule(number=st.integers(0, 30))
    def delete(self, number: int) -> None:
        if len(self._files()) == 1:
            return
        file = self._pick(number)
        self.trash[file] = file.read_bytes(), file.stat().st_mtime_ns
        file.unlink()

    @precondition(lambda self: self.trash)
    @rule()
    def restore(self) -> None:
        file, (content, mtime) = self.trash.popitem()
        if not file.exists():
            self._put(file, content, mtime)

    @rule(name=st.sampled_from(("link.md", "a/link.md", "Plan.md")))
    def put_symlink(self, name: str) -> None:
        file = self.root / name
        if file.parent.is_dir() and not file.exists() and not file.is_symlink():
            file.symlink_to(self.root / "Note.md")

    @rule()
    def remove_symlinks(self) -> None:
        for link in [p for p in self.root.rglob("*") if p.is_symlink()]:
            link.unlink()

    @precondition(lambda self: (self.root / ".obsidian").exists())
    @rule(app=st.sampled_from(IGNORED))
    def change_obsidian_settings(self, app: str) -> None:
        self._put(self.root / ".obsidian" / "app.json", app)

    @precondition(lambda self: (self.root / "logseq").exists())
    @rule(config=st.sampled_from(HIDDEN))
    def change_logseq_settings(self, config: str) -> None:
        self._put(self.root / "logseq" / "config.edn", config)

    @rule(seconds=st.sampled_from((0.5, 3.0, 86400.0)))
    def wait(self, seconds: float) -> None:
        self.clock.now += int(seconds * SECOND)

    @rule(folders=st.booleans(), whole=st.booleans())
    def look_where_hints_say(self, folders: bool, whole: bool) -> None:
        """As the agent does: only touched paths are compared. Here every path was touched, existing or not."""
        rules = rules_of(str(self.root), DEFAULTS)
        with Indexer(str(self.root), str(generation(self.root)), rules, DEFAULTS) as indexer:
            if indexer.reread:
                return  # the agent then compares everything
            known = {row[0] for row in indexer.catalog.db.execute("SELECT path FROM files")}
            there = {p.relative_to(self.root).as_posix() for p in self.root.rglob("*")}
            tops = {path.partition("/")[0] for path in known | there if "/" in path}
            files = frozenset(p for p in known | there if whole or "/" not in p or not folders)
            place = Place(files, frozenset(tops if folders else ()))
            indexer.apply(indexer.differences(place))
            indexer.settle()
        self._equals_rebuilt()

    @rule(
        saves=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=4),
        settles=st.booleans(),
    )
    def save_beside_an_agent(self, saves: list[tuple[int, int]], settles: bool) -> None:
        """An index that stays open: while no path appears or disappears, only pairs of changed notes are judged."""
        rules = rules_of(str(self.root), DEFAULTS)
        with Indexer(str(self.root), str(generation(self.root)), rules, DEFAULTS) as indexer:
            indexer.run(confirmed=True)
            self._put(self.root / "c" / "Came.md", str(self.clock.now))
            self._look(indexer, "c/Came.md")
            indexer.settle()
            for number, like in saves:
                file = self._pick(number)
                self._put(file, self._pick(like).read_bytes() + b"x")
                self._look(indexer, file.relative_to(self.root).as_posix())
                if settles:
                    indexer.settle()
            indexer.settle()
        self._equals_rebuilt()

    def _look(self, indexer: Indexer, path: str) -> None:
        diff = indexer.differences(Place(frozenset([path])))
        indexer.apply(diff)

    def _equals_rebuilt(self) -> None:
        with other_state(self.place / "scratch"):
            synced(self.root, rebuild=True)
            wanted = catalog_dump(self.root)
        found = catalog_dump(self.root)
        for table in found.keys() - {"troubles"}:  # problems of a walk are reported by walks
            assert found[table] == wanted[table], table

    @rule()
    def sync(self) -> None:
        synced(self.root)
        assert_equals_rebuilt(self.root, self.place / "scratch")


TestVaultMachine = VaultMachine.TestCase
TestVaultMachine.settings = settings(
    max_examples=examples(40), stateful_step_count=25, suppress_health_check=list(HealthCheck)
)
