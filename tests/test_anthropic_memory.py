"""The memory tool: what a vault adds to the SDK's tool; test_anthropic_beside.py compares the two."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import fill
from tests.secret_corpus import SECRETS
from tests.tables import each_case
from vaultmem.errors import VaultmemError
from vaultmem.memories.arguments import MAX_CONTENT
from vaultmem.memories.item_answers import approval_id
from vaultmem_assistants import tool_files
from vaultmem_assistants.anthropic_memory import MemoryFiles

pytestmark = pytest.mark.usefixtures("without_a_model")

ODD = ["/etc/passwd", "/memoriesx", "memories/a", "/memories/../x.md", "/memories/a/../../x", "/memories/%2e%2e/x",
       "/memories/%252e%252e%252fx", "/memories/a\\..\\..\\x", "/memories/x\0y", "", "/", "../memories"]  # fmt: skip


@pytest.fixture
def files(vault: Path) -> MemoryFiles:
    return MemoryFiles(str(vault))


def folder_of(files: MemoryFiles) -> Path:
    return Path(files.vault.path) / files.vault.config.text("memory_folder")


@each_case("path", ODD)
def test_no_path_leads_out_of_the_memory_folder(files: MemoryFiles, path: str) -> None:
    outside = Path(files.vault.path).parent / "x.md"
    outside.write_text("theirs")
    before = sorted(outside.parent.rglob("*"))
    for done in (
        lambda: files.view(path), lambda: files.create(path, "x"), lambda: files.delete(path),
        lambda: files.rename(path, "/memories/y.md"), lambda: files.rename("/memories/y.md", path),
        lambda: files.insert(path, 0, "x"), lambda: files.str_replace(path, "t", "x"),
    ):  # fmt: skip
        with pytest.raises(VaultmemError):
            done()
    assert sorted(outside.parent.rglob("*")) == before
    assert outside.read_text() == "theirs"


def test_links_are_not_followed(files: MemoryFiles, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    folder = folder_of(files)
    folder.mkdir(exist_ok=True)
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "out").symlink_to(tmp_path)
    for path in ("/memories/link.md", "/memories/out/secret.md", "/memories/out/new.md"):
        with pytest.raises(VaultmemError):
            files.view(path)
        with pytest.raises(VaultmemError):
            files.create(path, "x")
        with pytest.raises(VaultmemError):
            files.str_replace(path, "secret", "x")
    assert (tmp_path / "secret.md").read_text() == "secret"
    assert "link" not in files.view("/memories")


def test_no_secret_is_written_by_any_command_nor_into_a_name(files: MemoryFiles) -> None:
    """A command is JSON: removing a secret from one of its texts leaves the others whole."""
    key = "ghp_" + "aB3d" * 9
    for at, (text, _) in enumerate(SECRETS[::8]):
        files.create(f"/memories/{at}.md", f"Of {at}\n{text}")
        assert "[redacted: " in files.view(f"/memories/{at}.md"), text
    files.create(f"/memories/inbox/Key {key}.md", "A key")
    files.create("/memories/inbox/Plain.md", "alpha")
    files.insert("/memories/inbox/Plain.md", 1, f"the key is {key}")
    files.str_replace("/memories/inbox/Plain.md", "alpha", f"{key} is one")
    files.rename("/memories/inbox/Plain.md", f"/memories/inbox/New {key}.md")
    for path in folder_of(files).rglob("*.md"):
        assert key not in path.name + path.read_text(), path


def test_no_code_is_written_that_an_editor_would_run_not_even_in_parts(files: MemoryFiles) -> None:
    files.create("/memories/b.md", "a <X% y %>\n``X`dataviewjs\n```\n")
    files.str_replace("/memories/b.md", "<X", "<")
    files.str_replace("/memories/b.md", "``X`", "```")
    files.insert("/memories/b.md", 2, "```\n{{query x}}\n```")
    own = folder_of(files) / "b.md"
    assert not [sign for sign in ("<%", "```dataviewjs", "{{") if sign in own.read_text()]
    mine = own.with_name("mine.md")
    mine.write_text("`= this.x` and Ann")
    files.str_replace("/memories/mine.md", "Ann", "Eve")
    assert "`= this.x` and Eve" in mine.read_text()


def test_what_is_made_is_a_memory_of_the_assistant(files: MemoryFiles) -> None:
    files.create("/memories/progress.txt", "Step 1 is done.\n")
    files.create("/memories/preferences/Tea.md", "Anne drinks tea.")
    made = {memory["title"]: memory for memory in files.vault.memories()}
    assert made["progress.txt"]["content"] == "Step 1 is done."
    assert {each["agent"] for each in made.values()} == {"claude"}
    assert (made["Tea"]["category"], made["Tea"]["phase"]) == ("preferences", "organized")
    assert [
        memory["title"] for memory in files.vault.memories(agent="claude", category="preferences")
    ] == ["Tea"]
    assert all(len(each["id"]) == 36 for each in made.values())
    files.vault.dream(2)
    assert files.view("/memories/progress.txt").endswith("1\tStep 1 is done.\n     2\t")
    by = {each["by"] for each in files.vault.history()}
    assert "claude" in by


def test_deleting_archives_and_undo_brings_back(files: MemoryFiles) -> None:
    files.create("/memories/work/a.md", "one")
    files.create("/memories/work/b.md", "two")
    (folder_of(files) / "work" / "photo.png").write_bytes(b"\x89PNG\xff")
    files.delete("/memories/work")
    assert not (folder_of(files) / "work").exists()
    gone = files.vault.memories(deleted=True)
    assert sorted(each["content"] for each in gone) == ["one", "two"]
    assert (folder_of(files) / "archive/notes/work/photo.png").read_bytes() == b"\x89PNG\xff"
    with pytest.raises(VaultmemError, match="does not exist"):
        files.view("/memories/work/a.md")
    with pytest.raises(VaultmemError):
        files.view("/memories/archive")
    files.vault.undo(last=True)
    assert files.view("/memories/work/a.md").endswith("1\tone")


def test_a_persons_memory_keeps_its_properties_but_is_shared(files: MemoryFiles) -> None:
    file = folder_of(files) / "people" / "Bob.md"
    file.parent.mkdir(parents=True)
    before = "---\n# a comment\nid: bob-1\ntags: [x]\ncustom:   odd\n---\nBob likes tea.\n"
    file.write_text(before)
    assert files.view("/memories/people/Bob.md").endswith("     1\tBob likes tea.\n     2\t")
    files.str_replace("/memories/people/Bob.md", "tea", "coffee")
    after = file.read_text()
    for line in ("# a comment", "tags: [x]", "custom:   odd", "agent: claude", "Bob likes coffee."):
        assert f"\n{line}\n" in after
    files.rename("/memories/people/Bob.md", "/memories/preferences/Bob.md")
    assert files.vault.read("bob-1")["category"] == "preferences"


def test_what_a_person_approved_is_not_edited_under_their_word(vault: Path) -> None:
    files = MemoryFiles(str(vault), by="assistant")  # one with a name needs no approval
    files.create("/memories/preferences/Tea.md", "Anne drinks tea.")
    own = files.vault.memories()[0]["id"]
    files.vault.sync()
    files.vault.pending()
    files.vault.done(approval_id(own))
    with pytest.raises(VaultmemError, match="approved"):
        files.str_replace("/memories/preferences/Tea.md", "tea", "the vault's passwords")
    assert files.vault.read(own)["content"] == "Anne drinks tea."


@each_case(
    "name", ["pending.md", "archive/a.md", "entries/a.md", ".obsidian/app.json", ".hidden.md", "EXPECTATIONS.MD", "Entries/a.md",
             "work/node_modules/a.md", "pending.sync-conflict-20261121-101500-ABCDEFG.md"]
)  # fmt: skip
def test_vaultmems_own_files_are_neither_seen_nor_made(files: MemoryFiles, name: str) -> None:
    with pytest.raises(VaultmemError, match="reserved"):
        files.create(f"/memories/{name}", "x")
    with pytest.raises(VaultmemError, match="does not exist"):
        files.view(f"/memories/{name}")
    assert not list(folder_of(files).rglob("*.md"))


@each_case("text", ["x" * (MAX_CONTENT + 1), "a\0b", "\ud800", "bell\x07"])
def test_what_no_memory_can_hold_is_refused(files: MemoryFiles, text: str) -> None:
    with pytest.raises(VaultmemError):
        files.create("/memories/a.md", text)
    assert not list(folder_of(files).rglob("*.md"))


@pytest.mark.parametrize(
    "command", [{}, {"command": "view"}, {"command": "view", "path": 5}, {"command": "create", "path": "/memories/a"},
                {"command": ["x"]}, {"command": "insert", "path": "/memories/a.md", "insert_line": "1", "insert_text": "x"},
                {"command": "explode", "path": "/memories"}]
)  # fmt: skip
def test_commands_of_any_shape_get_an_answer(files: MemoryFiles, command: dict[str, Any]) -> None:
    files.create("/memories/a.md", "x")
    with pytest.raises(VaultmemError):
        files.call(command)


def test_a_text_that_is_everywhere_is_not_named_everywhere(files: MemoryFiles) -> None:
    """The places of a text that occurs a hundred thousand times filled the context of a model, and took minutes."""
    files.create("/memories/a.md", "e\n" * 100_000)
    for old in ("", "e"):
        with pytest.raises(VaultmemError, match=r"in lines: 1, .*, …\. Please") as error:
            files.str_replace("/memories/a.md", old, "x")
        assert len(str(error.value)) < 1_000


def test_in_logseq_the_lines_are_blocks(tmp_path: Path) -> None:
    files = MemoryFiles(str(fill(tmp_path / "graph", {"logseq/config.edn": "{}"})))
    files.create("/memories/knowledge/Tea.md", "Anne drinks tea.\nAlso coffee.")
    files.str_replace("/memories/knowledge/Tea.md", "coffee", "milk")
    (file,) = folder_of(files).rglob("*Tea.md")
    assert "agent:: claude" in file.read_text()
    assert "- Anne drinks tea." in file.read_text()
    assert "Also milk." in files.view("/memories/knowledge/Tea.md")


PRIVATE = "---\nprivate: true\n---\nThe code of the safe is 4711.\n"
STRAYS = {
    "Stray.md": PRIVATE, "work/Stray.md": PRIVATE, "people/Dropped.md": PRIVATE, "notes.txt": PRIVATE,
    "people/Bob.md": PRIVATE.replace("private", "id: bob-1\nprivate"),
    "people/Bob.sync-conflict-20261121-101500-ABCDEFG.md": PRIVATE.replace("private", "id: bob-1\nprivate"),
    "people/Broken.md": "---\nprivate: true\nx: [\n---\nThe code of the safe is 4711.\n",
    "people/Zoe\u0308.md": PRIVATE, "archive.txt/Deep.md": PRIVATE, "Wide.md": PRIVATE,
}  # fmt: skip


@pytest.mark.parametrize("name", STRAYS)
def test_what_is_private_is_not_there_memory_or_not(files: MemoryFiles, name: str) -> None:
    file = folder_of(files) / name
    before = STRAYS[name].encode("utf-16" if name == "Wide.md" else "utf-8")
    path = f"/memories/{name}"
    fill(file.parent, {file.name: before, "Open.md": "Nothing private.\n"})
    top = path.rpartition("/")[0]
    assert file.name not in files.view("/memories")
    assert "4711" not in files.view(top)
    assert "Open.md" in files.view(top)
    for done in (
        lambda: files.view(path), lambda: files.str_replace(path, "4711", "0"), lambda: files.insert(path, 0, "x"),
        lambda: files.delete(path), lambda: files.rename(path, "/memories/mine.md"),
        lambda: files.rename("/memories/Nothing.md", path), lambda: files.create(f"{path}/below.md", "x"),
    ):  # fmt: skip
        with pytest.raises(VaultmemError) as told:
            done()
        assert "4711" not in str(told.value)
    files.create(path, "Another one.")
    assert files.view(path).endswith("Another one.")
    if "/" in name:
        files.rename(top, "/memories/elsewhere")
        files.delete("/memories/elsewhere")
    assert file.read_bytes() == before


def test_what_has_become_private_is_gone_at_once(files: MemoryFiles) -> None:
    files.create("/memories/a.md", "The code is 4711.")
    files.create("/memories/b.txt", "The code is 4711.")
    assert "4711" in files.view("/memories/a.md")
    for file in folder_of(files).glob("*.md"):
        text = file.read_text().replace("agent:", "private: true\nagent:")
        file.write_text(text)
    for path in ("/memories/a.md", "/memories/b.txt"):
        with pytest.raises(VaultmemError, match="does not exist"):
            files.view(path)


@pytest.mark.parametrize(
    "name", ["a:b?.md", "CON.md", "nul.txt", 'say "hi".md', "ends .md", "com1", "<x>|*.md"]
)
def test_a_name_that_some_system_forbids_is_replaced(files: MemoryFiles, name: str) -> None:
    path = f"/memories/people/{name}"
    files.create(path, "one\n")
    assert "one" in files.view(path)
    files.str_replace(path, "one", "two")
    assert name in files.view("/memories/people")
    (file,) = (folder_of(files) / "people").iterdir()
    assert not tool_files.is_unportable(file.name.removesuffix(".md"))
    assert "two" in file.read_text()
    files.rename(path, f"/memories/work/{name}")
    assert "two" in files.view(f"/memories/work/{name}")
    files.delete(f"/memories/work/{name}")
    assert not [*(folder_of(files) / "work").glob("*.md")]


@each_case("folder", ["a:b", "CON", "x?", "ends."])
def test_such_a_folder_is_refused(files: MemoryFiles, folder: str) -> None:
    with pytest.raises(VaultmemError, match="choose another name"):
        files.create(f"/memories/{folder}/x.md", "one")
