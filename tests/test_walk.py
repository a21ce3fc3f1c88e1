"""The walk lists every visible file once, follows nothing and is stopped by nothing; copies made by sync programs are
recognised by their names, and people's notes are never taken for copies."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import takes_less
from tests.laws import examples
from vaultmem.errors import VaultGoneError
from vaultmem.vault import conflicts as names_of_copies
from vaultmem.vault.conflicts import Places, conflict_original, nearly_equal
from vaultmem.vault.walk import FileLookup, Trouble, is_temporary, nfc, walk


def listed(root: Path) -> tuple[list[str], list[Trouble]]:
    troubles: list[Trouble] = []
    return sorted(entry.path for entry in walk(str(root), troubles)), troubles


def fill(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path, encoding="utf-8")


def test_files_and_what_is_hidden(tmp_path: Path) -> None:
    fill(tmp_path, "A.md", "Sub/B.MD", "Sub/deep/pic.png", "x.md/inner.md", "计划/一.md")
    fill(
        tmp_path, ".obsidian/app.json", ".trash/a.md", "Sub/.draft/a.md", ".Hidden.md", ".git/x.md"
    )
    fill(tmp_path, "node_modules/p/readme.md", "Sub/node_modules/p/readme.md")
    fill(tmp_path, "m/entries/.records/x.md", "m/entries/c/d/.records/x.md", "m/c/.records/x.md")
    fill(
        tmp_path,
        "m/entries/c/.records/turns/x.md",
        "m/entries/c/.records/.draft/x.md",
        "A.md~",
        "A.md.tmp",
        "A.swp",
        ".#A.md",
        ".syncthing.A.md.tmp",
        "~syncthing~A.md.tmp",
    )
    assert listed(tmp_path) == (
        [
            "A.md", "Sub/B.MD", "Sub/deep/pic.png", "m/entries/c/.records/turns/x.md", "x.md/inner.md",
            "计划/一.md",
        ],
        [],
    )  # fmt: skip


def test_links_are_reported_and_never_followed(tmp_path: Path) -> None:
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    fill(vault, "a.md", "sub/b.md")
    fill(outside, "secret.md")
    (vault / "loop").symlink_to(vault)
    (vault / "sub" / "up").symlink_to("..")
    (vault / "out").symlink_to(outside)
    (vault / "link.md").symlink_to("a.md")
    (vault / "dangling.md").symlink_to("nowhere")
    (vault / "self.md").symlink_to("self.md")
    found, troubles = listed(vault)
    assert found == ["a.md", "sub/b.md"]
    assert sorted(trouble.path for trouble in troubles) == [
        *("dangling.md", "link.md", "loop", "out", "self.md", "sub/up")
    ]
    assert {trouble.reason for trouble in troubles} == {"a symbolic link; it is not read"}


@pytest.mark.parametrize("form", ["no such folder", "a file"])
def test_no_vault(tmp_path: Path, form: str) -> None:
    if form == "a file":
        (tmp_path / "v").write_text("x")
    with pytest.raises(VaultGoneError, match=str(tmp_path / "v")):
        listed(tmp_path / "v")


def test_folders_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, "a.md", "locked/b.md", "vanished/c.md", "open/d.md")
    real = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied")
        if path.endswith("vanished"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert listed(tmp_path) == (
        ["a.md", "open/d.md"],
        [Trouble("locked", "cannot be listed: Permission denied", folder=True)],
    )


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    fill(tmp_path, "a.md")
    root = os.fsencode(tmp_path)
    Path(os.fsdecode(root + b"/caf\xe9.md")).write_text("x")
    os.mkdir(root + b"/d\xff")
    Path(os.fsdecode(root + b"/d\xff/in.md")).write_text("x")
    found, troubles = listed(tmp_path)
    assert found == ["a.md"]
    assert sorted(trouble.path for trouble in troubles) == ["caf\\xe9.md", "d\\xff"]
    for trouble in troubles:
        trouble.path.encode()


def test_two_spellings_of_one_name(tmp_path: Path) -> None:
    fill(
        tmp_path, "\xfc.md", "u\u0308.md", "d/\u1e69.md", "d/s\u0323\u0307.md", "d/s\u0307\u0323.md"
    )
    fill(tmp_path, "e/s\u0323\u0307.md", "e/s\u0307\u0323.md", "lone/s\u0307\u0323.md")
    troubles: list[Trouble] = []
    entries = {entry.path: entry.raw for entry in walk(str(tmp_path), troubles)}
    assert entries == {
        "\xfc.md": "\xfc.md",
        "d/\u1e69.md": "d/\u1e69.md",
        "e/\u1e69.md": "e/s\u0307\u0323.md",
        "lone/\u1e69.md": "lone/s\u0307\u0323.md",
    }
    assert sorted(t.path for t in troubles) == [
        "d/\u1e69.md",
        "d/\u1e69.md",
        "e/\u1e69.md",
        "\xfc.md",
    ]
    assert all("rename one" in trouble.reason for trouble in troubles)


@pytest.fixture
def no_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that finds files regardless of case, as those of macOS and Windows and memory cards do. Letter by letter:
    on most of them "ß" is not "SS"."""
    look = os.lstat

    def plain(name: str) -> list[str]:
        return [low if len(low := letter.lower()) == 1 else letter for letter in name]

    def lstat(path: str | Path) -> os.stat_result:
        found, rest = tmp_path, os.path.relpath(path, tmp_path).split("/")
        for part in rest:
            same = (name for name in os.listdir(found) if plain(name) == plain(part))
            found /= next(same, part)
        return look(found)

    monkeypatch.setattr(os, "lstat", lstat)


@pytest.mark.usefixtures("no_case")
def test_a_disk_that_ignores_case_has_a_file_once(tmp_path: Path) -> None:
    """A file or folder renamed by case alone is found by its present name only."""
    fill(tmp_path, "Straße/ÄPFEL.md", "2026/11.md")
    look = FileLookup(str(tmp_path))
    assert [
        entry.path for entry in (look.at("Straße/ÄPFEL.md"), look.at("2026/11.md")) if entry
    ] == [
        "Straße/ÄPFEL.md",
        "2026/11.md",
    ]
    assert look.at("Straße/Äpfel.md") is None
    assert look.at("2026/11.MD") is None
    assert look.at("straße/ÄPFEL.md") is None
    assert not look.has_folder("straße")


def test_files_that_differ_in_case_alone_are_all_found(tmp_path: Path) -> None:
    fill(tmp_path, "a.md", "A.MD", "ä/x.md", "Ä/x.md")
    look = FileLookup(str(tmp_path))
    for entry in walk(str(tmp_path), []):
        assert look.at(entry.raw) == entry


NAMES = st.sampled_from(
    ["a", "B.md", "c.MD", ".d", "e~", "f.tmp", "node_modules", "日记", "u\u0308.md", "x.md"]
)


@settings(max_examples=examples(40))
@given(st.sets(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=12))
def test_every_visible_file_once(tmp_path_factory: pytest.TempPathFactory, paths: set[str]) -> None:
    root = tmp_path_factory.mktemp("vault")
    made = []
    for path in sorted(paths):
        try:
            fill(root, path)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
        made.append(path)
    expected = sorted(
        nfc(path)
        for path in made
        if not any(part.startswith(".") for part in path.split("/"))
        and "node_modules" not in path.split("/")[:-1]
        and not is_temporary(path.rsplit("/", maxsplit=1)[-1])
    )
    assert listed(root) == (expected, [])


def conflicts(paths: list[str]) -> dict[str, str]:
    return names_of_copies.conflicts(Places(paths))


def doubtful(paths: list[str]) -> list[tuple[str, str]]:
    return names_of_copies.possible_copies(Places(paths))


STAMPED = [
    "Plan.sync-conflict-20261121-101500-ABCDEFG.md", "Plan (Conflicted copy MacBook 202611211015).md",
    "Plan (Ann's conflicted copy 2026-11-21).md", "Plan (James' conflicted copy 2026-11-21).md",
    "Plan (Ann's conflicted copy 2026-11-21 1).md", "Plan (Ann's case conflict 2026-11-21).md",
]  # fmt: skip
UNSTAMPED = [
    "Plan (Conflicted copy).md", "Plan (Ann's conflicted copy).md", "Plan (case conflict).md",
    "Plan (Ann's case conflict).md", "Plan (Unicode Encoding Conflict).md",
]  # fmt: skip
PEOPLE = [
    "Plan.md", "Conflicted copy.md", " (Conflicted copy 2026-11-21).md", "Plan(Conflicted copy 2026-11-21).md",
    "Plan (on conflicted copy 2026-11-21).md", "Plan (conflict 2026-11-21).md", "Plan.sync-conflict-2026-11.md",
    "sync-conflict-20261121-101500-ABCDEFG.md", "Plan (Conflicted copy 2026-11-21)/note.md",
    "Plan.sync-conflict-20261121-101500-ABCDEFG.md/note.md", "",
]  # fmt: skip


@pytest.mark.parametrize("name", STAMPED)
@pytest.mark.parametrize("folder", ["", "a/b (1)/"])
def test_stamped_names_are_copies_with_or_without_the_original(name: str, folder: str) -> None:
    original = folder + "Plan.md"
    assert conflict_original(folder + name) == original
    assert conflicts([folder + name, original]) == {folder + name: original}
    assert conflicts([folder + name]) == {folder + name: original}


@pytest.mark.parametrize("name", UNSTAMPED)
def test_names_without_a_stamp_need_the_original(name: str) -> None:
    assert conflict_original(name) is None
    assert conflicts([name, "Plan.md"]) == {name: "Plan.md"}
    assert conflicts([name]) == {}
    assert conflicts([name, "elsewhere/Plan.md", "Plan.txt"]) == {}


@pytest.mark.parametrize(
    "name",
    [
        *("Plan 1.md", "Plan 0.md", "Plan 2026.md", "Plan2.md", "Plan (0).md", "Plan (A).md"),
        *("Plan (2026-11-21).md", "Plan (Ann 2026-11).md"),
        *("Plan-2.md", "Plan-2026-11-21.md", "Plan-.md", "2.md", "-A.md", "Plan 2.png"),
        *("Plan-A.md", "Plan-Anne.md", "Plan-draft.md", "Plan-v2.md", "Plan-Machines.md"),
        *("Plan 2/x.md", "Plan (2) b.md", "Plan - more.md", STAMPED[0], UNSTAMPED[0], "Plan.md"),
    ],
)
def test_ordinary_names_are_not_doubtful(name: str) -> None:
    assert doubtful([name, "Plan.md", "Plan.png", "x.md", ".md"]) == []


@pytest.mark.parametrize(
    "name",
    [
        *("Plan (1).md", "Plan 2.md", "Plan-LAPTOP.md", "Plan (In Konflikt stehende Kopie von Ann 2026-11-21).md"),
        *("Plan (Copie en conflit de Ann 2026-11-21 1).md", "Plan (Ann の競合コピー 2026-11-21).md"),
    ],
)  # fmt: skip
def test_names_that_a_person_may_choose_are_doubtful(name: str) -> None:
    assert doubtful([name, "Plan.md"]) == [(name, "Plan.md")]
    assert doubtful([name]) == []


LINES = "".join(f"line {number} of many\n" for number in range(18))
TEXT = f"---\nid: a1\nupdated: 2026-11-01\n---\n# Plan\n\n- [ ] rent 📅 2026-11-30\nsee [[Ann]]\n{LINES}"
FORM = "---\ntype: visit\n---\n# Visit\n\n## Who\n\n## What\n\n## Next\n"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (TEXT, TEXT, True),
        (TEXT, TEXT.replace("\n", "\r\n") + "\n", True),
        (
            TEXT,
            TEXT.replace("[ ] rent 📅 2026-11-30", "[x] rent 📅 2026-11-30 ✅ 2026-11-29"),
            True,
        ),
        (TEXT, TEXT.replace("updated: 2026-11-01", "updated: 2026-11-02"), True),
        (TEXT, TEXT + "- one more line\n", True),
        (TEXT, TEXT.partition("# Plan")[2], True),
        (TEXT, TEXT.replace("id: a1", "id: a2"), False),
        (TEXT, TEXT.replace("# Plan", "# Other plan"), False),
        (TEXT, TEXT.replace("11-30", "12-01"), False),
        (TEXT, TEXT.replace("[[Ann]]", "[[Bob]]"), False),
        (TEXT, "".join(reversed(TEXT.splitlines(keepends=True))), False),
        (TEXT, TEXT.upper(), False),
        (TEXT, TEXT + TEXT, False),
        (FORM, FORM, False),  # just a template: two notes that nobody has filled in
        (FORM + "Anne\nthe roof\n", FORM + "Bela\nthe roof\n", False),
        ("a", "a", True),
        ("", "", False),
        (LINES * 9, LINES * 20, False),
    ],
)
def test_nearly_equal(one: str, other: str, equal: bool) -> None:
    assert nearly_equal(one, other) is equal
    assert nearly_equal(other, one) is equal


def test_long_notes_take_no_time() -> None:
    pairs = [
        ("ab\n" * 10**6, "ba\n" * 10**6),
        ("a\nb\n" * 10**6, "b\na\n" * 10**6),
        ("[[" * 10**6, "x [" * 10**6),
    ]
    assert takes_less(1.0, lambda: [nearly_equal(*pair) for pair in pairs])


FILE_NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), max_size=12
)


@given(st.lists(FILE_NAMES | st.sampled_from(STAMPED + UNSTAMPED + PEOPLE), max_size=8))
def test_laws(paths: list[str]) -> None:
    certain = conflicts(paths)
    for copy, original in certain.items():
        assert copy in paths
        assert copy != original
        assert len(original) < len(copy)
    for copy, original in doubtful(paths):
        assert copy not in certain
        assert {copy, original} <= set(paths)
        assert copy != original
    for path in paths:
        assert conflict_original(path) is None or path in certain


@pytest.mark.parametrize(
    "name",
    [
        *("(conflicted copy " * 14, "a'" * 100 + "conflict", " (" * 120 + "conflict)"),
        *("-a" * 120 + ".md", "x" * 10**6, ".sync-conflict-" * 16),
        "conflict" + " (a's conflicted copy" * 11,
    ],
)
def test_odd_names_take_no_time(name: str) -> None:
    def looked_at() -> None:
        for _ in range(20):
            conflicts([name, "Plan.md"])
            doubtful([name, "Plan.md"])

    assert takes_less(1.0, looked_at)


@given(
    FILE_NAMES.filter(
        lambda stem: (
            stem.strip() == stem != "" and "onflict" not in stem.casefold() and "." not in stem
        )
    )
)
def test_every_stamped_copy_finds_its_note(stem: str) -> None:
    for name in STAMPED:
        assert conflict_original(f"f/{stem}{name.removeprefix('Plan')}") == f"f/{stem}.md"
