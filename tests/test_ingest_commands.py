"""Ingesting as a command: its output and refusals, text from stdin, and items of other programs."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import on, one_line, ran, tree_hash
from tests.ingested import command, memories, other
from vaultmem import Vault
from vaultmem.errors import VaultmemError

__all__ = ["other"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")


def test_the_command_says_what_came_in_and_what_did_not(vault: Path, other: Path) -> None:
    ended = command(vault, "--source", "obsidian", "--path", str(other), "--format", "text")
    assert ended.code == 0
    assert "Wifi.md (obsidian): 1 memory; redacted: password\n" in ended.out
    assert "left out: Empty.md: it is empty" in ended.err
    assert "of 5 new files, 1 known, 1 skipped, 1 secret taken out" in ended.err
    assert "until you approve them: vaultmem approve --source obsidian" in ended.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "name a --source, or give a --text"),
        (("--source", "nonsense"), 2, "unknown source 'nonsense'"),
        (("--source", "obsidian", "--path", "/not/there"), 1, "/not/there is not there"),
        (("--source", "claude", "--tags", "x"), 2, "--tags goes with --text"),
        (("--source", "claude", "--limit", "0"), 2, "--limit must be from 1"),
        (("--text", "x", "--path", "y"), 2, "--path and --limit go with a --source"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said_in_one_line(
    vault: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    ended = command(vault, *words)
    assert ended.code == code
    assert said in one_line(ended)


def test_the_vault_itself_is_refused_and_left_out_of_what_holds_it(
    vault: Path, tmp_path: Path
) -> None:
    (vault / "Mine.md").write_text("Mine is here already.\n")
    (tmp_path / "Beside.txt").write_text("Beside the vault lies a text.\n")
    assert "belongs to the vault itself" in one_line(
        command(vault, "--source", "text", "--path", str(vault))
    )
    report = command(vault, "--source", "text", "--path", str(tmp_path), "--format", "json").data
    results = {each["path"]: each["result"] for each in report["files"]}
    assert results["Beside.txt"] == "new"
    assert "vault/Mine.md" not in results
    assert "it is the vault itself" in [each["reason"] for each in report["files"]]


def test_text_from_stdin_and_all_from_home(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = b"Anne Miller prefers green tea to coffee since 2019.\ntoken: 8fA2-kd93-Lq01-zz7Y-p4\n"
    said = on(vault, "ingest", "--source", "text", "--format", "json", stdin=fact).data
    assert said["redacted"] == ["token"]
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / "CLAUDE.md").write_text("Always run the tests before a commit.\n")
    monkeypatch.setenv("HOME", str(home))
    report = command(vault, "--source", "all", "--format", "json").data
    assert report["places"] == [str(home / ".claude")]
    assert report["counts"]["new"] == 1
    assert any("is not there" in remark for remark in report["remarks"])


def test_a_folder_without_anything_of_its_kind_is_named(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "README.md").write_text("A site.")
    report = command(vault, "--source", "claude", "--path", str(tmp_path / "site"), "--format", "json").data  # fmt: skip
    assert report["counts"]["new"] == 0
    assert report["remarks"] == [f"{tmp_path / 'site'} has nothing that this source reads: Claude Code: CLAUDE.md, rules, the memory of its projects and agents"]  # fmt: skip


MINUTES = (
    "Minutes of 3 March 2026 with Anne Keller and Bob Ross in Lisbon.\n\nWe decided to move the Gauge Monitor to"
    " Kubernetes because the old machines at Hetzner cost 400 euros a month. Anne writes the plan until April and Bob"
    " keeps the backup jobs running until then, every night.\n\nI prefer short meetings in the morning, and I always want"
    " an agenda a day before.\n"
)


@pytest.mark.parametrize("first", ["stdin", "file"])
def test_a_text_is_the_same_from_stdin_and_from_a_file(
    vault: Path, tmp_path: Path, first: str
) -> None:
    file = tmp_path / "minutes.txt"
    file.write_text(MINUTES)

    def by_stdin() -> int:
        given = ("ingest", "--source", "text", "--vault", str(vault), "--format", "json")
        return sum(
            each["result"] == "new" for each in ran(*given, stdin=MINUTES.encode()).data["parts"]
        )

    def by_file() -> int:
        given = ("--source", "text", "--path", str(file), "--format", "json")
        return int(command(vault, *given).data["counts"]["memories"])

    one, other = (by_stdin, by_file) if first == "stdin" else (by_file, by_stdin)
    assert (one(), other(), one()) == (2, 0, 0)


def test_an_assistant_cannot_write_a_secret_and_a_person_is_told(
    vault: Path, opened: Vault, tmp_path: Path
) -> None:
    secret = "The router's password: Tr0mbone-77"
    theirs = opened.write(secret, by="claude", title="password: Tr0mbone-77")
    assert (theirs["content"], theirs["redacted"]) == (
        "The router's password: [redacted: password]",
        ["password"],
    )
    assert "Tr0mbone" not in "".join(map(str, memories(vault).items()))
    theirs = opened.remind(f"{secret} tomorrow at 9", agent="codex")
    assert "Tr0mbone" not in theirs["content"]
    labels = dict.fromkeys(("source", "project", "personality", "type"), "ghp_" + "aB3d" * 9)
    label = labels["source"]
    theirs = opened.write("The guest network", by="claude", tags=["wifi", label], **labels)
    assert theirs["tags"] == ["wifi"]
    assert opened.tag(theirs["id"], label, "guests", by="claude")["tags"] == ["wifi", "guests"]
    line = tmp_path / "line.jsonl"
    line.write_text(json.dumps({"properties": {"source": label}, "content": "One more"}))
    refused = on(vault, "import", str(line), "--by", "claude")
    assert (refused.code, "what looks like a secret (GitHub token)" in refused.err) == (1, True)
    assert label not in "".join(map(str, memories(vault).items()))
    mine = opened.write(secret)
    assert (mine["content"], mine["redacted"], mine["secrets"]) == (secret, [], ["password"])
    ended = on(vault, "write", "the", "safe:", "password: Op3n-sesame", "--format", "text")
    assert "this holds what looks like a secret (password)" in ended.err


@pytest.mark.parametrize(
    "item",
    [
        {}, {"text": 3}, {"text": "x", "path": ["a"], "tags": 3, "aliases": {"a": 1}, "links": "l", "title": None},
        {"text": "x" * 300, "title": "t" * 5_000, "path": "../../etc/passwd\n", "properties": {"id": "x", "a\nb": 1, "k": {"deep": 1}}},
        {"text": "\0\ud800", "tags": ["a b", "1", "#", "x" * 900, 7], "properties": {"due": "2020-01-01", "K": float("nan")}},
    ],
)  # fmt: skip
def test_odd_items_make_one_clear_line_or_a_harmless_memory(
    vault: Path, opened: Vault, item: dict[str, Any]
) -> None:
    outside = tree_hash(vault.parent / "vault" / ".obsidian")
    said: object = None
    with contextlib.suppress(VaultmemError):
        said = opened.ask("take-in", source="text", items=[item])
    json.dumps(said)
    folders = {path.partition("/")[0] for path in memories(vault)} if said else set()
    assert folders <= {"inbox"}
    assert all(front["id"] != "x" for front, _ in memories(vault).values())
    assert tree_hash(vault.parent / "vault" / ".obsidian") == outside
