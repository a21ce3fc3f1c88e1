"""The walk lists every visible file once, follows nothing and is stopped by nothing."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from vaultmem.errors import VaultGoneError
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
def test_law_every_visible_file_once(
    tmp_path_factory: pytest.TempPathFactory, paths: set[str]
) -> None:
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
