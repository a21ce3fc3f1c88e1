"""`vaultmem serve --http`: opens the HTTP door, with an agent for each vault."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace as Namespace

from starlette.applications import Starlette

from vaultmem import paths
from vaultmem.api import Vault
from vaultmem.errors import UsageError
from vaultmem.output import Output
from vaultmem.service import life
from vaultmem.text.values import plural
from vaultmem_server import guard, http_app, serving
from vaultmem_server.link import Companion, JsonObject, Link, of_memories
from vaultmem_server.token_command import seconds_of
from vaultmem_server.tokens import TokenStore
from vaultmem_server.traffic import Audit, Metrics

_LOOK = 0.1  # seconds


@dataclass
class Door:
    """The state of the door, which its applications share. `vaults`: name in URLs -> folder."""

    vaults: Mapping[str, str]
    url: str
    names: set[str]  # hosts that requests may name; a mounted package may add its own
    is_private: bool  # whether only this machine can reach it
    tokens: TokenStore = field(default_factory=TokenStore)
    metrics: Metrics = field(default_factory=Metrics)
    audit: Audit = field(default_factory=Audit)
    links: dict[str, Link] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)  # name -> id of the vault, as in tokens
    last_request: float = field(default_factory=time.monotonic)
    has_chats: bool = False  # whether chats are proxied at /v1
    until_stop: bool = False  # whether `vaultmem stop` stops it
    # Paths of mounted packages that need a token -> most bytes; what such packages run while the door is open.
    guarded: dict[str, int] = field(default_factory=dict)
    beside: list[Callable[[], contextlib.AbstractAsyncContextManager[None]]] = field(
        default_factory=list
    )
    left_out: dict[str, str] = field(default_factory=dict)  # could not be mounted, and why
    is_closing: bool = False  # then streams end: otherwise nothing would stop while a page is open

    def __post_init__(self) -> None:
        self.links = {name: Link(folder) for name, folder in self.vaults.items()}
        self.ids = {name: paths.vault_id(folder) for name, folder in self.vaults.items()}

    def is_idle(self, seconds: float | None) -> bool:
        """Whether there was no request for `seconds`."""
        return seconds is not None and time.monotonic() - self.last_request > seconds

    async def ask(self, vault: str, verb: str, params: JsonObject) -> object:
        """The answer of a verb of memories. Raises LinkError."""
        return await self.links[vault].call("memory", of_memories(verb, params))

    async def call(self, vault: str, method: str, params: JsonObject | None = None) -> object:
        """The answer of a method of the agent's socket. Raises LinkError."""
        return await self.links[vault].call(method, params or {})


def serve(args: Namespace, output: Output) -> int:
    """Open the door in the foreground, until a signal."""
    host, port = _address(args.http)
    tls = _tls(args)
    _check_exposure(host, args)
    vaults = _vaults_by_name(args.vault or [""])
    listening = serving.listen(host, port)
    port = listening.getsockname()[1]
    scheme = "https" if tls else "http"
    literal = f"[{host}]" if ":" in host else host
    names = {*(name.lower() for name in args.name or ()), host.lower(), *guard.LOOPBACK}
    idle = seconds_of(args.idle, "--idle")
    is_private = guard.is_loopback(host) and not (args.behind_proxy or args.name)
    door = Door(vaults, f"{scheme}://{literal}:{port}", names, is_private)
    door.has_chats, door.until_stop = args.proxy, args.until_stop
    server = serving.server(http_app.build(door, _lifespan(door)), tls)
    if door.has_chats and not door.guarded:
        why = door.left_out.get("chat", "no package that does it is installed")
        raise UsageError(f"chats cannot be proxied: {why}")
    output.remark(
        f"{door.url}/mcp and {door.url}/api/v1 answer requests with a token (vaultmem token add NAME)"
    )
    output.remark(f"{plural(len(vaults), 'vault')}: {', '.join(vaults)}")
    asyncio.run(_serve(door, server, listening, idle))
    return 0


async def _serve(
    door: Door, server: serving.Server, listening: socket.socket, idle: float | None
) -> None:
    """Serve until a signal, or until the door is idle for `idle` seconds."""

    async def watch() -> None:
        while not (server.should_exit or door.is_idle(idle)):
            await asyncio.sleep(_LOOK)
        door.is_closing = server.should_exit = True

    watching = asyncio.create_task(watch())
    await server.serve(sockets=[listening])
    watching.cancel()


def _lifespan(door: Door) -> http_app.Lifespan:
    """Start the agents and record the address of the door; undo both at the end."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        serve = [*paths.program(), "serve", "--vault"]
        companions = [Companion(folder, [*serve, folder]) for folder in door.vaults.values()]
        watching = [asyncio.create_task(companion.watch()) for companion in companions]
        open_door = life.OpenDoor(
            door.url, os.getpid(), dict(door.vaults), door.is_private, door.until_stop
        )
        try:
            await asyncio.gather(*(companion.ready() for companion in companions))
            processors = 1 if door.until_stop else os.cpu_count() or 1  # the agent uses one
            for link in [*door.links.values()][: processors - 1]:
                link.reader.wake()
            async with contextlib.AsyncExitStack() as stack:
                for service in door.beside:
                    await stack.enter_async_context(service())
                stack.enter_context(life.announced(open_door))
                yield
        finally:
            for task in watching:
                task.cancel()
            for link in door.links.values():
                link.close()
            await asyncio.gather(*(asyncio.to_thread(companion.end) for companion in companions))

    return lifespan


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdecimal() or int(port) > 65_535 or not host:
        raise UsageError("--http takes an address and a port, such as 127.0.0.1:8101")
    return host.strip("[]"), int(port)


def _tls(args: Namespace) -> tuple[str, str] | None:
    if not (args.tls_cert or args.tls_key):
        return None
    if not (args.tls_cert and args.tls_key):
        raise UsageError("--tls-cert and --tls-key go together")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(args.tls_cert, args.tls_key)
    except (OSError, ssl.SSLError) as error:
        both = f"{args.tls_cert} with {args.tls_key}"
        raise UsageError(f"{both} is not a certificate with its key in PEM") from error
    return args.tls_cert, args.tls_key


def _check_exposure(host: str, args: Namespace) -> None:
    """Raise UsageError for a server that other machines reach without encryption."""
    if guard.is_loopback(host) or args.tls_cert or args.behind_proxy:
        return
    raise UsageError(
        f"{host} is reachable from other machines, which would send tokens unencrypted: add --tls-cert and --tls-key,"
        " or --behind-proxy if a web server in front terminates TLS"
    )


def _vaults_by_name(folders: Sequence[str]) -> dict[str, str]:
    """The folders of vaults by their names in URLs, which are those of the folders."""
    vaults: dict[str, str] = {}
    for named in folders:
        with Vault(named or None) as vault:
            folder = vault.path
        if folder in vaults.values():
            continue
        stem = re.sub(r"[^a-z0-9]", "-", os.path.basename(folder).lower()).strip("-") or "vault"
        name, number = stem, 2
        while name in vaults:
            name, number = f"{stem}-{number}", number + 1
        vaults[name] = folder
    return vaults
