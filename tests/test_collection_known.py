"""What one process leaves for the next about a memory folder, and how a memory is found in it."""

import json

import pytest

from tests.collected import ONE, TEA, TWO, Folder, folder
from vaultmem.errors import NoteNotFoundError
from vaultmem.text.similarity import content_hash, sketch

__all__ = ["folder"]  # fixtures


def opened_files(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many files a new process reads."""
    from vaultmem.memories.memory_file import Reader

    count = 0
    real = Reader.read

    def counted(self: Reader, *given: object) -> object:
        nonlocal count
        count += 1
        return real(self, *given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Reader, "read", counted)
        again = folder.opened()
        again.refresh()
    assert again.live() == folder.known.live()
    assert again.archived() == folder.known.archived()
    assert again.blobs() == folder.known.blobs()
    return count


@pytest.mark.parametrize("damage", ["bytes", "empty", "row", "version", "folder"])
def test_a_damaged_cache_is_made_anew(
    folder: Folder, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.memory("vaultmem/people/Tea.md", ONE)
    folder.live()
    if damage in {"bytes", "empty"}:
        folder.cache.write_bytes(b"x" * 5000 if damage == "bytes" else b"")
    elif damage == "folder":
        folder.cache.unlink()
        folder.cache.mkdir()
    else:
        version, files = json.loads(folder.cache.read_text())
        files = [file[:6] for file in files] if damage == "row" else files
        version = [99, version[1]] if damage == "version" else version
        folder.cache.write_text(json.dumps([version, files]))
    assert opened_files(folder, monkeypatch) == 1
    assert opened_files(folder, monkeypatch) == (1 if damage == "folder" else 0)


def test_a_change_writes_only_its_file(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        folder.memory(f"vaultmem/people/Tea {number}.md", f"{number:03}{ONE[3:]}")
    folder.live()
    before = folder.cache.read_bytes()
    folder.memory("vaultmem/people/Tea 3.md", f"003{ONE[3:]}", "She drinks coffee now.")
    (folder.root / "vaultmem/people/Tea 4.md").unlink()
    folder.live()
    after = folder.cache.read_bytes()
    assert after.startswith(before + b"\n")
    assert len(after) < len(before) * 1.2
    assert opened_files(folder, monkeypatch) == 0
    folder.cache.write_bytes(after[:-20])  # the last line is that of "Tea 4"
    assert opened_files(folder, monkeypatch) == 0
    folder.cache.write_bytes(after[: after.index(b"coffee now")])
    folder.memory("vaultmem/people/Tea 5.md", f"005{ONE[3:]}", "Both, then.")
    folder.live()
    assert opened_files(folder, monkeypatch) == 1  # "Tea 3"
    for number in range(20):
        folder.memory("vaultmem/people/Tea 6.md", f"006{ONE[3:]}", f"{number} cups")
        folder.live()
    assert len(folder.cache.read_bytes()) < len(before) * 1.3
    assert opened_files(folder, monkeypatch) == 0


@pytest.fixture
def filled(folder: Folder) -> Folder:
    folder.memory("vaultmem/people/Ann's tea.md", ONE)
    folder.memory(
        "vaultmem/knowledge/Über Tee.md", TWO, "Something else entirely about other things."
    )
    folder.memory("vaultmem/archive/Coffee.md", "3333aaaa-1", deleted_at="2026-11-22T10:00:00Z")
    folder.known.refresh()
    return folder


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("111", "nothing has the id, title or path '111'; vaultmem list shows what there is"),
        ("Anns tea", 'did you mean "Ann\'s tea"?'),
        ("tea", 'did you mean "Ann\'s tea"?'),
        ("coffee", "'Coffee' was deleted on 2026-11-22; vaultmem restore 3333aaaa brings it back"),
        ("3333aaaa", "was deleted on"),
        ("", "Memory not found"),
        ("../../etc/passwd", "Memory not found"),
        ("x" * 5000, "Memory not found"),
    ],
)
def test_what_is_not_found_is_said(filled: Folder, given: str, said: str) -> None:
    with pytest.raises(NoteNotFoundError) as raised:
        filled.known.find(given)
    assert str(raised.value).startswith("Memory not found: ")
    assert said in str(raised.value)
    assert len(str(raised.value)) < 300


def test_restore_looks_among_deleted_memories(filled: Folder) -> None:
    for given, said in (
        ("111", "vaultmem list --deleted shows"),
        ("Cofee", "did you mean 'Coffee'"),
    ):
        with pytest.raises(NoteNotFoundError, match=said):
            filled.known.find(given, archived=True)


def test_contents_are_found_by_likeness(filled: Folder) -> None:
    known = filled.known
    assert [memory.id for memory in known.with_hash(content_hash(f"{TEA}\n\n"))] == [ONE]
    near = TEA.replace("spring", "summer")
    assert [memory.id for memory, _ in known.like(sketch(near), 0.5)] == [ONE]
    assert known.like(sketch("nothing of the kind is known here"), 0.7) == []
    assert known.like(b"", 0.7) == []
    assert len(known.like(sketch(near), 0.0)) == 2


def test_a_memory_that_is_gone_has_no_content(filled: Folder) -> None:
    memory = filled.known.find(ONE)
    (filled.root / memory.path).unlink()
    with pytest.raises(NoteNotFoundError):
        filled.known.content(memory)


def test_whether_a_file_exists(filled: Folder) -> None:
    filled.put("Note.md", b"x")
    assert filled.known.exists("Note.md")
    assert filled.known.exists("vaultmem/ARCHIVE/coffee.md")
    assert not filled.known.exists("vaultmem/archive/Tea.md")
    assert not filled.known.exists("No.md")
