"""Many clients of the HTTP door at once: a second process searches beside the agent."""

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.agent_run import until
from tests.http_run import Door, opened

CLIENTS = 12


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    free = (
        os.cpu_count() or 1
    ) - 1  # where a processor is free, the second process is there before the crowd
    with opened(tmp_path_factory.mktemp("crowd")) as one:
        until(lambda: len(readers(one.folder / "home")) == min(1, free))
        yield one


def readers(vault: Path) -> list[psutil.Process]:
    """The processes that search beside a vault's agent."""
    return [
        one
        for one in psutil.process_iter(["cmdline"])
        if (words := one.info["cmdline"] or [])
        and "vaultmem.commands.dispatch" in words
        and str(vault) in words
    ]


def bodies(door: Door, query: str, count: int, token: str = "me") -> set[bytes]:
    """The answers to this many searches by as many clients."""

    def one(_: int) -> bytes:
        answer = door.ask("search", token, query=query, keyword=True)
        assert answer.status == 200, answer.body
        return answer.body

    with ThreadPoolExecutor(CLIENTS) as pool:
        return set(pool.map(one, range(count)))


def test_a_crowd_gets_the_answers_that_one_gets(door: Door) -> None:
    (alone,) = bodies(door, "boiler", 1)

    def seconds() -> float:
        return sum(sum(reader.cpu_times()[:2]) for reader in readers(door.folder / "home"))

    before = seconds()
    until(lambda: bodies(door, "boiler", 4 * CLIENTS) == {alone} and seconds() > before)
    with ThreadPoolExecutor(CLIENTS) as pool:
        wrong = {"query": "boiler", "keyword": True, "limit": -1}
        every = [*pool.map(lambda _: door.ask("search", "me", **wrong), range(4 * CLIENTS))]
    assert {one.status for one in every} == {400}
    assert len({one.body for one in every}) == 1


def test_in_a_crowd_what_was_written_is_found(door: Door) -> None:
    with ThreadPoolExecutor(1) as others:
        crowd = others.submit(bodies, door, "services", 20 * CLIENTS)
        count = 0
        while not crowd.done() or not count:
            count += 1
            text = f"The spare key number x{count}x hangs in the shed."
            assert door.ask("write", content=text).status == 200
            (found,) = bodies(door, f"x{count}x", 1)
            assert json.loads(found)["count"] == 1
        crowd.result()


def test_a_crowd_loses_nothing_when_the_second_process_is_killed(door: Door) -> None:
    vault = door.folder / "home"

    def killed() -> int:
        """In a crowd, which may be over before one is seen."""
        number = 0
        with ThreadPoolExecutor(1) as others:
            crowd = others.submit(bodies, door, "boiler", 12 * CLIENTS)
            while not crowd.done():
                for reader in readers(vault):
                    with suppress(psutil.NoSuchProcess):
                        reader.kill()
                        number += 1
                time.sleep(0.02)  # looking for them costs as much as they do
            assert len(crowd.result()) == 1
        return number

    until(killed)
