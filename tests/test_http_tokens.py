"""The parts of the HTTP door that need no door: tokens and streams."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli_run import one_line, ran
from tests.laws import examples
from vaultmem.errors import UsageError
from vaultmem_server.streamable import Session, Stream
from vaultmem_server.tokens import READ, SCOPES, WRITE, Caller, Token, TokenStore


@given(st.lists(st.tuples(st.sampled_from(["add", "revoke"]), st.sampled_from("abc")), max_size=12))
@settings(max_examples=examples(30))
def test_the_store_knows_who_was_added_and_not_revoked(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    path = str(tmp_path_factory.mktemp("tokens") / "tokens.json")
    valid: dict[str, str] = {}
    all_texts = set()
    for what, name in steps:
        store = TokenStore(path)
        try:
            if what == "add":
                valid[name] = store.add(name, READ)
                all_texts.add(valid[name])
            else:
                store.revoke(name)
                del valid[name]
        except UsageError:
            assert (name in valid) == (what == "add")
    watcher = TokenStore(path)
    assert {token.name for token in watcher.all()} == set(valid)
    for text in all_texts:
        assert (watcher.holder(text) is not None) == (text in valid.values())
        assert watcher.holder(text[:-1]) is None


def test_no_token_acts_under_the_name_of_the_person(tmp_path: Path) -> None:
    store = TokenStore(str(tmp_path / "tokens.json"))
    for name, agent in (
        ("you", ""),
        ("Person", ""),
        ("laptop", "You"),
        ("phone", "conversation:1"),
    ):
        with pytest.raises(UsageError, match="cannot be the name of an assistant"):
            store.add(name, WRITE, agent)
    assert store.add("laptop", WRITE, "claude")


def test_a_dry_run_refuses_what_would_be_refused() -> None:
    assert ran("token", "add", "laptop", "--dry-run", "--format", "json").data["dry_run"]
    for words in ("revoke laptop", "add you", "add a/b"):
        tried = ran("token", *words.split(), "--dry-run")
        assert one_line(tried) == one_line(ran("token", *words.split()))
        assert tried.code != 0
    assert TokenStore().all() == []


def test_scopes_grow() -> None:
    now = 1_000.0
    store = TokenStore("/nowhere/tokens.json", lambda: now)
    assert store.all() == []
    for scope in SCOPES:
        caller = Caller(_token(scope), "")
        assert [one for one in SCOPES if caller.may(one)] == [*SCOPES[: SCOPES.index(scope) + 1]]


def _token(scope: str) -> Token:
    return Token("t", "k", "", scope, "", (), 0.0, None)


@given(st.lists(st.text("abc\n", min_size=1, max_size=5), max_size=6), st.integers(0, 6))
@settings(max_examples=examples(50))
def test_a_stream_is_taken_up_where_it_broke_off(messages: list[str], seen: int) -> None:
    async def read(start: int) -> list[bytes]:
        stream = Session("s", "t", "v").stream(1)
        for message in messages:
            stream.send(json.dumps(message))
        stream.end()
        return [piece async for piece in stream.after(start)]

    whole = asyncio.run(read(0))
    assert len(whole) == len(messages)
    assert asyncio.run(read(min(seen, len(whole)))) == whole[seen:]
    assert all(piece.count(b"\n\n") == 1 for piece in whole), "no message ends an event early"


def test_a_stream_that_goes_on_is_waited_for() -> None:
    async def run() -> list[bytes]:
        stream = Stream(1, 1)
        reading = asyncio.create_task(_all(stream))
        await asyncio.sleep(0)
        stream.send("1")
        await asyncio.sleep(0)
        stream.send("2")
        stream.end()
        return await reading

    assert len(asyncio.run(run())) == 2


async def _all(stream: Stream) -> list[bytes]:
    return [piece async for piece in stream.after(0)]
