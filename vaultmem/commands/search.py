"""vaultmem search: find notes by words, and by meaning."""

from __future__ import annotations

import io
import json
import re
import sys

from vaultmem import now as clock
from vaultmem.api import BY_WORDS, OFF, Vault
from vaultmem.commands.shared import embed_first, open_vault
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.memories.decay import policy
from vaultmem.memories.model import Viewer, viewer
from vaultmem.output import Output
from vaultmem.search.query import Filter
from vaultmem.search.search import Answer, Ask, Result
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    Attributions = Mapping[str, str]


_OWN = ("agent", "personality", "project", "type", "global", "created_at")
MEMORY_FIELDS = ("agent", "personality", "project", "type", "scope", "phase", "category")


_SHORT_OPTION = re.compile(r"-(?:[hns]|n\d+)$")


_WITHOUT_VALUE = (
    "-s",
    "--semantic",
    "--keyword",
    "--open",
    "--batch",
    "--global",
    "--include-compressed",
    "--conversations",
)


def prepare(words: list[str]) -> list[str]:
    """Mark the -words of the query with a NUL, so that they are not taken for options."""
    marked = []
    for before, word in zip(["", *words], words, strict=False):
        is_value = before == "-n" or (
            before.startswith("--") and "=" not in before and before not in _WITHOUT_VALUE
        )
        marked.append(f"\0{word}" if not is_value and _is_excluded_word(word) else word)
    return marked


def _is_excluded_word(word: str) -> bool:
    return word[:1] == "-" and word[1:2] not in ("", "-") and not _SHORT_OPTION.match(word)


def run(args: argparse.Namespace, output: Output) -> int:
    """Search once, or once a line."""
    text = args.query or ""
    filters = tuple(_filters(args))
    if args.batch:
        return _batch(args, filters, output)
    if not text.strip() and not filters:
        raise UsageError("nothing to search for; type some words, or see vaultmem search --help")
    with open_vault(args, output) as vault:
        limit = args.limit or vault.config.number("search.limit")
        ask = Ask(
            text, limit, by_meaning(args), args.group or "note", filters, args.min_confidence,
            compressed=args.include_compressed, talks=args.conversations, viewer=_viewer(args),
        )  # fmt: skip
        if ask.semantic and vault is not args.vault:  # the agent embeds by itself
            embed_first(vault, output)
        answer = vault.answer(ask)
        for remark in answer.remarks:
            output.remark(f"vaultmem: {remark}")
        others = _attributions(vault, answer, ask.viewer)
        if output.as_json:
            found = [as_json(r, others) for r in answer.results]
            output.data({"results": found, "count": len(found)})
        else:
            _show(answer, others, output)
            _remark_age(vault, output)
        if args.open and answer.results:
            _open(answer.results[0].uri)
    return 0


def by_meaning(args: argparse.Namespace) -> bool | None:
    """Whether to search by meaning, too; None where that is left open."""
    semantic: bool | None = args.semantic
    return False if args.keyword else semantic


def _filters(args: argparse.Namespace) -> Iterator[Filter]:
    for tag in args.tags or ():
        if tag.strip():
            yield Filter("tag", tag.strip().lstrip("#"))
    for field, day in (("from", args.since), ("to", args.until)):
        if day:
            yield Filter(field, day)
    for name in (*MEMORY_FIELDS, "path"):
        if given := getattr(args, name):
            yield Filter(name, given)
    if args.everywhere:
        yield Filter("global", "1")


def _viewer(args: argparse.Namespace) -> Viewer:
    return viewer(args.by or "", [args.scope or ""])


def _attributions(vault: Vault, answer: Answer, to: Viewer) -> Attributions:
    """Whose words the memories among the results are, where nobody has approved them, by id."""
    inside = vault.config.text("memory_folder") + "/"
    found = [one.properties for one in answer.results if one.path.startswith(inside)]
    if not any(own.get(key) for own in found for key in ("agent", "source", "url")):
        return {}
    from vaultmem.memories.approving import attributions

    return attributions(vault, found, to)


def as_json(result: Result, others: Attributions) -> dict[str, object]:
    """A result without what is empty: its title, place and words, then what is known of a memory."""
    own = result.properties
    found = {
        "title": result.title,
        "path": result.path,
        "line": result.line,
        "end_line": result.end_line,
        **_words(result),
        "id": own.get("id"),
        **{name: own.get(name) for name in _OWN},
        "decay_policy": policy(own.get("decay_policy")) if own.get("id") else None,
        "attribution": others.get(str(own.get("id"))),
        "archived": result.archived,
        "confidence": result.confidence if own.get("id") else None,
        "heading": " > ".join(result.headings),
        "label": result.label,
        "day": result.day,
        "category": result.category,
        "score": round(result.score, 2),
        "similarity": result.similarity,
        "more": [list(lines_) for lines_ in result.more],
        "conflict_copy_of": result.original,
        "uri": result.uri,
    }
    return {name: one for name, one in found.items() if one not in (None, "", False, [])}


def _words(result: Result) -> dict[str, object]:
    """What was found of a note: its lines can be read where more is needed. Of a memory all, and a snippet only where
    that is not the same."""
    if not result.properties.get("id"):
        return {"snippet": result.snippet}
    is_all = " ".join(result.content.split()) == result.snippet
    return {**({} if is_all else {"snippet": result.snippet}), "content": result.content}


def _show(answer: Answer, others: Attributions, output: Output) -> None:
    if not answer.results:
        output.remark("vaultmem: nothing found")
    for number, result in enumerate(answer.results):
        if number:
            output.line()
        heading = " > ".join(part for part in result.headings if part != result.title)
        head = output.paint(result.title, "bold") + (
            f"  {output.paint(heading, 'cyan')}" if heading else ""
        )
        output.line(head)
        where = f"{result.path}:{result.line}-{result.end_line}"
        extra = [where, result.day or "", f"score {result.score:.1f}" if result.score else ""]
        extra.append(others.get(str(result.properties.get("id")), ""))
        extra.append(result.archived and f"({result.archived})")
        if result.original:
            extra.append("sync conflict copy")
        if result.more:
            extra.append("also lines " + ", ".join(f"{a}-{b}" for a, b in result.more))
        output.line("  " + output.paint("  ".join(part for part in extra if part), "dim"))
        output.line("  " + _marked(result, output))


def _marked(result: Result, output: Output) -> str:
    text, at = "", 0
    for start, end in result.marks:
        text += result.snippet[at:start] + output.paint(result.snippet[start:end], "bold", "yellow")
        at = end
    return text + result.snippet[at:]


def _remark_age(vault: Vault, output: Output) -> None:
    """An index of yesterday may not know what was written today."""
    synced = vault.searcher().catalog.meta("synced")
    days_old = (clock.seconds() - int(synced or 0)) // 86400
    if synced and days_old >= 1:
        output.remark(
            f"vaultmem: the index is {plural(int(days_old), 'day')} old; vaultmem sync refreshes it"
        )


def _open(uri: str) -> None:
    """Hand the note's link to the system; only links of our own making, never text from a note."""
    import subprocess

    opener = {"darwin": "open", "win32": "explorer"}.get(sys.platform, "xdg-open")
    try:
        subprocess.Popen([opener, uri], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError as error:
        raise VaultmemError(
            f"cannot open {uri}: {opener} is missing; follow the link by hand"
        ) from error


def _batch(args: argparse.Namespace, filters: tuple[Filter, ...], output: Output) -> int:
    from vaultmem.text.values import RESULTS  # few need it to start

    code = 0
    with open_vault(args, output) as vault:
        if args.semantic:
            embed_first(vault, output)
        elif by_meaning(args) is None and vault.config.text("embedding.model") != OFF:
            output.remark(f"vaultmem: {BY_WORDS}")
        default = args.limit or vault.config.number("search.limit")
        group, least = args.group or "block", args.min_confidence
        for number, line in enumerate(lines(), start=1):
            if not line.strip():
                continue
            asked = asked_line(line, number)
            text, limit = asked.get("query"), asked.get("limit", default)
            if not isinstance(text, str) or type(limit) is not int or not 1 <= limit <= RESULTS:
                problem = f"needs query (text) and limit (1 to {RESULTS:,})"
                output.record({"id": asked.get("id", number), "error": problem})
                code = 1
                continue
            ask = Ask(
                text, limit, bool(args.semantic), group, filters, least, compressed=args.include_compressed,
                talks=args.conversations, viewer=_viewer(args),
            )  # fmt: skip
            answer = vault.answer(ask)
            others = _attributions(vault, answer, ask.viewer)
            reply: dict[str, object] = {
                "id": asked.get("id", number),
                "results": [as_json(r, others) for r in answer.results],
            }
            if answer.remarks:
                reply["remarks"] = answer.remarks
            output.record(reply)
    return code


def lines() -> Iterator[str]:
    """The lines of stdin, whatever their bytes."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    yield from sys.stdin


def asked_line(line: str, number: int) -> dict[str, object]:
    """One line of a batch: plain text, or JSON; without a query where it is neither."""
    if line.lstrip().startswith("{"):
        try:
            found = json.loads(line, parse_constant=_no_json)
        except (ValueError, RecursionError):
            return {"id": number}
        return found if isinstance(found, dict) else {"id": number}
    return {"id": number, "query": line.strip()}


def _no_json(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")
