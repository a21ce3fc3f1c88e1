"""vaultmem token: the tokens of the HTTP door."""

from __future__ import annotations

import time
from types import SimpleNamespace as Namespace

from vaultmem import paths
from vaultmem.api import Vault
from vaultmem.errors import UsageError
from vaultmem.output import Output, table
from vaultmem.text import times
from vaultmem_server.tokens import ADMIN, Token, TokenStore


def token(args: Namespace, output: Output) -> int:
    """Add, list or revoke tokens."""
    store = TokenStore()
    if args.action == "list" and args.name:
        raise UsageError("vaultmem token list takes no name")
    if args.action != "list" and not args.name:
        raise UsageError(f"name the token: vaultmem token {args.action} NAME")
    {"add": _add, "list": _list, "revoke": _revoke}[args.action](store, args, output)
    return 0


def _add(store: TokenStore, args: Namespace, output: Output) -> None:
    lifetime = seconds_of(args.expires, "--expires")
    folders = []
    for named in args.vault or ():
        with Vault(named) as vault:
            folders.append(vault.path)
    vaults = [paths.vault_id(folder) for folder in folders]
    agent = (args.agent or "").strip()
    facts = {"name": args.name, "scope": args.scope, "agent": agent, "vaults": folders}
    facts["expires"] = args.expires or ""
    if args.dry_run:
        store.check(args.name, args.scope, agent)
        would = f"would make the token {args.name} with the scope {args.scope}"
        output.result({"dry_run": True, **facts}, would)
        return
    text = store.add(args.name, args.scope, agent, vaults, lifetime)
    output.result({**facts, "token": text}, text)
    output.note(
        "this is shown once and stored nowhere; clients send it as Authorization: Bearer TOKEN"
    )
    if args.scope == ADMIN and not agent:
        output.note(
            "it may do all that you may do, private notes included; for an assistant use --scope write"
        )


def seconds_of(text: str | None, option: str) -> float | None:
    """The duration of an option in seconds; None without one."""
    if not text:
        return None
    try:
        return float(times.duration_seconds(text))
    except ValueError as error:
        raise UsageError(f"{option} must be {error}") from error


def _revoke(store: TokenStore, args: Namespace, output: Output) -> None:
    if args.dry_run:
        name = store.named(args.name).name
        output.result({"dry_run": True, "name": name}, f"would revoke the token {name}")
        return
    name = store.revoke(args.name).name
    output.result({"revoked": name}, f"revoked {name}: its requests are refused from now on")


def _list(store: TokenStore, _: Namespace, output: Output) -> None:
    tokens = store.all()
    heads = ("name", "scope", "acts as", "created", "expires", "vaults")
    lines = table([heads, *map(_row, tokens)]) if tokens else []
    output.result(
        {"tokens": [row.to_json() for row in tokens], "count": len(tokens)},
        *(lines or ["no tokens; vaultmem token add NAME creates one"]),
    )


def _row(row: Token) -> tuple[str, ...]:
    ends = "never" if row.expires is None else _local(row.expires, "%Y-%m-%d %H:%M")
    ends = f"{ends} (expired)" if row.is_expired() else ends
    vaults = ", ".join(row.vaults) or "all"
    return row.name, row.scope, row.client or "you", _local(row.created), ends, vaults


def _local(seconds: float, form: str = "%Y-%m-%d") -> str:
    return time.strftime(form, time.localtime(seconds))
