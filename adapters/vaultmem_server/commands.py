"""vaultmem token: the tokens of the HTTP door."""

from __future__ import annotations

import time
from argparse import Namespace

from vaultmem import paths
from vaultmem.api import Vault
from vaultmem.errors import UsageError
from vaultmem.output import Output, table
from vaultmem.text import times
from vaultmem_server.tokens import ADMIN, Token, TokenStore


def token(args: Namespace, output: Output) -> int:
    """Add, list or revoke."""
    store = TokenStore()
    if args.action == "list":
        if args.name:
            raise UsageError("vaultmem token list takes no name")
        _list(store, output)
        return 0
    if not args.name:
        raise UsageError(f"name the token: vaultmem token {args.action} NAME")
    if args.action == "add":
        _add(store, args, output)
    else:
        _revoke(store, args, output)
    return 0


def _add(store: TokenStore, args: Namespace, output: Output) -> None:
    lifetime = seconds_of(args.expires, "--expires")
    folders = [_folder(named) for named in args.vault or ()]
    vaults = [paths.vault_id(folder) for folder in folders]
    agent = (args.agent or "").strip()
    facts = {"name": args.name, "scope": args.scope, "agent": agent, "vaults": folders}
    facts["expires"] = args.expires or ""
    if args.dry_run:
        store.check(args.name, args.scope, agent)
        would = f"would make the token {args.name} with the scope {args.scope}"
        _say(output, {"dry_run": True, **facts}, would)
        return
    text = store.add(args.name, args.scope, agent, vaults, lifetime)
    if output.as_json:
        output.data({**facts, "token": text})
        return
    output.line(text)
    output.remark(
        "this is shown once and stored nowhere; clients send it as Authorization: Bearer TOKEN"
    )
    if args.scope == ADMIN and not agent:
        output.remark(
            "it may do all that you may do, private notes included; for an assistant use --scope write"
        )


def _folder(named: str) -> str:
    with Vault(named) as vault:
        return vault.path


def seconds_of(text: str | None, option: str) -> float | None:
    """The span that an option names; None where it is not given."""
    if not text:
        return None
    try:
        return float(times.duration_seconds(text))
    except ValueError as error:
        raise UsageError(f"{option} must be {error}") from error


def _revoke(store: TokenStore, args: Namespace, output: Output) -> None:
    if args.dry_run:
        store.named(args.name)
        _say(output, {"dry_run": True, "name": args.name}, f"would revoke the token {args.name}")
        return
    gone = store.revoke(args.name)
    _say(
        output, {"revoked": gone.name}, f"revoked {gone.name}: its requests are refused from now on"
    )


def _list(store: TokenStore, output: Output) -> None:
    known = store.all()
    if output.as_json:
        output.data({"tokens": [one.to_json() for one in known], "count": len(known)})
        return
    if not known:
        output.line("no tokens; vaultmem token add NAME makes one")
        return
    for line in table(
        [("name", "scope", "acts as", "made", "valid until", "vaults"), *map(_row, known)]
    ):
        output.line(line)


def _row(one: Token) -> tuple[str, ...]:
    ends = "for ever" if one.expires is None else _day(one.expires)
    ends = f"{ends} (over)" if one.is_expired(time.time()) else ends
    return (
        one.name,
        one.scope,
        one.client or "you",
        _day(one.created),
        ends,
        ", ".join(one.vaults) or "all",
    )


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def _say(output: Output, data: object, text: str) -> None:
    if output.as_json:
        output.data(data)
    else:
        output.line(text)
