"""The catalog: all or nothing, readers beside a writer, questions answered for real vaults."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from tests.conftest import Write
from tests.index_dump import synced
from vaultmem.api import Vault
from vaultmem.errors import DamagedError, StateError
from vaultmem.index import catalog_read
from vaultmem.index.catalog import Catalog, catalog_errors
from vaultmem.notes.dialects import Rulebook
from vaultmem.search import cache
from vaultmem.search.query import Filter
from vaultmem.text.values import normalize_text


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(str(tmp_path / "catalog.db"), create=True)


def test_a_missing_catalog_is_said(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="vaultmem sync"):
        Catalog(str(tmp_path / "none.db"))
    assert not (tmp_path / "none.db").exists()


def test_only_damage_to_the_file_is_reported_as_damage(catalog: Catalog) -> None:
    """Else a mistake in a statement would have every index built again, and hide the mistake."""
    for statement in ("SELECT nothing FROM notes", "SELECT * FROM nothing", "SELEC 1"):
        with pytest.raises(sqlite3.OperationalError), catalog_errors():
            catalog.db.execute(statement)
    for statement in ("SELECT json_extract('{', '$.a')", "SELECT CAST(x'4eff' AS TEXT)"):
        with pytest.raises(DamagedError, match="rebuild"), catalog_errors():
            catalog.db.execute(statement).fetchone()
    catalog.close()
    for content in (b"", b"no database" * 100):
        Path(catalog.path).write_bytes(content)
        for create in (False, True):
            with pytest.raises(DamagedError, match="rebuild"), catalog_errors():
                Catalog(catalog.path, create=create)


@pytest.mark.parametrize(
    ("whole", "damaged"), [(b"excluded", b"eycluded"), (b"TEXT NOT NULL", b"TEXT NOT NUL\xcc")]
)
def test_a_flipped_bit_in_a_table_is_damage(catalog: Catalog, whole: bytes, damaged: bytes) -> None:
    """Not a mistake in a statement: SQLite says that there is no such column, or quotes bytes that are no text."""
    catalog.close()
    path = Path(catalog.path)
    data = path.read_bytes()
    assert whole in data
    path.write_bytes(data.replace(whole, damaged))
    with pytest.raises(DamagedError, match="rebuild"), catalog_errors():
        Catalog(catalog.path)


def test_errors_of_sqlite_are_spoken(catalog: Catalog) -> None:
    catalog.db.execute("PRAGMA max_page_count = 1")
    with (
        pytest.raises(StateError, match="free some space") as full,
        catalog_errors(),
        catalog.transaction(),
    ):
        catalog.set_meta("a", "x" * 1_000_000)
    assert not isinstance(full.value, DamagedError)
    other = sqlite3.connect(catalog.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    catalog.db.execute("PRAGMA busy_timeout = 1")
    with (
        pytest.raises(StateError, match="another program"),
        catalog_errors(),
        catalog.transaction(),
    ):
        pass
    other.close()
    catalog.close()


@pytest.fixture
def opened(vault: Path, write: Write) -> Vault:
    write(
        "Plan.md",
        "---\naliases: [Scheme, 计划]\ntags: [work/deep, Ünïcode]\ndate: 2026-03-12\n---\n[[Nowhere]] [[plan]] [[Twin]]\n",
    )
    write("a/Twin.md", "---\nagent: Claude\nproject: 12\nglobal: true\n---\n#work")
    write("b/Twin.md", "[[Plan|x]]\n\n[[Scheme]]\n")
    write("2026-03-20.md", "[[Plan]] [[Plan]] #workshop #100%_x")
    write("ÄRGER.md", "trouble")
    synced(vault)
    return Vault(str(vault))


def by_looking_at_all(catalog: Catalog, name: str) -> list[str]:
    """The answer of find_notes(), computed from the names of all notes."""
    wanted = name.strip().removeprefix("[[").removesuffix("]]").strip().lstrip("/")
    wanted = normalize_text(wanted)
    whole, folded = normalize_text(name), wanted.lower()
    low = folded.removesuffix(".md") + ".md"
    rows = catalog.db.execute(
        "SELECT f.path, n.title FROM notes n JOIN files f ON f.id = n.id ORDER BY f.path"
    ).fetchall()
    stages = (
        [path for path, _ in rows if path == whole],
        [path for path, _ in rows if path in (wanted, wanted + ".md")],
        [path for path, _ in rows if path.lower() == low],
        [path for path, title in rows if folded in (title.lower(), Path(path).stem.lower())],
        [path for path, _ in rows if path.lower().endswith("/" + low)],
        catalog_read.alias_owners(catalog, wanted),
    )
    return next((found for found in stages if found), [])


ODD = [
    "100%_x", "100%", "a_c", "abc", "back\\slash", "Knee", "\u212aNEE", "\u212belvin", "\u0130stanbul", "\u03a3\u0399\u03a3", "straße", "STRASSE",
    "桥", "Plan.md", "dot.ted", "x\u0307y", "ÖÄÜ", "with 'quotes\"", "two  spaces", "Twin",
    "  blanks", "[[Twin]]", "[[Twin]]|x",
]  # fmt: skip


def test_finding_notes_equals_looking_at_all(vault: Path, write: Write) -> None:
    for number, name in enumerate(ODD):
        write(f"{'sub/' * (number % 3)}{name}.md", "text")
        write(f"titled/{number}.md", f"---\ntitle: {name!r}\naliases: [other {number}]\n---\n")
    write("sub/twin.md", "")
    write("b/Twin.md.md", "")
    synced(vault)
    with Vault(str(vault)) as opened:
        catalog = opened.searcher().catalog
        paths = [
            *catalog_read.note_paths(catalog),
            *ODD,
            "other 3",
            "OTHER 4",
            "",
            "/",
            ".md",
            "b/twin",
            "none",
            "x" * 60_000,
            "a\0b",
        ]
        for path in paths:
            bare = path.rpartition("/")[2].removesuffix(".md")
            for name in {
                path,
                bare,
                path.upper(),
                bare.upper(),
                path.lower(),
                bare.title(),
                f"[[{bare}]]",
                f"/{path}",
            }:
                assert catalog_read.find_notes(
                    catalog, name, frozenset(), lambda: Rulebook([])
                ) == by_looking_at_all(catalog, name), name


def test_a_pattern_fits_whatever_lower_makes_equal() -> None:
    db = sqlite3.connect(":memory:")
    cased = [c for c in map(chr, range(sys.maxunicode + 1)) if c.lower() != c or c.upper() != c]
    assert len(cased) > 2_000
    for c in [*cased, *"%_\\'桥"]:
        if c.encode("utf-8", "ignore"):
            text = f"a{c}b {c}"
            found = db.execute("SELECT ? LIKE ?", (text, catalog_read._maybe(text.lower())))
            assert found.fetchone() == (1,), repr(c)
    db.close()


FILTERS = {
    ("tag", "work"): {"Plan.md", "a/Twin.md"},
    ("tag", "WORK/"): {"Plan.md", "a/Twin.md"},
    ("tag", "work/deep"): {"Plan.md"},
    ("tag", "ünïcode"): {"Plan.md"},
    ("tag", "w*"): set(),
    ("tag", "[a-z]*"): set(),
    ("tag", "%"): set(),
    ("path", "TWIN"): {"a/Twin.md", "b/Twin.md"},
    ("path", "%"): set(),
    ("title", "lan"): {"Plan.md"},
    ("title", "ärg"): {"ÄRGER.md"},
    ("agent", "claude"): {"a/Twin.md"},
    ("project", "12"): {"a/Twin.md"},
    ("global", "1"): {"a/Twin.md"},
}


@pytest.mark.parametrize("wanted", FILTERS, ids=str)
def test_filters(opened: Vault, wanted: tuple[str, str]) -> None:
    with opened:
        catalog = opened.searcher().catalog
        paths = {
            note: path for path, note in catalog.db.execute("SELECT path, id FROM files").fetchall()
        }
        fitting = cache.filter_notes(catalog, [Filter(*wanted)])
        assert {paths[note] for note in fitting} == FILTERS[wanted]
        others = cache.filter_notes(catalog, [Filter(*wanted, negated=True)])
        assert others == catalog_read.ids(catalog, "SELECT id FROM notes") - fitting
        assert (
            cache.filter_notes(catalog, [Filter(*wanted), Filter(*wanted, negated=True)]) == set()
        )


DAYS = {
    "before": {"2024-03": True, "2024-02-29": False, "0000-01-01": False}, "after": {"2024-02-28": True, "2024-02": False},
    "from": {"2024-02-29": True, "2024": True, "2024-03": False}, "to": {"2024-02": True, "2023": False},
}  # fmt: skip


@pytest.mark.parametrize("hour", [0, 23])
def test_notes_without_a_day_have_that_of_their_file(opened: Vault, hour: int) -> None:
    with opened:
        catalog = opened.searcher().catalog
        note = catalog.db.execute("SELECT id FROM notes WHERE day IS NULL").fetchone()[0]
        written = int(datetime(2024, 2, 29, hour).astimezone().timestamp()) * 10**9
        catalog.db.execute("UPDATE files SET mtime_ns = ? WHERE id = ?", (written, note))
        for sign, fits in DAYS.items():
            for day, fit in fits.items():
                assert (note in cache.filter_notes(catalog, [Filter(sign, day)])) is fit, (
                    sign,
                    day,
                )


def test_another_process_leaves_what_is_open_here_in_place(tmp_path: Path) -> None:
    """Closing a file releases all locks that the process holds on it: reading the catalog a second time must not make
    another process believe that its log is no longer needed."""
    path = str(tmp_path / "catalog.db")
    read = "import sys; from vaultmem.index.catalog import Catalog; print(Catalog(sys.argv[1]).meta('one'))"

    def elsewhere() -> str:
        return subprocess.check_output([sys.executable, "-c", read, path], text=True).strip()

    with closing(Catalog(path, create=True)) as writer:
        Catalog(path).close()
        assert elsewhere() == "None"
        writer.set_meta("one", "two")
        assert elsewhere() == "two"
