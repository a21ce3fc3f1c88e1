"""The memory tool compared with the one of the SDK: the same answers and the same visible files."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.laws import examples
from tests.lazy import Lazy
from vaultmem.vault.identity import MARKER
from vaultmem_assistants import anthropic_memory

pytestmark = pytest.mark.usefixtures("without_a_model")

NAMES = st.sampled_from(["a.md", "b.md", "A.md", "notes.txt", "plan", "ü b.xml", "deep.md"])
FOLDERS = st.sampled_from(["", "", "people/", "work/", "work/deep/", "notes/", "plan/"])
PATHS = st.builds("/memories/{}{}".format, FOLDERS, NAMES)
PLACES = PATHS | st.sampled_from(
    ["/memories", "/memories/", "/memories/work", "/memories/people/", "/memories/plan"]
)
PICKS = st.sampled_from([1, 2, 3, 4, 0])
PIECES = st.sampled_from(
    [
        "one\n", "two\n", "two", "\n", "---\n", "key: value\n", "naïve 中文\n", "\t- x\n", "a\r\n", "# T\n", "  ",
    ]
)  # fmt: skip

TEXTS = st.lists(PIECES, max_size=6).map("".join)
FIRST = {"a.md": "one\ntwo\n", "work/notes.txt": "---\nkey: value\n---\n\n# T\ntwo", "plan.md": ""}


lib, sdk = Lazy("anthropic.lib.tools"), Lazy("anthropic.tools")
DIRECTORY = re.compile(r"^\S+(?=\t/memories(?:/(?:\S*/)?)?$)", re.MULTILINE)


def said(tool: sdk.BetaAbstractMemoryTool, command: dict[str, object]) -> tuple[bool, str]:
    """A tool's answer to a command, and whether it is a success; sizes of folders depend on the file system."""
    try:
        text = str(tool.call(command))
    except lib.ToolError as error:
        return False, str(error)
    except OSError:
        return False, "the system refused"
    return True, DIRECTORY.sub("?", text)


def test_the_tool_is_what_the_sdk_takes(vault: Path) -> None:
    tool = anthropic_memory.VaultMemoryTool(str(vault))
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
    assert tool.name == "memory"
    assert json.dumps(tool.to_dict())
    assert not said(tool, {"command": "view", "path": "/etc/passwd"})[0]


def test_places_that_overlap_are_told_alike(vault: Path, tmp_path: Path) -> None:
    theirs = sdk.BetaLocalFilesystemMemoryTool(str(tmp_path / "theirs"))
    ours = anthropic_memory.VaultMemoryTool(str(vault))
    made = {"command": "create", "path": "/memories/a.md", "file_text": "aaa\nx\n\n\n"}
    assert said(theirs, made) == said(ours, made)
    for old in ("aa", "\n\n", "", "a"):
        asked = {"command": "str_replace", "path": "/memories/a.md", "old_str": old, "new_str": "b"}
        assert said(theirs, asked) == said(ours, asked)


class Beside(RuleBasedStateMachine):
    """The same commands for both tools must give the same answers and the same visible files."""

    @initialize()
    def begin(self) -> None:
        self.root, self.looks = Path(tempfile.mkdtemp(prefix="vm-tool-")), 0
        (self.root / "vault" / ".obsidian").mkdir(parents=True)
        self.theirs = sdk.BetaLocalFilesystemMemoryTool(str(self.root / "theirs"))
        self.ours = anthropic_memory.VaultMemoryTool(str(self.root / "vault"))
        (self.root / "vault" / self.ours.files.vault.config.text("memory_folder")).mkdir(
            exist_ok=True
        )

        for name, text in FIRST.items():
            self.both(command="create", path=f"/memories/{name}", file_text=text)

    def chosen(self, path: str, pick: int) -> str:
        """Mostly an existing file: on others there is little to compare."""
        root = self.root / "theirs"
        files = [file for file in root.rglob("*") if file.is_file() and file.name != MARKER]
        there = sorted(f"/{file.relative_to(root)}" for file in files)
        return there[pick % len(there)] if pick and there else path

    def both(self, **command: object) -> None:
        theirs, ours = said(self.theirs, command), said(self.ours, command)
        assert ours[0] == theirs[0], (command, theirs, ours)
        if theirs[1] != "the system refused":
            assert ours == theirs, command

    def is_there(self, path: str) -> bool:
        return (self.root / "theirs" / path.strip("/")).exists()

    @rule(path=PLACES, text=TEXTS)
    def create(self, path: str, text: str) -> None:
        self.both(command="create", path=path, file_text=text)

    @rule(path=PLACES, pick=PICKS, old=PIECES | st.just("") | st.integers(0, 6), new=TEXTS)
    def str_replace(self, path: str, pick: int, old: str | int, new: str) -> None:
        path = self.chosen(path, pick)
        if isinstance(old, int):  # a part of it
            file = self.root / "theirs" / path.strip("/")
            text = file.read_bytes().decode() if file.is_file() else "x"
            old = text[old * 3 : old * 3 + 5]
        self.both(command="str_replace", path=path, old_str=old, new_str=new)

    @rule(path=PLACES, pick=PICKS, line=st.sampled_from([0, 1, 2, 3, 5, -1, 9]), text=TEXTS)
    def insert(self, path: str, pick: int, line: int, text: str) -> None:
        self.both(
            command="insert", path=self.chosen(path, pick), insert_line=line, insert_text=text
        )

    @rule(path=PLACES, pick=st.just(0) | PICKS)
    def delete(self, path: str, pick: int) -> None:
        self.both(command="delete", path=self.chosen(path, pick))

    @rule(old=PLACES, pick=PICKS, new=PLACES)
    def rename(self, old: str, pick: int, new: str) -> None:
        old = self.chosen(old, pick)
        if not self.is_there(old) and not (self.root / "theirs" / new.strip("/")).parent.is_dir():
            return  # theirs makes folders for a move that then fails
        if f"{new.strip('/')}/".startswith(f"{old.strip('/')}/") and old.strip("/") != new.strip(
            "/"
        ):
            return  # the same
        self.both(command="rename", old_path=old, new_path=new)

    @rule(
        path=PLACES,
        pick=PICKS,
        span=st.none() | st.lists(st.integers(-2, 9), min_size=2, max_size=3),
    )
    def view(self, path: str, pick: int, span: list[int] | None) -> None:
        self.both(command="view", path=self.chosen(path, pick), view_range=span)

    @invariant()
    def the_same_is_there(self) -> None:
        self.looks += 1
        self.both(command="view", path="/memories")
        self.both(command="view", path=self.chosen("/memories", self.looks))

    @rule()
    def all_are_the_same(self) -> None:
        for number in range(1, 8):
            self.both(command="view", path=self.chosen("/memories", number))

    def teardown(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


TestBeside = Beside.TestCase
TestBeside.settings = settings(max_examples=examples(45), stateful_step_count=25)
