"""Whatever the vault, the disk and the state folder look like: one clear line or a repaired index, and no byte of a
note changes."""

import errno
import json
import os
import socket
import time
from functools import partial
from pathlib import Path

import pytest

from tests.bad_input_vault import Mark, found, state, sync_cli, untouched
from tests.cli_run import on, one_line
from tests.conftest import Write, fill
from tests.effort import is_linear, takes_less
from tests.index_dump import assert_equals_rebuilt, catalog_dump, synced
from vaultmem.vault import files

__all__ = ["state", "untouched"]  # fixtures


@pytest.mark.parametrize(
    "command", ["sync", "search word", "status", "doctor", "tasks", "unresolved", "init", "stop"]
)
def test_no_such_folder(tmp_path: Path, command: str) -> None:
    ended = on(tmp_path / "nowhere", *command.split(), "--format", "text")
    assert ended.code == 1
    assert "nowhere does not exist" in one_line(ended)
    assert not ended.out


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [("TZ", "UTC+99", "a day from UTC"), ("VAULTMEM_NOW", "9999-12-31T23:00", "the year 9999")],
)
def test_a_clock_that_cannot_be_right(
    vault: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, problem: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv(variable, value)
        time.tzset()
        for command in ("recall tea", "write tea", "pending"):
            ended = on(vault, *command.split(), "--format", "text")
            assert ended.code == 2
            assert problem in one_line(ended)
    time.tzset()


def test_whatever_is_no_note(vault: Path, write: Write, untouched: Mark, tmp_path: Path) -> None:
    write("Good.md", "A good apple.")
    write("folder.md/Inner.md", "An inner apple.")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secretword")
    os.mkfifo(vault / "pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(vault)
        server.bind("socket.md")
        os.chdir(here)
        (vault / "loop.md").symlink_to("loop.md")
        (vault / "up").symlink_to("..")
        (vault / "out").symlink_to(outside)
        (vault / "secret.md").symlink_to(outside / "secret.md")
        (vault / "broken.md").symlink_to("nothing.md")
        untouched()
        assert sync_cli(vault).code == 0
    assert sorted(found(vault, "apple")) == ["Good.md", "folder.md/Inner.md"]
    assert found(vault, "secretword") == []
    troubles = {path for path, _ in catalog_dump(vault)["troubles"]}
    assert troubles == {"pipe.md", "socket.md", "loop.md", "up", "out", "secret.md", "broken.md"}
    shown = on(vault, "doctor", "--format", "text")
    assert shown.code == 0
    assert "secret.md" in shown.out


def test_names_and_content_that_are_no_utf8(
    vault: Path, write: Write, untouched: Mark, tmp_path: Path
) -> None:
    try:
        Path(os.fsdecode(os.fsencode(vault) + b"/caf\xe9.md")).write_bytes(b"latin name")
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    write("Latin.md", "Ein schöner Apfel.".encode("latin-1"))
    write("Wide.md", "An apple in sixteen bits.".encode("utf-16"))
    write("Nul.md", b"apple\0apple")
    write("All.md", b"apple\n" + bytes(range(256)) * 40)
    write("line\nbreak.md", "apple")
    write("\x1b[31mred.md", "apple")
    untouched()
    assert sync_cli(vault).code == 0
    assert set(found(vault, "apple")) == {
        "Wide.md", "Nul.md", "All.md", "line\nbreak.md", "\x1b[31mred.md",
    }  # fmt: skip
    assert found(vault, "apfel") == ["Latin.md"]
    shown = on(vault, "doctor", "--format", "text")
    assert "\\xe9" in shown.out
    assert "\x1b" not in on(vault, "search", "apple", "--format", "text").out
    assert_equals_rebuilt(vault, tmp_path / "scratch")


def test_unreadable_note(
    vault: Path, write: Write, untouched: Mark, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("Good.md", "apple")
    write("Closed.md", "apple")
    untouched()
    opened = files.Inside.open

    def refuse(inside: files.Inside, path: str) -> int:
        if path == "Closed.md":
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(inside, path)

    with monkeypatch.context() as patched:
        patched.setattr(files.Inside, "open", refuse)
        assert sync_cli(vault).code == 0
        assert found(vault, "apple") == ["Good.md"]
        (finding, *others) = on(vault, "doctor", "--json").data["findings"]
        assert finding["places"] == ["Closed.md: cannot be read: Permission denied"]
        assert "permissions" in finding["advice"]
        assert not [other for other in others if "since the last sync" in other["what"]]
    assert sync_cli(vault).code == 0
    assert sorted(found(vault, "apple")) == ["Closed.md", "Good.md"]


def test_a_very_large_note(vault: Path, write: Write, untouched: Mark) -> None:
    large = write("Large.md", "The first apple.\n\n")
    with large.open("r+b") as file:
        file.truncate(50_000_000)
    write("Small.md", "An apple.")
    untouched()
    assert takes_less(30, lambda: sync_cli(vault))
    assert sorted(found(vault, "apple")) == ["Large.md", "Small.md"]
    assert "50.0 MB long" in str(catalog_dump(vault)["troubles"])


FRONT_MATTER = {
    "surrogate": '---\ntitle: "\\ud800"\ntags: ["a\\udfff"]\naliases: ["\\ud83d"]\n---\napple',
    "huge number": f"---\nn: {'9' * 5000}\nh: 0x{'f' * 6000}\n---\napple",
    "infinite": "---\na: .inf\nb: .nan\nc: -.inf\nagent: .nan\n---\napple",
    "bomb": "---\na: &a [x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{b}: &{b} [{', '.join(['*' + a] * 8)}]\n"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "---\napple",
    "nested": f"---\na: {'[' * 30_000}\n---\napple",
    "nested maps": "---\n" + "".join(f"{' ' * n}k:\n" for n in range(300)) + "---\napple",
    "nested and closed": f"---\na: {'[' * 60}{']' * 60}\n---\napple",
    "odd keys": "---\n1: x\nnull: y\n[a, b]: z\n? {c: d}\n: e\n---\napple",
    "tabs": "---\n\ta: 1\n---\napple",
    "duplicate": "---\na: 1\na: 2\n---\napple",
    "odd types": "---\ntags: {a: 1}\naliases: [[x], {y: 1}, null, 3]\ncategory: [a]\nid: {x: y}\ncreated_at: 12\n---\napple",
    "python": "---\na: !!python/object/apply:os.system [exit]\n---\napple",
    "nul": "---\na: \0\n---\napple",
}


def test_hostile_front_matter(vault: Path, write: Write, untouched: Mark) -> None:
    names = [f"{name.replace(' ', '-')}.md" for name in FRONT_MATTER]
    for name, text in zip(names, FRONT_MATTER.values(), strict=True):
        write(name, text)
        write(f"vaultmem/people/{name}", text)
    write("Good.md", "---\nagent: claude\n---\nA good apple.")
    untouched()
    assert sync_cli(vault).code == 0
    ended = on(vault, "search", "apple", "--limit", "99", "--format", "json")
    paths = {result["path"] for result in ended.data["results"]}
    assert paths == {"Good.md", *names, *(f"vaultmem/people/{name}" for name in names)}
    commands = [
        "search apple --agent claude", "doctor", "status", "related Good.md", "tasks --all",
        "backlinks Good.md --mentions", "unresolved",
        *(f"{command} {name}" for name in names for command in ("links", "why apple")),
    ]  # fmt: skip
    for number, command in enumerate(commands):
        for shape in ("text", "json") if number < 7 else (("text", "json")[number // 2 % 2],):
            ended = on(vault, *command.split(), "--format", shape)
            assert ended.code == 0, (command, ended.err)
    narrowed = on(vault, "search", "apple", "--agent", "claude", "--format", "json")
    assert [result["path"] for result in narrowed.data["results"]] == ["Good.md"]


# Each with n letters and with 8n letters.
HOSTILE = {
    "brackets": "[", "wikilinks": "[[", "closed": "]]", "ticks": "`", "ticks and blanks": "` ", "dollars": "$",
    "dollars and blanks": "$ x", "fences": "```\n", "fences and tildes": "~~~\n```\n", "quotes": "> ", "stars": "**a:** ", "comments": "<!-- ",
    "percent": "%% ", "hashes": "#", "tags": "#a ", "tables": "|a", "bullets": "- ", "deep bullets": "\t- x\n",
    "markdown links": "[a](b ", "nested links": "[[a [[b]] ", "embeds": "![[x|", "block references": "((", "brace": "{{embed ",
    "properties": "a:: b\n", "tasks": "- [ ] \U0001f4c5 ", "backslashes": "\\", "angle": "<a ", "parentheses": "(",
    "dates": "2026-11-2 ", "urls": "http://a", "han": "这", "emoji": "\U0001f600", "carets": "^a ", "newlines": "\n",
    "numbers": "1. ", "setext": "a\n=\n", "colons": "a: ", "spaces": " ", "one word": "a", "nul": "\0",
}  # fmt: skip

SIZE = 4_000


@pytest.mark.parametrize("dialect", ["obsidian", "logseq"])
def test_hostile_notes_cost_linear_time(tmp_path: Path, dialect: str) -> None:
    vault = tmp_path / "hostile"
    synced(
        fill(vault, {"logseq/config.edn" if dialect == "logseq" else ".obsidian/app.json": "{}"})
    )

    def sync(unit: str, size: int) -> None:
        (vault / "Note.md").write_text(unit * (size // len(unit)))
        synced(vault)

    slow = [
        name for name, unit in HOSTILE.items() if not is_linear(partial(sync, unit), SIZE, 8 * SIZE)
    ]
    assert not slow
    assert_equals_rebuilt(vault, tmp_path / "scratch")


def test_long_lines_and_many_lines(vault: Path, write: Write, untouched: Mark) -> None:
    write("Line.md", "apple [[x]] " * 22_000)
    write("Lines.md", "- an apple\n" * 50_000)
    write("Word.md", "a" * 250_000)
    write("Headings.md", "# h\n" * 12_000)
    untouched()
    assert takes_less(20, lambda: sync_cli(vault))
    assert {"Line.md", "Lines.md"} <= set(found(vault, "apple"))


def test_a_vault_that_vanishes(vault: Path, write: Write, tmp_path: Path) -> None:
    for number in range(30):
        write(f"Note {number}.md", f"apple {number}")
    synced(vault)
    before = catalog_dump(vault)
    vault.rename(tmp_path / "unplugged")
    assert "does not exist" in one_line(sync_cli(vault))
    vault.mkdir()
    for command in ("sync --no-embed", "sync --no-embed --rebuild"):
        ended = on(vault, *command.split(), "--format", "text")
        assert ended.code == 1, command
        assert "nothing is written, and no note counts as removed" in one_line(ended)
        assert catalog_dump(vault) == before
    assert len(found(vault, "apple")) == 10
    vault.rmdir()
    (tmp_path / "unplugged").rename(vault)
    assert sync_cli(vault).code == 0
    assert catalog_dump(vault) == before


def test_most_notes_removed(vault: Path, write: Write, tmp_path: Path) -> None:
    for number in range(60):
        write(f"Note {number}.md", f"apple {number}")
    synced(vault)
    for number in range(25):
        (vault / f"Note {number}.md").unlink()
    ended = on(vault, "sync", "--no-embed", "--format", "json")
    assert ended.code == 1
    assert "--confirm-removals" in json.loads(ended.err)["error"]
    confirmed = on(vault, "sync", "--no-embed", "--confirm-removals", "--format", "json")
    assert confirmed.data["removed"] == 25
    assert_equals_rebuilt(vault, tmp_path / "scratch")
