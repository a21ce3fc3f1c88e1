"""`vaultmem serve --http`: opens the door, with an agent for each vault behind it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import ssl
from argparse import Namespace
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from starlette.applications import Starlette

from vaultmem import paths
from vaultmem.api import Vault
from vaultmem.api.verbs import JSON
from vaultmem.errors import UsageError
from vaultmem.output import Output
from vaultmem.proxy import guard, serving
from vaultmem.text.values import plural
from vaultmem_server import app
from vaultmem_server.audit import Audit
from vaultmem_server.link import Companion, JsonObject, Link
from vaultmem_server.metrics import Metrics
from vaultmem_server.tokens import TokenStore

ADDRESS = "door.json"  # below the state: where a door of this user listens


@dataclass
class Door:
    """What the applications behind the door use. `vaults`: name in addresses -> folder."""

    vaults: Mapping[str, str]
    url: str
    names: frozenset[str]  # hosts that requests may name
    is_private: bool  # whether only this machine reaches it
    tokens: TokenStore = field(default_factory=TokenStore)
    metrics: Metrics = field(default_factory=Metrics)
    audit: Audit = field(default_factory=Audit)
    links: dict[str, Link] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.links = {name: Link(folder) for name, folder in self.vaults.items()}

    async def ask(self, vault: str, verb: str, params: JsonObject) -> object:
        """The answer of a verb of memories. Raises LinkError in one clear line."""
        return await self.links[vault].call(
            "memory", {"verb": verb, "params": params, "door": JSON}
        )

    async def call(self, vault: str, method: str, params: JsonObject | None = None) -> object:
        """The answer of a method of the agent's socket. Raises LinkError."""
        return await self.links[vault].call(method, params or {})


def serve(args: Namespace, output: Output) -> int:
    """Open the door in the foreground, until a signal ends it."""
    host, port = _address(args.http)
    tls = _tls(args)
    _check_exposure(host, args)
    vaults = _named(args.vault or [""])
    listening = serving.listen(host, port)
    port = listening.getsockname()[1]
    scheme = "https" if tls else "http"
    shown = f"[{host}]" if ":" in host else host
    names = frozenset({*(name.lower() for name in args.name or ()), host.lower(), *guard.LOOPBACK})
    door = Door(vaults, f"{scheme}://{shown}:{port}", names, guard.is_loopback(host))
    server = serving.server(app.build(door, _lifespan(door)), tls)
    output.remark(
        f"vaultmem: {door.url}/mcp and {door.url}/api/v1 answer who has a token (vaultmem token add NAME)"
    )
    output.remark(f"vaultmem: {plural(len(vaults), 'vault')}: {', '.join(vaults)}")
    asyncio.run(server.serve(sockets=[listening]))
    return 0


def _lifespan(door: Door) -> app.Lifespan:
    """Start the agents, say where the door is, and undo both."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        companions = [Companion(folder, _agent(folder)) for folder in door.vaults.values()]
        watching = [asyncio.create_task(each.watch()) for each in companions]
        place = os.path.join(paths.make_private(paths.state_root()), ADDRESS)
        _write_private(place, {"url": door.url, "pid": os.getpid(), "vaults": dict(door.vaults)})
        try:
            await asyncio.gather(*(each.ready() for each in companions))
            yield
        finally:
            for task in watching:
                task.cancel()
            for link in door.links.values():
                link.close()
            await asyncio.gather(*(asyncio.to_thread(each.end) for each in companions))
            with contextlib.suppress(OSError):
                os.unlink(place)

    return lifespan


def _agent(vault: str) -> list[str]:
    return [*paths.program(), "serve", "--vault", vault]


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
        raise UsageError(
            f"{args.tls_cert} with {args.tls_key} is no certificate with its key, as PEM"
        ) from error
    return args.tls_cert, args.tls_key


def _check_exposure(host: str, args: Namespace) -> None:
    """Whoever listens to other machines must not be overheard."""
    if guard.is_loopback(host) or args.tls_cert or args.behind_proxy:
        return
    raise UsageError(
        f"{host} is reached from other machines, where a token could be read on its way: add --tls-cert and --tls-key,"
        " or --behind-proxy where a web server in front ends TLS"
    )


def _named(folders: Sequence[str]) -> dict[str, str]:
    """The vaults by the names that they have in addresses: those of their folders."""
    vaults: dict[str, str] = {}
    for named in folders:
        with Vault(named or None) as vault:
            folder = vault.path
        if folder in vaults.values():
            continue
        stem = "".join(
            c if c.isalnum() and c.isascii() else "-" for c in os.path.basename(folder).lower()
        ).strip("-")
        name, number = stem or "vault", 2
        while name in vaults:
            name, number = f"{stem or 'vault'}-{number}", number + 1
        vaults[name] = folder
    return vaults


def _write_private(path: str, value: Mapping[str, object]) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.replace(temporary, path)
