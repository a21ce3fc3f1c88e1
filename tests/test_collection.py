"""The memory folder as vaultmem knows it: files dropped, moved, copied and broken, and read only when they change."""

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.collected import OLD, ONE, TEA, TWO, Folder, folder, style
from tests.conftest import fill
from vaultmem.errors import NoteNotFoundError
from vaultmem.memories import snapshot
from vaultmem.memories.collection import Collection
from vaultmem.text.similarity import content_hash, opening, sketch

__all__ = ["folder"]  # fixtures


def test_a_memory_is_what_its_file_says(folder: Folder) -> None:
    content = f"{TEA}\n\nSee [[Ann]] and [[Tea|this]].\n"
    folder.memory(
        "vaultmem/people/Ann's tea.md", ONE, content, tags=["Tea", "#tea", "a b"], scope="agent:x",
        phase="inbox", updated_at="2026-11-02", importance=0.5,
    )  # fmt: skip
    (memory,) = folder.live()
    assert memory.path == "vaultmem/people/Ann's tea.md"
    assert memory[1:6] == (ONE, "Ann's tea", "people", "organized", "agent:x")
    assert memory.tags == ("Tea", "a b")
    assert (memory.created, memory.updated) == (1793527200.0, 1793577600.0)
    assert memory.mtime == OLD
    assert (memory.hash, memory.opening) == (content_hash(content), opening(content))
    assert (memory.sketch, memory.links) == (sketch(content), ("Ann", "Tea"))
    assert memory.adopted
    assert not memory.archived
    assert memory.importance == 0.5
    assert folder.known.content(memory) == content


@pytest.mark.parametrize("name", ["Ann's tea", "of logseq"])
def test_what_git_could_not_merge_is_no_memory_until_merged(folder: Folder, name: str) -> None:
    """Otherwise it would be one without its id, and assistants would be shown its conflict marks and properties."""
    place = f"vaultmem/people/{name}.md"
    folder.memory(place, ONE, TEA, category="people", tags=["tea"])
    merged = (folder.root / place).read_text("utf-8")
    both = merged.replace("tags:", "<<<<<<< HEAD\ntags:", 1)
    both = both.replace("tea\n", "tea\n=======\ntags:: a\n>>>>>>> 59b\n", 1)
    folder.put(place, both.encode(), age=5)
    assert folder.live() == []
    assert [path for path, _ in folder.known.troubles()] == [place]
    folder.put(place, merged.encode())
    assert [memory.id for memory in folder.live()] == [ONE]


def test_generated_files_conversations_and_attachments_are_none(folder: Folder) -> None:
    folder.put("vaultmem/pending.md", b"x")
    folder.put("vaultmem/What changed.md", b"x")
    folder.put("vaultmem/entries/c1/facts/1__x.md", f"---\nid: {ONE}\n---\nx".encode())
    folder.put("vaultmem/inbox/pic.png", b"x")
    folder.put("vaultmem/inbox/.hidden.md", b"x")
    folder.put("Other.md", b"x")
    assert folder.live() == []
    assert len(folder.known.blobs()) == 4
    assert folder.known.has_title("PENDING")


def test_blobs_are_named_as_git_names_them(folder: Folder) -> None:
    for path, data in {
        "inbox/a.md": b"text\r\n",
        "archive/b.md": b"",
        "pending.md": b"\xff\0",
        "x.bin": b"x" * 3_000_000,
    }.items():
        folder.put(f"vaultmem/{path}", data)
    folder.known.refresh()
    for path, blob in folder.known.blobs().items():
        data = (folder.root / path).read_bytes()
        assert blob == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    assert len(folder.known.blobs()) == 4
    if shutil.which("git"):
        command = ["git", "hash-object", "--no-filters", folder.root / "vaultmem/inbox/a.md"]
        git = subprocess.run(command, capture_output=True, text=True, check=True)
        assert git.stdout.strip() == folder.known.blobs()["vaultmem/inbox/a.md"]


def test_of_two_files_with_one_id_the_same_keeps_it_on_every_machine(folder: Folder) -> None:
    """The one in its category's folder, and else the one whose name the copy's begins with; never by file times."""
    folder.memory("vaultmem/people/Tea.md", ONE, category="people")
    folder.memory("vaultmem/inbox/Tea 7.md", ONE, "Something else", category="people")
    folder.memory("vaultmem/people/A copy.md", ONE, "A third thing", category="people")
    os.utime(folder.root / "vaultmem/people/A copy.md", (OLD - 9, OLD - 9))
    found = {memory.title: memory for memory in folder.live()}
    assert found["Tea"].id == ONE
    assert [found[title].adopted for title in ("Tea", "Tea 7", "A copy")] == [True, False, False]
    assert len({memory.id for memory in found.values()}) == 3
    (folder.root / "vaultmem/people/Tea.md").unlink()
    assert folder.ids()["people/A copy.md"] == ONE


def test_an_id_to_be_assigned_is_not_one_in_use(folder: Folder) -> None:
    folder.put("vaultmem/inbox/a.md", b"one")
    own = folder.live()[0].id
    folder.memory("vaultmem/archive/b.md", own)
    ids = folder.ids()
    assert ids["inbox/a.md"] not in {own, ""}
    assert ids == folder.ids()  # and it keeps it


def test_only_memories_are_compared(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation may have thousands of entries, and gets new ones all the time."""
    compared: list[str] = []
    monkeypatch.setattr(
        snapshot, "possible_copies", lambda places: compared.extend(places.paths) or []
    )
    folder.memory("vaultmem/people/Tea.md", ONE)
    folder.put("vaultmem/entries/c1/facts/1__x.md", f"---\nid: {TWO}\n---\nx".encode())
    assert [memory.id for memory in folder.live()] == [ONE]
    assert compared == ["vaultmem/people/Tea.md"]


def test_conflict_copies_are_no_memories(folder: Folder) -> None:
    near = TEA.replace("spring", "autumn")
    folder.memory("vaultmem/people/Tea.md", ONE)
    stamped = "vaultmem/people/Tea.sync-conflict-20261121-101500-ABCDEFG.md"
    alone = "vaultmem/people/Gone (Conflicted copy MacBook 202611211015).md"
    folder.memory(stamped, ONE, "quite another text")
    folder.memory(alone, TWO, "x")
    folder.memory("vaultmem/people/Tea (1).md", ONE, f"{TEA} {TEA} {near} and then")
    folder.memory("vaultmem/people/Tea 2.md", ONE, TEA)
    folder.memory("vaultmem/people/Tea 3.md", TWO, "About the third tea, which is red.")
    folder.memory("vaultmem/skills/Tea 2.md", "333", TEA)
    titles = sorted(memory.path for memory in folder.live())
    copies = dict(folder.known.copies())
    assert copies[stamped] == "vaultmem/people/Tea.md"
    assert copies[alone] is None
    assert copies["vaultmem/people/Tea 2.md"] == "vaultmem/people/Tea.md"
    names = ("people/Tea (1)", "people/Tea 3", "people/Tea", "skills/Tea 2")
    assert titles == [f"vaultmem/{name}.md" for name in names]
    assert folder.known.has_title("tea 2")
    (folder.root / "vaultmem/people/Tea.md").unlink()
    assert "vaultmem/people/Tea 2.md" in {memory.path for memory in folder.live()}


def test_a_copy_does_not_outlive_its_memory(folder: Folder) -> None:
    folder.memory("vaultmem/archive/Tea.md", ONE, category="people")
    folder.memory("vaultmem/people/Tea 2.md", ONE, category="people")
    folder.memory("vaultmem/people/Tea 3.md", TWO, category="people")
    folder.put("vaultmem/people/Tea 4.md", TEA.encode())  # a person's own new note
    assert folder.ids().keys() == {"people/Tea 3.md", "people/Tea 4.md"}
    stamped = "vaultmem/people/Tea.sync-conflict-20261121-101500-ABCDEFG.md"
    folder.memory(stamped, ONE, f"{TEA} And more.", category="people")
    assert folder.ids().keys() == {"people/Tea 3.md", "people/Tea 4.md"}
    copies = ["vaultmem/people/Tea 2.md", stamped]
    assert folder.known.copies() == [(copy, "vaultmem/archive/Tea.md") for copy in copies]
    assert [copy.path for copy, _ in folder.known.spare_copies()] == copies[:1]
    folder.put("vaultmem/people/Tea 3.md", b"sch\xf6n")  # unreadable, where an archived one was
    folder.memory("vaultmem/archive/Tea 3.md", TWO, category="people")
    folder.memory("vaultmem/people/Tea.md", TWO[:-1] + "3", category="people")
    assert folder.ids().keys() == {"people/Tea.md"}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"---\nid: [x\n---\nThe text", "line"),
        (b"---\na: 1\na: 2\n---\n", "line"),
        (b"---\ntags:\n  - a\nid: 7df0fb9a-1111-4111-8111-111111111111\nThe text", "is missing"),
        (b"---\r\nvaultmem: 7df0fb9a-1111-41", "is missing"),
        (b"caf\xe9", "UTF-8"),
        (b"a\0b", "NUL"),
        (b"word " * 1_000_000, "5.0 MB"),
    ],
)
def test_what_cannot_be_read_is_told_and_no_memory(folder: Folder, data: bytes, told: str) -> None:
    folder.put("vaultmem/inbox/Bad.md", data)
    assert folder.live() == []
    ((path, reason),) = folder.known.troubles()
    assert path == "vaultmem/inbox/Bad.md"
    assert told in reason
    assert folder.known.has_title("bad")
    assert path in folder.known.blobs()
    again = folder.opened()
    again.refresh()
    assert again.troubles() == folder.known.troubles()
    folder.put("vaultmem/inbox/Bad.md", b"good", age=5)
    assert [memory.title for memory in folder.live()] == ["Bad"]
    assert folder.known.troubles() == []


def test_links_are_not_followed(folder: Folder, tmp_path: Path) -> None:
    fill(tmp_path, {"outside/secret.md": "secret"})
    (folder.root / "vaultmem/inbox").mkdir()
    (folder.root / "vaultmem/inbox/link.md").symlink_to(tmp_path / "outside/secret.md")
    (folder.root / "vaultmem/people").symlink_to(tmp_path / "outside")
    assert folder.live() == []
    assert folder.known.blobs() == {}
    links = ["vaultmem/inbox/link.md", "vaultmem/people"]
    assert [path for path, _ in folder.known.troubles()] == links
    assert not folder.known.refresh([*links, "vaultmem/people/secret.md"])
    assert folder.known.blobs() == {}


def test_what_cannot_be_listed_is_there(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.memory("vaultmem/people/Tea.md", ONE)
    folder.memory("vaultmem/skills/Coffee.md", TWO)
    assert len(folder.live()) == 2
    (folder.root / "vaultmem/skills/Coffee.md").unlink()
    listed = os.scandir

    def refused(path: str) -> object:
        if str(path).endswith("/people"):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    with monkeypatch.context() as patched:
        patched.setattr("os.scandir", refused)
        assert [memory.title for memory in folder.live()] == ["Tea"]
        assert folder.known.troubles()[0][0] == "vaultmem/people"
    assert len(folder.live()) == 1
    assert folder.known.troubles() == []


def test_an_unreadable_file_stays_listed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.memory("vaultmem/people/Tea.md", ONE)
    assert len(folder.live()) == 1
    before = dict(folder.known.blobs())
    folder.put("vaultmem/people/Tea.md", b"new", age=3)

    def refused(_inside: object, _path: str) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("vaultmem.vault.files.Inside.open", refused)
        assert folder.live() == []
        assert folder.known.blobs() == before
        assert "Permission denied" in folder.known.troubles()[0][1]


def test_no_memory_folder_is_no_error(tmp_path: Path) -> None:
    known = Collection(str(tmp_path), "vaultmem", style, None)
    assert not known.refresh()
    assert known.live() == known.archived() == known.copies() == []
    with pytest.raises(NoteNotFoundError):
        known.find("x")


def test_refresh_sees_what_has_changed_and_only_that(folder: Folder) -> None:
    folder.memory("vaultmem/people/Tea.md", ONE)
    folder.memory("vaultmem/people/Coffee.md", TWO)
    assert folder.known.refresh()
    assert not folder.known.refresh()
    before = folder.known.live()
    folder.memory("vaultmem/people/Tea.md", ONE, "new text")
    assert folder.known.refresh(["vaultmem/people/Tea.md"])
    coffee, tea = folder.known.live()
    assert tea.hash == content_hash("new text")
    assert coffee is before[0]
    (folder.root / "vaultmem/people/Tea.md").unlink()
    assert not folder.known.refresh(["vaultmem/people/Coffee.md"])
    assert folder.known.refresh(
        ["vaultmem/people/Tea.md", "nowhere/x.md", "../x", "vaultmem/people/../x.md"]
    )
    assert [memory.title for memory in folder.known.live()] == ["Coffee"]


def test_the_path_of_a_folder_stands_for_all_below_it(folder: Folder) -> None:
    folder.memory("vaultmem/people/Tea.md", ONE)
    folder.known.refresh()
    folder.memory("vaultmem/people/deep/Coffee.md", TWO)
    assert folder.known.refresh(["vaultmem/people"])
    assert len(folder.known.live()) == 2
    shutil.rmtree(folder.root / "vaultmem/people")
    assert folder.known.refresh(["vaultmem/people/"])
    assert folder.known.live() == []
    folder.memory("vaultmem/skills/Tea.md", ONE)
    assert folder.known.refresh(["vaultmem"])
    assert folder.known.refresh([""]) is False
    assert len(folder.known.live()) == 1


def test_a_write_in_the_same_tick_is_seen(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder.root / "vaultmem/inbox/Quick.md"
    path.parent.mkdir()
    path.write_bytes(b"one")
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)
    os.utime(path, ns=(now, now))
    folder.known.refresh()
    with path.open("r+b") as file:
        file.write(b"two")
    os.utime(path, ns=(now, now))
    folder.known.refresh(["vaultmem/inbox"])
    assert folder.known.live()[0].hash == content_hash("two")


def test_a_half_written_file_is_as_before(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.memory("vaultmem/people/Tea.md", ONE)
    folder.known.refresh()
    folder.memory("vaultmem/people/Tea.md", ONE, "half of")
    full = folder.root / "vaultmem/people/Tea.md"
    read = os.read

    def read_and_write(handle: int, length: int) -> bytes:
        with full.open("ab") as file:
            file.write(b" more")
        return read(handle, length)

    with monkeypatch.context() as patched:
        patched.setattr("os.read", read_and_write)
        assert not folder.known.refresh(["vaultmem/people/Tea.md"])
    assert folder.known.live()[0].hash == content_hash(TEA)
    # it is checked again, whatever is requested
    assert folder.known.refresh(["vaultmem/other.md"])
    assert folder.known.live()[0].hash == content_hash("half of\n more more")
