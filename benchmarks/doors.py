"""The cost that each of the tools' doors adds.

python benchmarks/doors.py [--notes 10000] [--folder FOLDER] [--calls 60] [--pairs 15]

The same search is made in Python, through the dispatcher, over the socket, and through a `vaultmem mcp` that stays
open; then whole processes are timed against `python -c pass`, with an agent and without one.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import timing
from agent import Running
from timing import (
    BARE,
    VAULTMEM,
    Row,
    Run,
    about,
    in_turns,
    indexed_vault,
    print_table,
    ratios,
    run,
    surroundings,
    typical,
)

WORDS = "water stone"
ASKED: dict[str, object] = {"query": WORDS, "notes": True, "limit": 5}
_FEWEST = 3  # times a question is asked before it is measured


class Conversation:
    """A `vaultmem mcp` that stays open."""

    def __init__(self, vault: Path, env: dict[str, str]) -> None:
        self._child = subprocess.Popen(
            [*VAULTMEM, "mcp", "--vault", str(vault)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )  # fmt: skip
        self.ask("initialize", protocolVersion="2025-11-25", clientInfo={"name": "benchmark"})

    def ask(self, method: str, **params: object) -> object:
        """A method's result."""
        assert self._child.stdin
        assert self._child.stdout
        self._child.stdin.write(_line(method, params))
        self._child.stdin.flush()
        reply = json.loads(self._child.stdout.readline())
        if "result" not in reply:
            raise SystemExit(f"{method} failed: {reply}")
        return reply["result"]

    def close(self) -> None:
        """End it."""
        self._child.communicate()


def _line(method: str, params: dict[str, object]) -> bytes:
    return (
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"
    )


def typical_time(ask: Callable[[], object], calls: int) -> float:
    """The median of a question's seconds."""
    for _ in range(_FEWEST):
        ask()
    took = []
    for _ in range(calls):
        started = time.perf_counter()
        ask()
        took.append(time.perf_counter() - started)
    return median(took)


def first_reply(vault: Path, env: dict[str, str]) -> Run:
    """From the start of `vaultmem mcp` to its first reply."""
    started = time.perf_counter()
    with subprocess.Popen(
        [*VAULTMEM, "mcp", "--vault", str(vault)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:  # fmt: skip
        assert child.stdin
        assert child.stdout
        child.stdin.write(_line("initialize", {"protocolVersion": "2025-11-25"}))
        child.stdin.flush()
        reply = child.stdout.readline()
        wall = time.perf_counter() - started
        child.stdin.close()
    if b"result" not in reply:
        raise SystemExit(f"no reply: {reply!r}")
    return Run(wall, wall, 1.0)


def one_prompt(vault: Path, env: dict[str, str]) -> Run:
    """A whole `vaultmem agent` with one call."""
    command = [*VAULTMEM, "agent", "--vault", str(vault), "--prompt", WORDS]
    return run(command, env)


def inside(vault: Path, calls: int) -> list[Row]:
    """The search itself, and through the dispatcher."""
    from vaultmem import Vault
    from vaultmem.api.tool import Call
    from vaultmem.api.toolbox import Toolbox
    from vaultmem.search.query import Ask

    box = Toolbox(plain=True)
    with Vault(str(vault)) as opened:
        plain = typical_time(lambda: opened.answer(Ask(WORDS, 5)), calls)
        called = typical_time(lambda: box.call(opened, Call("memory_search", ASKED)), calls)
    return [
        _row("search in Python", plain, plain),
        _row("  through the dispatcher", called, plain),
    ]


def through_the_agent(vault: Path, env: dict[str, str], calls: int) -> list[Row]:
    """The same search in an agent: by the command's method, as a tool, and through the protocol."""
    agent = Running(vault, env)
    try:
        agent.settle()
        talk = Conversation(vault, env)
        command = typical_time(lambda: agent.link.ask("search", query=WORDS, limit=5), calls)
        tool = typical_time(
            lambda: agent.link.ask("tools/call", name="memory_search", arguments=ASKED), calls
        )
        told = typical_time(
            lambda: talk.ask("tools/call", name="memory_search", arguments=ASKED), calls
        )
        ping = typical_time(lambda: agent.link.ask("ping"), calls)
        relayed = typical_time(lambda: talk.ask("ping"), calls)
        talk.close()
    finally:
        agent.close()
    return [
        _row("ping over the socket", ping, ping),
        _row("  through vaultmem mcp", relayed, ping),
        _row("search over the socket, the command's", command, command),
        _row("  the tool", tool, command),
        _row("  the tool through vaultmem mcp", told, command),
    ]


def processes(vault: Path, env: dict[str, str], pairs: int) -> list[Row]:
    """Whole processes, with an agent and without."""
    rows = []
    bare = partial(run, BARE, env)
    doors = (
        ("vaultmem mcp, its first reply", first_reply, "3"),
        ("vaultmem agent, one prompt", one_prompt, "3.5"),
    )
    agent = Running(vault, env)
    try:
        agent.settle()
        rows += [
            _timed(f"{what}, with an agent", partial(door, vault, env), bare, (pairs, aim))
            for what, door, aim in doors
        ]
    finally:
        agent.close()
    rows += [
        _timed(f"{what}, without", partial(door, vault, env), bare, (pairs, ""))
        for what, door, _ in doors
    ]
    return rows


def _timed(
    what: str, door: Callable[[], Run], bare: Callable[[], Run], how: tuple[int, str]
) -> Row:
    door(), bare()
    mine, others = in_turns(door, bare, how[0])
    aim = f"<= {how[1]} x" if how[1] else ""
    return Row(
        what, aim, f"{typical(mine).wall * 1e3:.0f} ms", f"{ratios(mine, others).wall:.1f} x bare"
    )


def _row(what: str, seconds: float, over: float) -> Row:
    return Row(what, "", f"{seconds * 1e3:.2f} ms", f"{seconds / over:.2f}")


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = timing.parser(__doc__)
    parser.add_argument(
        "--calls", type=int, default=60, help="of each kind; the limit is 600 a minute"
    )
    parser.add_argument("--pairs", type=int, default=15)
    args = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="vm-") as scratch:
        env = {**surroundings(Path(scratch)), "VAULTMEM_EMBEDDING_MODEL": "off"}
        vault = indexed_vault(args.folder or Path(scratch) / "vault", args.notes, env)
        os.environ.update(env)
        rows = inside(vault, args.calls)
        rows += through_the_agent(vault, env, args.calls)
        rows += processes(vault, env, args.pairs)
        print(about(vault))
        print_table(rows)


if __name__ == "__main__":
    main()
