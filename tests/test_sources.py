"""Sources read what others keep: the right files, as their program reads them, and never out of their folder."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli_run import tree_hash
from tests.conftest import fill
from vaultmem import plugins
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.exchange import source as installed
from vaultmem.exchange.source import Skipped, SourceText

Tree = Callable[[dict[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Some files in a folder."""
    return lambda files: fill(tmp_path / "home" / "there", files)


def found(name: str, root: Path) -> dict[str, SourceText]:
    read = installed.installed()[0][name].read(str(root))
    return {each.path: each for each in read if isinstance(each, SourceText)}


def passed(name: str, root: Path) -> dict[str, str]:
    read = installed.installed()[0][name].read(str(root))
    return {each.path: each.reason for each in read if isinstance(each, Skipped)}


def test_claude_gives_instructions_and_memories_and_nothing_of_its_plugins(tree: Tree) -> None:
    home = "-".join(["", *Path(os.path.realpath(tree({}).parent)).parts[1:]])
    project = "".join(c if c.isalnum() else "-" for c in home) + "-site"
    read = found(
        "claude",
        tree({
            "CLAUDE.md": "Always run the tests.",
            "rules/python.md": "Use ruff.",
            f"projects/{project}/memory/likes.md": "---\nname: Tea\ntype: user\n---\nAnne likes tea. [[Anne]]",
            f"projects/{project}/memory/MEMORY.md": "- [Tea](likes.md)",
            f"projects/{project}/CLAUDE.md": "The site.",
            f"projects/{project}/talk.jsonl": "{}",
            "plugins/x/CLAUDE.md": "Somebody else's.",
            "projects/CLAUDE.txt": "no",
        }),
    )  # fmt: skip
    inner = f"projects/{project}"
    assert [*read] == ["CLAUDE.md", f"{inner}/CLAUDE.md", f"{inner}/memory/likes.md", "rules/python.md"]  # fmt: skip
    tea = read[f"{inner}/memory/likes.md"]
    assert (tea.title, tea.text, tea.kind) == ("Tea", "Anne likes tea. [[Anne]]", "memory")
    assert tea.properties["type"] == "user"
    assert tea.properties["project"] == "site"
    assert read["CLAUDE.md"].kind == "instructions"


def test_a_part_of_its_folder_says_as_much_as_the_whole(tree: Tree) -> None:
    root = tree({".claude/projects/-home-me-shop/memory/a.md": "a", ".claude/rules/r.md": "r"})
    own = root / ".claude"
    whole = found("claude", own)
    memory = whole["projects/-home-me-shop/memory/a.md"]
    assert memory.properties["project"] == "home-me-shop"
    for part in ("", "/-home-me-shop", "/-home-me-shop/memory", "/-home-me-shop/memory/a.md"):
        (one,) = found("claude", Path(f"{own}/projects{part}")).values()
        assert one.properties == memory.properties
    assert whole["rules/r.md"].kind == "instructions"
    assert found("claude", own / "rules")["r.md"].kind == "instructions"


def test_instructions_are_read_in_all_folders_of_a_project(tree: Tree) -> None:
    others = {
        f"{name}/x/{file}": "no"
        for name in (
            "plugins", "sub/node_modules", "third_party", "Pods", "sub/deps", "dist", "build", "target",
        )
        for file in ("AGENTS.md", "CLAUDE.md")
    }  # fmt: skip
    root = tree(
        {
            "sub/AGENTS.md": "a",
            "a/b/CLAUDE.md": "c",
            "sub/GEMINI.md": "g",
            "sub/NOTES.md": "no",
            **others,
        }
    )
    assert [*found("codex", root)] == ["sub/AGENTS.md"]
    assert [*found("gemini", root)] == ["sub/AGENTS.md", "sub/GEMINI.md"]
    assert [*found("claude", root)] == ["a/b/CLAUDE.md"]


def test_what_is_cut_is_said(tree: Tree) -> None:
    root = tree({"a.md": "x" * 5_001, "b/c.md": "y" * 5_000, "chat.md": "z" * 7_000, "d.txt": "no"})
    read = found("car-agent", root)
    assert [*read] == ["a.md", "b/c.md", "chat.md"]
    assert (len(read["a.md"].text), read["a.md"].cut) == (
        5_000,
        "only the first 5,000 of 5,001 characters are read",
    )
    assert read["b/c.md"].cut == ""
    assert [*found("fingersaver", root)] == ["chat.md"]


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_" + "aB3" * 12,
        "password: Sup3rS3cretPassw0rd!!xyz",
        f"eyJ{'aB3' * 10}.eyJ{'aB3' * 1_200}.{'xY7' * 30}",
        f"id_token=eyJ{'aB3' * 10}.eyJ{'aB3' * 5_000}.{'xY7' * 30}",
    ],
)
def test_no_half_of_a_secret_is_left_where_a_text_is_cut(tree: Tree, secret: str) -> None:
    root = tree({"a.md": "word " * 995 + secret + " more\n"})
    text = found("car-agent", root)["a.md"].text
    assert text.startswith(("word " * 995).strip())
    assert not any(part in text for part in ("aB3", "Sup3r"))


def test_an_obsidian_vault_is_read_as_obsidian_does(tree: Tree) -> None:
    root = tree({
        ".obsidian/app.json": '{"userIgnoreFilters": ["Templates/"]}',
        ".trash/gone.md": "no",
        "Tea.md": "---\naliases: [Green tea]\ntags: [drink]\nup: '[[Drinks]]'\nprivate: true\n---\nGood with [[Anne]]. #warm",
        "Templates/x.md": "hidden",
        "vaultmem/pending.md": "ours",
        "vaultmem/archive/old.md": "put away",
        "image.png": "no",
    })  # fmt: skip
    read = found("obsidian", root)
    assert [*read] == ["Tea.md"]
    tea = read["Tea.md"]
    assert (tea.title, tea.text) == ("Tea", "Good with [[Anne]]. #warm")
    assert (tea.aliases, tea.tags, tea.links) == (("Green tea",), ("drink", "warm"), ("Drinks",))
    assert tea.properties["private"] is True
    assert passed("obsidian", root) == {"Templates/x.md": "hidden by the settings of its vault"}


def test_a_logseq_graph_is_read_as_logseq_does(tree: Tree) -> None:
    root = tree({
        "logseq/config.edn": "{:meta/version 1}",
        "logseq/bak/pages/old.md": "- no",
        "pages/Tea.md": "alias:: Green tea\ntags:: drink\n\n- Good with [[Anne]]",
        "journals/2026_11_22.md": "- Had tea",
    })  # fmt: skip
    read = found("logseq", root)
    assert [*read] == ["journals/2026_11_22.md", "pages/Tea.md"]
    tea = read["pages/Tea.md"]
    assert (tea.aliases, tea.tags) == (("Green tea",), ("drink",))
    assert "Good with [[Anne]]" in tea.text
    assert "alias::" not in tea.text
    assert read["journals/2026_11_22.md"].kind == "journal"


@pytest.mark.parametrize("name", ["text", "obsidian", "logseq", "car-agent", "claude"])
def test_a_hostile_tree(tree: Tree, tmp_path: Path, name: str) -> None:
    root = tree(
        {"CLAUDE.md": "good", "projects/p/memory/good.md": "good", "pages/good.md": "- good"}
    )
    (tmp_path / "outside.md").write_text("outside")
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    (root / "projects" / "loop").symlink_to(root)
    (root / "rules").symlink_to(tmp_path)
    os.mkfifo(root / "fifo.md")
    with (root / "sparse.md").open("wb") as file:
        file.truncate(1 << 30)
    (root / "bad.md").write_bytes(b"caf\xe9 \xff")
    (root / "binary.md").write_bytes(b"\x7fELF\0\0\0")
    (root / "line\nbreak.md").write_text("a name of two lines")
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.md")).write_text("a name that is not UTF-8")
    (root / "\u202eevil.md").write_text("turned \x1b[31m around")
    (root / ".hidden.md").write_text("hidden")
    before = tree_hash(root)
    read, left = found(name, root), passed(name, root)
    assert tree_hash(root) == before
    assert not any("outside" in each.text or "hidden" in each.text for each in read.values())
    assert any("good" in each.text for each in read.values())
    assert not any("\x1b" in each.text or "\n" in each.path for each in read.values())
    if name != "claude":
        assert {"sparse.md", "bad.md", "binary.md", "fifo.md"} <= left.keys()
        assert "1,073.7 MB long" in left["sparse.md"]
    assert "a symbolic link" in left["projects/loop"]


# --- which folder


def chosen(name: str, path: Path | None, vault: Path, home: Path) -> list[str]:
    found_ = installed.choose_places(name, str(path) if path else None, str(vault), str(home))
    return [place.root for place in found_.places]


def test_the_vault_itself_is_refused_however_it_is_called(vault: Path, tmp_path: Path) -> None:
    (vault / "inner").mkdir()
    (tmp_path / "alias").symlink_to(vault)
    for path in (
        vault,
        vault / "inner",
        tmp_path / "alias",
        tmp_path / "alias" / "inner",
        vault / "inner" / "..",
    ):
        with pytest.raises(VaultmemError, match="belongs to the vault itself"):
            chosen("obsidian", path, vault, tmp_path)
    assert chosen("text", tmp_path, vault, tmp_path) == [str(tmp_path)]


def test_usual_places(vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    other = tmp_path / "other"
    for folder in (home / ".claude", home / "logseq", home / ".config" / "obsidian", other):
        folder.mkdir(parents=True)
    (home / ".config" / "obsidian" / "obsidian.json").write_text(
        f'{{"vaults": {{"a": {{"path": "{other}"}}, "b": {{"path": "{vault}"}}, "c": {{"path": "/away"}}}}}}'
    )
    usual = [str(home / ".claude"), str(home / "logseq"), str(other)]
    assert chosen("all", None, vault, home) == usual
    (home / ".config").rename(home / "settings")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "settings"))
    assert chosen("all", None, vault, home) == usual
    remarks = installed.choose_places("obsidian", None, str(vault), str(home)).remarks
    assert remarks == [
        "obsidian: /away is not there",
        f"obsidian: {vault} belongs to the vault itself, whose notes need no import",
    ]


@pytest.mark.parametrize(
    "listed", ["", "[]", "{", '{"vaults": 3}', '{"vaults": {"a": 1}}', "[" * 100_000]
)
def test_a_broken_list_of_vaults_is_none(vault: Path, tmp_path: Path, listed: str) -> None:
    fill(tmp_path, {".config/obsidian/obsidian.json": listed})
    with pytest.raises(VaultmemError, match="there is nothing to read for obsidian; name a folder"):
        chosen("obsidian", None, vault, tmp_path)


CANNOT = {
    ("nonsense", None): (UsageError, "unknown source 'nonsense'; known: car-agent, claude"),
    ("all", "."): (UsageError, "--path goes with one source"),
    ("text", "/not/there"): (VaultmemError, "/not/there is not there"),
    ("text", None): (VaultmemError, "name a folder with --path"),
}


@pytest.mark.parametrize("asked", CANNOT)
def test_the_unreadable_is_told(vault: Path, tmp_path: Path, asked: tuple[str, str | None]) -> None:
    kind, said = CANNOT[asked]
    with pytest.raises(kind, match=said):
        installed.choose_places(*asked, str(vault), str(tmp_path))


def test_a_source_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "registered", lambda _: {"broken": "elsewhere:source"})
    found_, troubles = installed.installed.__wrapped__()
    assert not found_
    assert troubles == ("the source 'broken' cannot be loaded: No module named 'elsewhere'",)
