"""Every search that begins after a write finds it: over all doors, with and without an agent."""

import contextlib
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent_run import agent_on
from tests.cli_run import on, process, ran
from tests.index_dump import synced
from tests.laws import some
from vaultmem import Vault, client

ME = "mcp"  # the author at every door, who may see everything
_numbers = itertools.count()


class Lines:
    """An MCP server over stdin and stdout that stays open."""

    def __init__(self, vault: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vaultmem", "mcp", "--vault", str(vault)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        about = {"name": ME, "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=about)

    def ask(self, method: str, **params: object) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        asked = {"jsonrpc": "2.0", "id": next(_numbers), "method": method, "params": params}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        while (said := json.loads(self.process.stdout.readline())).get("id") != asked["id"]:
            pass
        return said["result"]

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


class Doors:
    """One vault, and each way to call a tool with its arguments."""

    def __init__(self, vault: Path, lines: Lines) -> None:
        self.vault, self.lines = vault, lines
        self.python = Vault(str(vault))

    def mcp(self, tool: str, **given: object) -> Any:
        said = self.lines.ask("tools/call", name=tool, arguments=given)
        assert not said["isError"], said
        text = said["content"][0]["text"]
        if paths := re.findall(r"^- (.+?):[\d-]+ \(", text, re.MULTILINE):
            return [{"path": path} for path in paths]  # also archived ones
        ids = re.findall(r"(?<=[( ])[0-9a-f]{8}(?=,|$)", text, re.MULTILINE)
        return [{"path": self.python.find_note(id_)} for id_ in ids]

    def batch(self, tool: str, **given: object) -> Any:
        return self.batches({"name": tool, "params": given})[0]

    def batches(self, *calls: dict[str, object]) -> list[Any]:
        words = ("agent", "--vault", str(self.vault), "--client", ME, "--format", "json")
        ended = ran(*words, stdin=json.dumps(calls).encode())
        assert ended.code == 0, (ended.out, ended.err)
        return [json.loads(line)["data"] for line in ended.out.splitlines()]

    def socket(self, tool: str, **given: object) -> Any:
        asked: dict[str, object] = {"name": tool, "arguments": given, "client": ME}
        said = client.call(str(self.vault), "tools/call", asked)
        return said["data"] if isinstance(said, dict) else self.batch(tool, **given)


def novel(word: str) -> str:
    """A text unlike all others, otherwise it is not important enough to be recalled."""
    digest = hashlib.sha256(word.encode()).hexdigest()
    return f"The deploy key {word} of 2026-11-20 opens " + " ".join(textwrap.wrap(digest, 5))


def finds(found: Any) -> set[str]:
    """The paths of memories that something found."""
    each = found if isinstance(found, list) else found.get("results", found.get("memories"))
    return {one["path"] if isinstance(one, dict) else one.path for one in each}


WRITES: dict[str, Callable[[Doors, str], Any]] = {
    "MCP": lambda doors, text: doors.mcp("memory_write", content=text),
    "batch": lambda doors, text: doors.batch("memory_write", content=text),
    "socket": lambda doors, text: doors.socket("memory_write", content=text),
    "Python": lambda doors, text: doors.python.write(text, by=ME),
    "command": lambda doors, text: command(doors, "write", text, "--by", ME),
    "a long text": lambda doors, text: doors.python.ingest_text(
        f"We decided that {text}, because Ann Miller keeps it there.", by=ME
    ),
}  # fmt: skip
SEARCHES: dict[str, Callable[[Doors, str], Any]] = {
    "MCP search": lambda doors, word: doors.mcp("memory_search", query=word),
    "MCP smart search": lambda doors, word: doors.mcp("memory_smart_search", query=word),
    "MCP recall": lambda doors, word: doors.mcp("memory_recall", query=word, untrusted=True),
    "batch search": lambda doors, word: doors.batch("memory_search", query=word),
    "batch recall": lambda doors, word: doors.batch("memory_recall", query=word, untrusted=True),
    "socket smart search": lambda doors, word: doors.socket("memory_smart_search", query=word),
    "Python search": lambda doors, word: doors.python.search(word),
    "Python recall": lambda doors, word: doors.python.recall(word, untrusted=True),
    "command search": lambda doors, word: command(doors, "search", word),
    "command recall": lambda doors, word: command(doors, "recall", word, "--untrusted"),
    "search of its own": lambda doors, word: own_process(doors, "search", word),
}  # fmt: skip


def command(doors: Doors, *words: str) -> Any:
    ended = on(doors.vault, *words, "--format", "json")
    assert ended.code == 0, ended.err
    return ended.data


def own_process(doors: Doors, *words: str) -> Any:
    """By a command that the agent does not carry out, because its settings differ."""
    ended = process(
        *words, "--vault", str(doors.vault), "--format", "json", VAULTMEM_SEARCH_LIMIT="7"
    )
    assert ended.code == 0, ended.err
    return ended.data


@pytest.fixture(scope="module", params=["with an agent", "without"])
def doors(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Doors]:
    vault = tmp_path_factory.mktemp("fresh") / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    for number in range(30):
        (vault / f"Note {number}.md").write_text(f"# Note {number}\n\nApples of {number}.\n")
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
        synced(vault)
        if request.param == "with an agent":
            stack.enter_context(agent_on(vault)).watches()
        lines = Lines(vault)
        stack.callback(lines.close)
        yield Doors(vault, lines)


@settings(max_examples=some(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    write=st.sampled_from(sorted(WRITES)),
    searches=st.lists(st.sampled_from(sorted(SEARCHES)), min_size=1, max_size=3, unique=True),
    change=st.sampled_from(["nothing", "delete", "tag", "replace"]),
)
def test_what_a_call_has_written_is_found_by_the_next(
    doors: Doors, write: str, searches: list[str], change: str
) -> None:
    word = f"zebra{next(_numbers)}x{os.getpid()}"
    WRITES[write](doors, novel(word))
    for search in searches:
        found = finds(SEARCHES[search](doors, word))
        assert len(found) == 1, (write, search, found)
    (path,) = found
    if change == "delete":
        doors.python.delete(path, by=ME)
    elif change == "tag":
        doors.python.tag(path, f"t{word}", by=ME)
    elif change == "replace":
        doors.python.write(novel(f"y{word}"), replaces=path, by=ME)
    for search in searches:
        found = finds(SEARCHES[search](doors, word))
        assert (found == {path}) == (change in ("nothing", "tag")), (change, search, found)
    if change == "tag":
        assert finds(doors.python.search(f"tag:t{word}")) == {path}
    if change == "replace":
        assert len(finds(SEARCHES[searches[0]](doors, f"y{word}"))) == 1


@pytest.mark.parametrize("search", ["memory_search", "memory_smart_search", "memory_recall"])
def test_also_in_one_batch(doors: Doors, search: str) -> None:
    word = f"okapi{next(_numbers)}"
    more = {"untrusted": True} if search == "memory_recall" else {}
    written, found = doors.batches(
        {"name": "memory_write", "params": {"content": f"The gate opens with {word}"}},
        {"name": search, "params": {"query": word, **more}},
    )
    assert finds(found) == {written["path"]}


def test_what_is_pending_is_as_the_last_answer_and_the_last_undo_left_it(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    page = vault / "vaultmem" / "pending.md"
    with agent_on(vault):
        there = Vault(str(vault))
        memory = there.remind("call Marek tomorrow at 9")
        words = on(vault, "pending").out
        (item,) = re.findall(r"vm-\w+(?=.*Marek)", words)
        for verb in ("drop", "done", "snooze"):
            for command, waits in (([verb, item], False), (["undo", "--last"], True)):
                assert on(vault, *command).code == 0
                listed = on(vault, "pending", "--format", "text").out
                # the first page needs an item
                shown = page.read_text("utf-8") if page.exists() else ""
                assert ("Marek" in listed, "Marek" in shown) == (waits, waits)
        assert (vault / memory["path"]).exists()
