"""An editor that saves at any moment of a write, up to three times and in any way, loses no words of its own."""

import contextlib
import itertools
import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from vaultmem.errors import VaultmemError
from vaultmem.vault import moves
from vaultmem.vault import write as write_module
from vaultmem.vault.batch_record import Header, PlannedWrite
from vaultmem.vault.batches import Batches

STEPS = (
    "_look",
    "_write_new",
    "dress",
    "wait_for_writers",
    "exchange",
    "flush_names",
    "discard",
)
WAYS = ("in place", "renamed", "old handle", "slowly", "moved")
SLOW = 2  # steps
AFTER = 0.001  # seconds
HEADER = Header("claude", "assistant", "because", 1.5)
OURS, KILL = b"ours\n", "kill"


class Editor:
    """Saves before the steps of a write that `saves` numbers, in one of WAYS."""

    def __init__(self, note: Path, saves: dict[int, str], report: int = -1) -> None:
        """`report`: where its words are written to when a step numbered KILL is in `saves`, and the process dies."""
        self.note, self._saves, self._report = note, saves, report
        self._old = os.open(note, os.O_RDWR)
        self._steps = itertools.count()
        self._slow: dict[int, int] = {}  # the handles that it will write to, by step
        self._gone: list[
            int
        ] = []  # what it has replaced itself, open so that no inode is used again
        self.words: set[bytes] = set()  # of its own that it has not overwritten itself
        self.overwrote_ours, self.last = False, -1

    def before(self, step: Callable[..., object]) -> Callable[..., object]:
        """The step, preceded by a save if it is the time for one."""

        def preceded(*args: object, **named: object) -> object:
            number = next(self._steps)
            if AFTER in args:  # a write waits until nobody has the old file open
                self.close()
            if handle := self._slow.pop(number, 0):
                self._write_into(handle, b"save %d\n" % number)
            if self._saves.get(number) == KILL:
                os.write(self._report, b"".join(self.words))
                os.kill(os.getpid(), signal.SIGKILL)
            if way := self._saves.get(number):
                self._save(way, number)
            return step(*args, **named)

        return preceded

    def _save(self, way: str, number: int) -> None:
        words, is_there = b"save %d\n" % number, self.note.exists()
        self.last = number
        if way == "old handle" and self._old:
            handle, self._old = self._old, 0
            self._write_into(handle, words)
        elif way == "moved" and is_there:
            os.rename(self.note, self.note.with_name(f"moved {number}.md"))
        elif way == "slowly" and is_there:
            self._slow[number + SLOW] = os.open(self.note, os.O_RDWR)
        elif way == "in place" and is_there:
            self._write_into(os.open(self.note, os.O_RDWR), words)
        elif way == "renamed":
            if is_there:
                self._gone.append(os.open(self.note, os.O_RDONLY))
            self._overwrite(self.note.read_bytes() if is_there else b"", words)
            self.note.with_name("saved").write_bytes(words)
            os.replace(self.note.with_name("saved"), self.note)

    def _write_into(self, handle: int, words: bytes) -> None:
        if not any(os.path.sameopenfile(handle, gone) for gone in self._gone):
            self._overwrite(os.pread(handle, 99, 0), words)
        os.ftruncate(handle, 0)
        os.pwrite(handle, words, 0)
        os.close(handle)

    def _overwrite(self, seen: bytes, words: bytes) -> None:
        self.words = {own for own in self.words if own not in seen} | {words}
        self.overwrote_ours |= OURS in seen

    def close(self) -> None:
        """Finish what it is writing, and close the note that it had open from the start."""
        while self._slow:
            number, handle = self._slow.popitem()
            self._write_into(handle, b"save %d\n" % number)
        if self._old:
            number = next((number for number, way in self._saves.items() if way == "old handle"), 0)
            handle, self._old = self._old, 0
            self._write_into(handle, b"save %d\n" % number) if number else os.close(handle)


@pytest.mark.parametrize("can_exchange", [True, False])
@given(st.dictionaries(st.integers(0, 25), st.sampled_from(WAYS), max_size=3))
@example({3: "slowly", 9: "slowly"})  # late twice
@example({3: "slowly", 11: "slowly"})
@example({3: "slowly", 7: "moved"})
@example({5: "renamed", 6: "renamed"})  # in the last moment, and right after it
@example({5: "renamed", 6: "in place"})
@example({5: "renamed", 6: "moved"})
@settings(max_examples=examples(300), deadline=None)
def test_no_words_of_an_editor_are_lost(can_exchange: bool, saves: dict[int, str]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        note = Path(folder, "n.md")
        note.write_bytes(b"old\n")
        editor = Editor(note, saves)
        patch.setattr(write_module, "_BEFORE", 0.0)
        patch.setattr(write_module, "_AFTER", AFTER)
        for name in STEPS:
            patch.setattr(write_module, name, editor.before(getattr(write_module, name)))
        if (
            not can_exchange
        ):  # there a file renamed to the note in the very last moment cannot be saved
            patch.setattr(moves, "_system_rename", lambda: None)
            if "renamed" in saves.values():
                return
        written = False
        with contextlib.suppress(VaultmemError):
            written = write_module.change(
                folder, "n.md", lambda data: data if OURS in data else data + OURS
            )
        editor.close()
        files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    lost = {words for words in editor.words if not any(words in data for data in files.values())}
    assert not lost, files
    assert not [name for name in files if name.endswith(".tmp")]
    # What gives way exchanges twice: a third file renamed there meanwhile is a conflict copy.
    if saves.get(last := editor.last) == "renamed" and len(saves) < 3:
        assert b"save %d\n" % last in files["n.md"]
    if written and not editor.overwrote_ours:
        assert any(OURS in data for data in files.values())


def write_beside(editor: Editor, folder: Path) -> None:
    """A batch of two writes, at each step of which the editor may act."""
    write_module._BEFORE = 0.0  # type: ignore[misc]
    write_module._AFTER = AFTER  # type: ignore[misc]
    for name in STEPS:
        setattr(write_module, name, editor.before(getattr(write_module, name)))
    wishes = [
        PlannedWrite(name, name, lambda data: (data or b"") + OURS, "why")
        for name in ("n.md", "o.md")
    ]
    write_module.apply(Batches(str(folder / "state"), str(folder / "vault")), HEADER, wishes)


@given(st.integers(0, 20), st.sampled_from(WAYS), st.integers(1, 8))
@example(6, "renamed", 1)
@example(4, "slowly", 4)
@settings(max_examples=examples(60), deadline=None)
def test_a_kill_beside_an_editor_loses_no_words(step: int, way: str, later: int) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder, (reading, writing) = Path(made), os.pipe()
        (folder / "vault").mkdir()
        note = folder / "vault" / "n.md"
        note.write_bytes(b"old\n")
        note.with_name("o.md").write_bytes(b"other\n")
        child = os.fork()
        if not child:
            try:
                write_beside(Editor(note, {step: way, step + later: KILL}, writing), folder)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        words = os.read(reading, 99).splitlines()
        os.close(reading)
        Batches(str(folder / "state"), str(folder / "vault")).heal()
        files = {path.name: path.read_bytes() for path in (folder / "vault").iterdir()}
    assert all(any(word in data for data in files.values()) for word in words), (words, files)
    moved = f"moved {step}.md"
    assert all(name in ("n.md", "o.md", moved) or name.startswith("n (") for name in files), files
