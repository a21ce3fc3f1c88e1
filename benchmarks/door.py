"""The HTTP door with many clients, and one search over many vaults.

    python benchmarks/door.py [--notes 10000] [--clients 200] [--requests 20000] [--seconds 60] [--folder FOLDER]
    python benchmarks/door.py --vaults 20 [--notes 10000] [--searches 144] [--folder FOLDER]

In the first, each client keeps a connection open and asks at its times, whatever came of other clients: so many
requests a second in all, no two with the same words. An answer's time counts from when its request was due. The clients
are one process, which shares the processors with the door and the agent. A quarter of the requests is then sent in the
same way to a bare Starlette application, which answers with as many bytes: what that takes is the machine. In the
second, every block has a vector that is made up. Everything stays on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import psutil
import timing
from queries import make_queries, neighbours
from timing import (
    HERE,
    VAULTMEM,
    Row,
    about,
    indexed_vault,
    print_table,
    quantile,
    run,
    surroundings,
)

A_TOKEN = 20  # clients that share a token: each may ask 6,000 times a minute
ECHO = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
answer = {"results": ["x" * int(sys.argv[2])]}
async def echo(request):
    await request.body()
    return JSONResponse(answer)
app = Starlette(routes=[Route("/{rest:path}", echo, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), http="h11", loop="asyncio", log_level="critical", access_log=False)
"""
Address = tuple[str, int]


class Client:
    """One connection, and the bytes that come before every body."""

    def __init__(self, address: Address, token: str) -> None:
        self._address = address
        host = f"{address[0]}:{address[1]}"
        self._head = (
            f"POST /api/v1/search HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
        )
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, body: bytes) -> tuple[int, bytes]:
        """The answer's status and body."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        writer.write(f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        found = re.search(rb"\r\ncontent-length: (\d+)", head)
        return int(head[9:12]), await reader.readexactly(int(found[1]) if found else 0)

    def close(self) -> None:
        """Close the connection."""
        if self._streams:
            self._streams[1].close()


class Load:
    """The result of many clients: the seconds of each answer by client, and what failed."""

    def __init__(self) -> None:
        self.took: dict[str, list[float]] = {"door": [], "bare": []}
        self.wrong: Counter[str] = Counter()

    async def one(self, name: str, client: Client, bodies: Sequence[bytes], pace: float) -> None:
        """One client: its requests, each at its time."""
        began = time.perf_counter()
        for number, body in enumerate(bodies):
            due = began + number * pace
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            try:
                status, answer = await client.ask(body)
                if status != 200 or not answer.endswith(b"}"):
                    self.wrong[f"{name}: {status}"] += 1
            except (OSError, EOFError, ValueError) as error:
                self.wrong[f"{name}: {type(error).__name__}"] += 1
            self.took[name].append(time.perf_counter() - due)
        client.close()


async def load(
    args: argparse.Namespace, found: Load, at: tuple[str, Address], tokens: list[str], words: list[str]
) -> None:  # fmt: skip
    """All clients at once, each starting a little after the previous one."""
    name, place = at
    each = len(words) // args.clients
    pace = args.seconds / (args.requests // args.clients)
    turn = iter(words)
    running = []
    for number in range(args.clients):
        client = Client(place, tokens[number // A_TOKEN])
        bodies = [json.dumps({"query": next(turn), "keyword": True}).encode() for _ in range(each)]
        running.append(asyncio.create_task(found.one(name, client, bodies, pace)))
        await asyncio.sleep(pace / args.clients)
    await asyncio.gather(*running)


@contextlib.contextmanager
def door(vaults: Sequence[Path], env: dict[str, str]) -> Iterator[tuple[Address, psutil.Process]]:
    """A door with agents behind it."""
    words = [word for vault in vaults for word in ("--vault", str(vault))]
    command = [*VAULTMEM, "serve", "--http", "127.0.0.1:0", *words]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr
        port = int(re.findall(r":(\d+)/mcp", child.stderr.readline())[0])
        try:
            yield ("127.0.0.1", port), psutil.Process(child.pid)
        finally:
            child.terminate()
            child.communicate(timeout=60)


@contextlib.contextmanager
def bare(size: int) -> Iterator[Address]:
    """The application that does nothing."""
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = int(one.getsockname()[1])
    with subprocess.Popen([sys.executable, "-c", ECHO, str(port), str(size)]) as child:
        try:
            yield "127.0.0.1", port
        finally:
            child.terminate()


def token(name: str, env: dict[str, str]) -> str:
    """A new token."""
    command = [*VAULTMEM, "token", "add", name, "--scope", "admin"]
    return subprocess.run(
        command, env=env, check=True, capture_output=True, text=True
    ).stdout.strip()


async def ready(address: Address, key: str, body: dict[str, object], vaults: int) -> bytes:
    """Ask until all vaults answer. Returns the answer."""
    while True:
        with contextlib.suppress(OSError, EOFError, ValueError):
            client = Client(address, key)
            status, answer = await client.ask(json.dumps(body).encode())
            client.close()
            if 400 <= status < 500 and status != 404:
                raise SystemExit(answer.decode())
            if status == 200 and len(json.loads(answer).get("missing", ())) == 0 and vaults:
                return answer
        await asyncio.sleep(0.2)


def clients_rows(args: argparse.Namespace, folder: Path) -> list[Row]:
    """Many clients of one vault."""
    env = {**surroundings(folder), "VAULTMEM_EMBEDDING_MODEL": "off"}
    vault = indexed_vault(folder / f"vault-{args.notes}", args.notes, env)
    print(about(vault))
    words = neighbours(vault, args.requests)
    stem = f"bench-{os.getpid()}-"
    tokens = [token(f"{stem}{n}", env) for n in range(-(-args.clients // A_TOKEN))]
    with door([vault], env) as (address, process):
        answer = asyncio.run(ready(address, tokens[0], {"query": words[0], "keyword": True}, 1))
        with bare(len(answer)) as other:
            asyncio.run(ready(other, "", {}, 1))
            began, cpu = time.perf_counter(), spent(process)
            found = Load()
            asyncio.run(load(args, found, ("door", address), tokens, words))
            wall = time.perf_counter() - began
            cpu = {name: after - cpu[name] for name, after in spent(process).items()}
            asyncio.run(load(args, found, ("bare", other), tokens, words[: args.requests // 4]))
    rows = []
    for name, share in itertools.product(("p50", "p90", "p99"), ("door", "bare")):
        mine, others = (quantile(found.took[one], int(name[1:]) / 100) for one in (share, "bare"))
        what = "keyword search through the door" if share == "door" else "  a bare Starlette answer"
        rows.append(Row(f"{what}, {name}", "<= 50 ms" if (name, share) == ("p99", "door") else "",
                        f"{mine * 1e3:.1f} ms", f"{mine / others:.1f} x bare"))  # fmt: skip
    count = len(found.took["door"])
    return [
        Row(f"{args.clients} clients, {count:,} searches in", "", f"{wall:.0f} s"),
        Row("  lost or refused", "0", ", ".join(f"{n} {w}" for w, n in found.wrong.items()) or "0"),
        *rows,
        Row("  processor time of the door, a search", "", f"{cpu['door'] / count * 1e3:.1f} ms"),
        Row("  of the agent", "", f"{cpu['agents'] / count * 1e3:.1f} ms"),
    ]


def spent(process: psutil.Process) -> dict[str, float]:
    """Seconds of processor time of the door and its agents."""
    agents = [sum(child.cpu_times()[:2]) for child in process.children()]
    return {"door": sum(process.cpu_times()[:2]), "agents": sum(agents)}


def vaults_rows(args: argparse.Namespace, folder: Path) -> list[Row]:
    """One search over many vaults."""
    env = surroundings(folder)
    vaults = []
    for number in range(args.vaults):
        vault = folder / f"vault-{args.notes}-{number}"
        if not vault.exists():
            maker = [sys.executable, str(HERE / "make_vault.py"), str(vault)]
            run([*maker, "--notes", str(args.notes), "--seed", str(number + 1)], env)
        run([*VAULTMEM, "sync", "--no-embed", "--vault", str(vault)], env)
        run([sys.executable, str(HERE / "door.py"), "--vectors", str(vault)], env)
        vaults.append(vault)
    print(f"{args.vaults} vaults, each: {about(vaults[0])}")
    words = [query for queries in make_queries(vaults[0]).values() for query in queries]
    key = token(f"bench-{os.getpid()}", env)
    with door(vaults, env) as (address, process):
        everywhere: dict[str, object] = {"vaults": "*", "keyword": True}
        asyncio.run(ready(address, key, {**everywhere, "query": words[0]}, args.vaults))

        async def searches(body: dict[str, object]) -> list[float]:
            client, took = Client(address, key), []
            for query in [*words[:10], *itertools.islice(itertools.cycle(words), args.searches)]:
                started = time.perf_counter()
                status, _ = await client.ask(json.dumps({**body, "query": query}).encode())
                assert status == 200
                took.append(time.perf_counter() - started)
            client.close()
            return took[10:]

        all_of_them = asyncio.run(searches(everywhere))
        one = asyncio.run(searches({"vault": f"vault-{args.notes}-0", "keyword": True}))
        agents = [child.memory_full_info() for child in process.children()]
        own = process.memory_full_info()
    return [
        Row(f"keyword search over {args.vaults} vaults, p50", "<= 60 ms", f"{median(all_of_them) * 1e3:.1f} ms",
            f"{median(all_of_them) / median(one):.1f} x one vault"),
        Row("  p99", "", f"{quantile(all_of_them, 0.99) * 1e3:.1f} ms"),
        Row("  over one of them, p50", "", f"{median(one) * 1e3:.1f} ms"),
        Row("  memory of all agents", "", f"{sum(agent.pss for agent in agents) / 1e6:.0f} MB",
            f"{median(agent.pss for agent in agents) / 1e6:.0f} MB each"),
        Row("  of the door", "", f"{own.pss / 1e6:.0f} MB"),
    ]  # fmt: skip


def give_vectors(vault: str) -> None:
    """Give each block of a vault a made-up vector."""
    from stand_in import store_vectors

    from vaultmem import Vault

    with Vault(vault) as opened:
        store_vectors(opened.searcher())


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = timing.parser(__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--vaults", type=int, default=0)
    parser.add_argument("--searches", type=int, default=144)
    parser.add_argument("--vectors", help=argparse.SUPPRESS)
    args = parser.parse_args(words)
    if args.vectors:
        give_vectors(args.vectors)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = (args.folder or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        print_table(vaults_rows(args, folder) if args.vaults else clients_rows(args, folder))


if __name__ == "__main__":
    main()
