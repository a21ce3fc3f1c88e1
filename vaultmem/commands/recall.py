"""vaultmem recall: what is known about a question, within a budget of tokens."""

from __future__ import annotations

from vaultmem.commands.search import asked_line, lines
from vaultmem.commands.shared import embed_first, open_vault
from vaultmem.errors import StateError, UsageError, VaultmemError
from vaultmem.output import Output
from vaultmem.search.recall_text import block, entry, held_back_line, older_line
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from vaultmem.api import Vault


# What a line of a batch may have -> what recall calls it.
KEYS = {"id": "", "query": "query", "top_k": "top_k", "limit": "top_k", "budget": "budget"}


def run(args: argparse.Namespace, output: Output) -> int:
    """Recall once, or once a line."""
    query = args.query or ""
    if not args.batch and not query.strip():
        raise UsageError("nothing to recall; type some words, or see vaultmem recall --help")
    with open_vault(args, output) as vault:
        if vault is not args.vault and "meaning" not in (args.without or ()):
            embed_first(vault, output)  # the agent embeds by itself
        if args.batch:
            return _batch(vault, args, output)
        found = vault.settled().recall(query, explain=args.explain, **_how(args))
    for remark in found.get("remarks", ()):
        output.remark(f"vaultmem: {remark}")
    if output.as_json:
        output.data(found)
        return 0
    told = block(map(entry, found["memories"]))
    output.text(f"{told}\n")
    for said in (held_back_line(found.get("held_back", ())), older_line(found["left_out"])):
        output.text(f"{said}\n" if said else "")
    _remark(found, output)
    return 0


def _how(args: argparse.Namespace) -> dict[str, Any]:
    given = {
        "budget": args.budget, "top_k": args.top_k, "notes": args.notes, "untrusted": args.untrusted,
        "include_compressed": args.include_compressed, "min_confidence": args.min_confidence,
        "score_threshold": args.score_threshold, "scope": args.scope, "by": args.by, "types": args.types,
        "without": args.without, "as_of": args.as_of,
    }  # fmt: skip
    return {name: one for name, one in given.items() if one is not None}


def _remark(found: dict[str, Any], output: Output) -> None:
    for step in found.get("explain", ()):
        left = f" ({step['left']} left)" if "left" in step else ""
        output.remark(f"vaultmem: {step['step']}: {step['did']}{left}")


def _batch(vault: Vault, args: argparse.Namespace, output: Output) -> int:
    """Many questions in this process, asked of one desk. 1 when a line had no answer."""
    from vaultmem.api.rpc import carry_out
    from vaultmem.memories.desk import Desk
    from vaultmem.memories.reader import Reader

    desk, reader, how = Desk(vault.state, vault.config), Reader(vault), _how(args)
    failed = 0
    for number, line in enumerate(lines(), start=1):
        if not line.strip():
            continue
        asked = asked_line(line, number)
        id_ = asked.get("id", number)
        try:
            params = {**how, "explain": args.explain, "counts": False, **_of_line(asked)}
            found = carry_out(desk, reader, "recall", params)
        except StateError:  # no index: none of the lines has an answer
            raise
        except VaultmemError as error:
            failed = 1
            output.record({"id": id_, "error": str(error)})
            continue
        assert isinstance(found, dict)
        output.record({"id": id_, "results": found.pop("memories"), **found})
    return failed


def _of_line(asked: dict[str, object]) -> dict[str, object]:
    """What one line asks for. Raises UsageError."""
    for key in asked:
        if key not in KEYS:
            raise UsageError(f"unknown: {key[:40]!r}{_meant(key)}; known: {', '.join(KEYS)}")
    given = {KEYS[key]: one for key, one in asked.items() if KEYS[key] and one is not None}
    return {"query": None, **given}


def _meant(key: str) -> str:
    from difflib import get_close_matches

    folded = key.lower().replace("-", "_")
    near = get_close_matches(folded, KEYS, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""
