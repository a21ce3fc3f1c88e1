"""The methods of the socket, and that a command prints the same with an agent as without, to the byte."""

import json
import os
import shlex
from collections.abc import Iterator
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import on, one_line, process, ran
from tests.conftest import Write
from tests.index_dump import synced
from tests.stand_in_agent import StandIn, agent_for, logged_by
from tests.tables import each_case
from tests.test_cli import USAGE
from vaultmem import __version__, client
from vaultmem.api import rpc as codes
from vaultmem.api.verbs import commands
from vaultmem.client import AgentError, call


@pytest.fixture
def host(indexed: Path) -> Iterator[StandIn]:
    with agent_for(indexed) as found:
        yield found


def ask(folder: Path, method: str, /, **params: object) -> Any:
    return call(str(folder), method, params, timeout=60)


def refused(folder: Path, method: str, /, **params: object) -> tuple[int, str]:
    with pytest.raises(AgentError) as error:
        ask(folder, method, **params)
    return error.value.code, str(error.value)


# --- the same as without an agent

SAME = [
    "search knee stairs", "search knee -stairs", "search -stairs knee", "search sourdogh", "search qqqqqqq", "search tag:recipe --limit 3",
    "search river --path Work/ --from 2026-10", "search knee --group block -n2", "search -- -stairs knee", 'search "early warning"',
    "search '' --global", "related Knee -n 1", "backlinks Knee --mentions", "links Health/Knee.md", "unresolved", "unresolved --ambiguous",
    "tasks", "tasks --due 2026-11-30", "tasks --path house/", "why 'knee -stairs' Knee", "pending", "pending --all --days 3000",
    "list", "list --deleted --category people --from 2026-01-01 --limit 3", "hook session-start --harness gemini --prompt knee",
    "recall knee", "recall --without meaning,mmr --explain --notes -k 2 knee stairs",
]  # fmt: skip
# Each call counts one more read of a memory, so they are compared where they find nothing.
COUNTED = {"read", "get"}
WRONG = ["links Nowhere", "backlinks Knne", "why knee Nowhere", "related x", "links %", "read nobody", "get 'no such title'"]  # fmt: skip


def test_every_command_that_is_asked_of_the_agent_is_compared() -> None:
    assert FIRST.keys() == {name for name, one in commands().items() if one.agent} - COUNTED


# The first line of each command in both forms, the others in one or the other.
FIRST = {line.partition(" ")[0]: line for line in reversed(SAME)}
FORMS = dict(zip([*SAME, *WRONG], cycle([("text",), ("json",)]))) | dict.fromkeys(
    FIRST.values(), ("text", "json")
)


@each_case("line", FORMS)
def test_a_command_says_the_same(indexed: Path, line: str) -> None:
    """Arguments are parsed in the process of the test, as a person's process would."""
    command, *more = shlex.split(line)
    for form in FORMS[line]:
        words = [command, "--format", form, "--vault", str(indexed), *more]
        alone = ran(*words)
        with agent_for(indexed) as host:
            assert ran(*words) == alone
            assert host.opened == 1
        assert alone.code == (1 if line in WRONG else 0)
        assert alone.out or line not in SAME or form == "text"


@pytest.mark.parametrize(
    ("name", "form"), [("hook", "text"), ("list", "json"), ("search", "text"), ("tasks", "json")]
)
def test_a_process_says_the_same(indexed: Path, name: str, form: str) -> None:
    """The test above compares every command, in both forms."""
    words = [*shlex.split(FIRST[name]), "--format", form, "--vault", str(indexed)]
    alone = process(*words)
    with agent_for(indexed) as host:
        assert process(*words) == alone
        assert host.opened == 1
        if form == "text" and not alone.out.isascii():
            for debug in ("", "1"):
                assert process(*words, PYTHONIOENCODING="ascii", VAULTMEM_DEBUG=debug).code == 0
    assert alone.code == 0


@each_case(
    "words",
    [*USAGE, ("search", "x", "-h"), ("links", "--help"), ("tasks", "-sh")],
    ids=" ".join,
)
def test_wrong_words_and_cries_for_help_are_the_same(indexed: Path, words: tuple[str, ...]) -> None:
    alone = on(indexed, *words)
    with agent_for(indexed):
        assert on(indexed, *words) == alone


def test_what_needs_the_caller_is_done_there(indexed: Path, host: StandIn, tmp_path: Path) -> None:
    opener = tmp_path / "xdg-open"
    opener.write_text(f"#!/bin/sh\necho \"$1\" > '{tmp_path}/opened'\n")
    opener.chmod(0o755)
    words = ("search", "knee", "--format", "json", "--vault", str(indexed))
    assert process(*words, "--open", PATH=f"{tmp_path}:{os.environ['PATH']}").code == 0
    batch = process(*words, "--batch", stdin=b"knee\n")
    assert json.loads(batch.out)["results"]
    assert host.opened == 0


def test_the_agent_speaks_for_its_own_vault_and_settings(
    indexed: Path, vault: Path, host: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced(vault)
    right: dict[str, Any] = {
        "command": "links", "words": ["Home"], "cwd": str(indexed.parent), "format": "json", "terminal": False,
        "colour": False, "version": __version__, "environ": client.settings(),
    }  # fmt: skip
    assert ask(indexed, "run", **right)["code"] == 0
    assert ask(indexed, "run", **{**right, "words": ["Home", "--vault", indexed.name]})["code"] == 0
    wrong: list[dict[str, Any]] = [
        {"words": ["Home", "--vault", str(vault)]},
        {"words": ["Home", "--vault", indexed.name], "cwd": "/"},
        {"words": ["Home", "--nonsense"]},
        {"version": "0.0.0"},
        {"environ": {}},
        {"environ": {**client.settings(), "VAULTMEM_SEARCH_LIMIT": "3"}},
        {"command": "sync"},
        {"command": "rm"},
        {"command": "search", "words": ["knee", "--open"]},
        {"command": "search", "words": ["knee", "--batch"]},
    ]
    before = host.opened
    for change in wrong:
        code, said = refused(indexed, "run", **{**right, **change})
        assert code == codes.UNKNOWN_METHOD, change
        assert said.startswith("ask yourself"), change
    assert host.opened == before
    for name in ("words", "cwd", "command"):
        code, _ = refused(indexed, "run", **{**right, name: 5})
        assert code == codes.WRONG_PARAMS, name
    monkeypatch.setenv("VAULTMEM_SEARCH_LIMIT", "1")
    assert on(indexed, "search", "the", "--format", "json").data["count"] == 1
    monkeypatch.delenv("VAULTMEM_SEARCH_LIMIT")
    assert host.opened == before
    tokyo = process("links", "Home", "--vault", str(indexed), TZ="Asia/Tokyo")
    assert tokyo == on(indexed, "links", "Home")
    assert host.opened == before + 1


def test_a_failure_of_the_agent_is_not_the_callers(
    indexed: Path, host: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> object:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(host, "vault", broken)
    with logged_by("vaultmem.server") as said:
        assert on(indexed, "links", "Home", "--format", "json").code == 0
    assert "Input/output error" in said[0]


def test_an_index_the_agent_cannot_read_is_seen_to_by_the_caller(vault: Path, write: Write) -> None:
    write("Note.md", "apple")
    with agent_for(vault) as host:
        ended = on(vault, "search", "apple", "--format", "json")
        assert host.opened == 1
    assert ended.data["count"] == 1


# --- commands as methods


OPTIONS: dict[str, dict[str, object]] = {
    "search knee -stairs": {"query": "knee -stairs"},
    "search knee --limit 3 --group block --path Health": {"query": "knee", "limit": 3, "group": "block", "path": "Health"},
    "search --tags recipe": {"tags": "recipe"},
    "search the --from 2026-11 --to 2026-11-20": {"query": "the", "from": "2026-11", "to": "2026-11-20"},
    "search knee --min-confidence 0.5 --global": {"query": "knee", "min-confidence": 0.5, "global": True},
    "search knee --min-confidence 1": {"query": "knee", "min_confidence": 1},
    "search knee --semantic": {"query": "knee", "semantic": True},
    "related Knee --limit 2": {"note": "Knee", "limit": 2},
    "backlinks Knee --mentions": {"note": "Knee", "mentions": True},
    "links Home": {"note": "Home"},
    "unresolved --ambiguous": {"ambiguous": True},
    "tasks --all --due 2026-11-30": {"all": True, "due": "2026-11-30"},
    "tasks": {"all": False},
    "why 'knee -stairs' Knee": {"query": "knee -stairs", "note": "Knee"},
    "pending --days 3000": {"days": 3000},
}  # fmt: skip


@each_case("line", OPTIONS)
def test_a_method_gives_what_the_command_prints(
    indexed: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    printed = on(indexed, *shlex.split(line), "--format", "json")
    assert printed.code == 0, printed.err
    with agent_for(indexed) as host:
        assert ask(indexed, line.partition(" ")[0], **OPTIONS[line]) == printed.data
        assert host.opened == 1


def test_what_only_the_agent_can_do(indexed: Path, host: StandIn) -> None:
    for method, params in (("status", {"x": 1}), ("stop", {"x": 1}), ("sync", {"dry_run": True})):
        code, _ = refused(indexed, method, **params)
        assert (code, host.stopped.is_set(), host.synced) == (codes.WRONG_PARAMS, False, [])
    code, message = refused(indexed, "links", note="Nowhere at all")
    typed = on(indexed, "links", "Nowhere at all", "--format", "text")
    assert (code, f"vaultmem: {message}") == (codes.NOT_FOUND, one_line(typed))
    assert ask(indexed, "ping") == {"version": __version__, "pid": os.getpid()}
    assert ask(indexed, "jobs") == {"jobs": [{"name": "compare"}], "count": 1}
    assert ask(indexed, "jobs.run", name="compare") == {"name": "compare"}
    assert refused(indexed, "jobs.run", name="dream") == (codes.FAILED, "no job is called 'dream'")
    assert ask(indexed, "sync", embed=False)["unchanged"] > 0
    assert host.synced == [{"rebuild": False, "confirm_removals": False, "embed": False}]
    assert not host.stopped.is_set()
    assert ask(indexed, "stop")["stopping"] is True
    assert host.stopped.is_set()


def code(folder: Path, method: str, params: dict[str, Any]) -> int:
    try:
        ask(folder, method, **params)
    except AgentError as error:
        return error.code
    return 0


def test_no_type_of_a_parameter_is_an_internal_error(indexed: Path) -> None:
    with agent_for(indexed):
        for name, verb in commands().items():
            needed = {one.outside: "knee" for one in verb.params if one.needed}
            for param, value in product(verb.params, (1, [1], {"a": 1}) if verb.agent else ()):
                params = {**needed, param.outside: value}
                assert code(indexed, name, params) != codes.INTERNAL_ERROR, (name, params)
