"""vaultmem shared: search a shared index by meaning on a machine that has no vault."""

from __future__ import annotations

import os
from typing import cast

from vaultmem import config, paths
from vaultmem.config import Config
from vaultmem.embedding.models import open_embedder
from vaultmem.errors import UsageError
from vaultmem.index import LOCAL
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.access import Viewer, viewer
from vaultmem.output import Output
from vaultmem.recall.recall_text import Recalled, block, entry
from vaultmem.vectors.shared_index import Near, open_server

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace

    from vaultmem.adapter import JsonObject

MORE = 4  # candidates per result where an assistant may not see all
_TEXTLESS = (
    "no texts lie there; index.chroma.texts: on, where the vault is, lets other machines show them"
)


def run(args: Namespace, output: Output) -> int:
    """Find what is near to the words, in all vaults of the collection."""
    settings = config.load(None)
    if settings.text("index.backend") == LOCAL:
        what = "index.backend and index.chroma.url"
        raise UsageError(f"no shared index is set: {what} in {paths.config_file()}")
    limit = args.limit or settings.number("search.limit")
    near = _nearest(args.query, limit, viewer(args.by or ""), settings)
    results = list(map(_to_json, near))
    if args.recall:
        memory = {"kind": "note", "memory_type": "semantic"}
        notes = [
            {**result, "content": result["text"], **memory} for result in results if result["text"]
        ]
        output.exact(f"{block(entry(cast('Recalled', note)) for note in notes)}\n")
    else:
        output.answer({"results": results, "count": len(results)})
        _show(results, output)
    if results and not any(result["text"] for result in results):
        output.remark(_TEXTLESS)
    return 0


def _nearest(query: str, limit: int, to: Viewer, settings: Config) -> list[Near]:
    """The records that the viewer may see, nearest first. Private notes are never among them."""
    if not query.strip():
        raise UsageError("nothing to search for; type some words")
    models = os.path.join(paths.make_private(paths.state_root()), "models")
    embedder = open_embedder(settings, models, settings.number("embedding.threads"))
    server = open_server(settings, embedder.model.key)
    try:
        near = server.search(embedder.query(query).tolist(), limit * (MORE if to.name else 1), {})
    finally:
        server.close()
    return [match for match in near if to.sees(str(match.record.metadata.get("scope")))][:limit]


def _to_json(match: Near) -> JsonObject:
    facts = match.record.metadata
    places = {name: facts.get(name) for name in ("vault", "path", "line", "end_line")}
    return {**places, "text": (match.record.text or "").strip(), "score": round(match.cosine, 3)}


def _show(results: list[JsonObject], output: Output) -> None:
    if not results:
        output.note("nothing found")
    for result in results:
        lines = f"{result['line']}-{result['end_line']}"
        output.line(f"{output.place(str(result['path']), lines)}  score {result['score']}")
        if result["text"]:
            output.line(f"  {' '.join(str(result['text']).split())}")
