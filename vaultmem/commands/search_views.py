"""vaultmem search, recall and why: one query, or one per line of stdin."""

from __future__ import annotations

import io
import os
import re
import sys

from vaultmem import screen
from vaultmem.api.params import Declared, at_door
from vaultmem.api.vault import WORDS_ALONE, Vault
from vaultmem.api.verbs import JSON, Param
from vaultmem.commands.rendering import DAY, MINUTE, embed_first, open_vault, params_of, remark_age
from vaultmem.errors import StateError, UsageError, VaultmemError
from vaultmem.memories.access import Viewer, viewer
from vaultmem.memories.model import policy
from vaultmem.output import Output
from vaultmem.search.query import Answer, Ask, Hit, filters_of
from vaultmem.settings import OFF
from vaultmem.text.values import RECORDS, TEXT_PROPERTIES, TYPE_CHECKING, lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import SimpleNamespace as Namespace

    from vaultmem.adapter import JsonObject
    from vaultmem.search.related import Why

    Attributions = Mapping[str, str]

# The parts of a score, in words.
_PARTS = {
    "keyword": "its words match", "words around it": "words beside it match",
    "newest": "only its date counts",
    "meaning": "its meaning is near", "meaning around it": "the text around it is near in meaning",
    "meaning of the note": "the whole note is near in meaning", "conflict copy": "it is a copy of another note",
    "length": "its length", "short question": "it is a short question", "linked": "a better result links to it",
    "long note": "its note is long", "template": "it is a template",
    "less for words": "words count less beside meaning",
    "meaning, not embedded yet": "its meaning is estimated, as it is not embedded yet",
}  # fmt: skip
_FIELD_WORDS = {
    "body": "in the text", "near": "close together", "title": "in the title", "heading": "in a heading",
    "label": "in its label", "tag": "in a tag", "path": "in the path", "date": "as its date",
    "phrase": "word for word",
}  # fmt: skip
MOST_SNIPPET = 3  # lines
AT_TERMINAL = 5  # memories of a recall
LONG_WORD = 48  # columns of an address
_LINK = lazy(r"!?\[([^][\n]*)\]\([^()\n]*\)")  # of Markdown: its text is enough in a heading
_RULE = lazy(r"\|?(?::?-{2,}:?\|?)+|\|{1,2}")  # of a table, and its bars
_OWN = (*TEXT_PROPERTIES, "global", "created_at")
# Of a line in a batch: all of search's fields; what recall calls another name.
_LINE = Declared((
    Param("id", kind="any"), Param("query", needed=True),
    Param("limit", kind="int", least=1, most="text.values:RESULTS"),
))  # fmt: skip
_SAME_IN_RECALL = {"limit": "top_k"}


def search(args: Namespace, output: Output) -> int:
    """Search once, or once per line."""
    filters = filters_of(vars(args))
    query = args.query or ""
    if not (args.batch or query.strip() or filters):
        raise UsageError("nothing to search for; type some words, or see vaultmem search --help")
    with open_vault(args, output) as vault:
        ask = Ask(
            query, args.limit or vault.config.number("search.limit"), _by_meaning(args),
            args.group or ("block" if args.batch else "note"), filters, args.min_confidence,
            compressed=args.include_compressed, talks=args.conversations,
            viewer=viewer(args.by or "", [args.scope or ""]),
        )  # fmt: skip
        if ask.semantic and vault is not args.vault:  # the agent embeds on its own
            embed_first(vault, output)
        if ask.semantic is None and (args.batch or args.open):  # here, even beside an agent
            if vault.config.text("embedding.model") != OFF:
                output.remark(WORDS_ALONE)
            ask = ask.but(semantic=False)
        if args.batch:
            return _batch(lambda line: _search_line(vault, ask, line), output)
        answer = vault.answer(ask)
        for remark in answer.remarks:
            output.remark(remark)
        whose = _attributions(vault, answer, ask.viewer)
        if output.as_json:
            results = [result_to_json(result, whose) for result in answer.results]
            output.data({"results": results, "count": len(results)})
        else:
            _show_results(answer, whose, output)
            if not answer.results and vault is not args.vault:
                remark_age(vault, output, MINUTE, DAY)
        if args.open and answer.results:
            first = answer.results[0]
            _open(first.uri, os.path.join(vault.path, first.path))
    return 0


def _by_meaning(args: Namespace) -> bool | None:
    """Whether to search by meaning, too; None if unspecified."""
    return False if args.keyword else args.semantic


def _attributions(vault: Vault, answer: Answer, to: Viewer) -> Attributions:
    """The authors of unapproved results, by path."""
    notes = [(result.path, result.properties) for result in answer.results]
    keys = ("agent", "source", "url")
    if not to.name and not any(properties.get(key) for _, properties in notes for key in keys):
        return {}
    from vaultmem.memories.item_answers import attributions

    return attributions(vault, notes, to)


def result_to_json(result: Hit, whose: Attributions) -> JsonObject:
    """A result without its empty fields, except its score: title, place and words, then the facts about a memory."""
    properties = result.properties
    id_ = properties.get("id")
    fields = {
        "title": result.title, "path": result.path, "line": result.line, "end_line": result.end_line,
        **_words(result), "id": id_, **{name: properties.get(name) for name in _OWN},
        "decay_policy": policy(properties.get("decay_policy")) if id_ else None, "attribution": whose.get(result.path),
        "archived": result.archived, "confidence": result.confidence if id_ else None,
        "heading": " > ".join(result.headings), "label": result.label, "day": result.day, "category": result.category,
        "score": round(result.score, 2), "similarity": result.similarity,
        "more": [list(lines) for lines in result.more], "conflict_copy_of": result.original, "uri": result.uri,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value or name == "score"}


def _words(result: Hit) -> JsonObject:
    """A note's snippet, since its lines can be read. A memory's content, and the snippet if that is only a part of
    it."""
    if not result.properties.get("id"):
        return {"snippet": result.snippet}
    is_all = " ".join(result.content.split()) == result.snippet
    return {**({} if is_all else {"snippet": result.snippet}), "content": result.content}


def _show_results(answer: Answer, whose: Attributions, output: Output) -> None:
    if not answer.results:
        output.remark("nothing found")
    for number, result in enumerate(answer.results):
        if number:
            output.line()
        heading = " > ".join(part for part in result.headings if part != result.title)
        heading = _LINK.sub(r"\1", heading)
        title = screen.cut(_title(result), output.room(0)) if output.columns else _title(result)
        head = output.link(output.paint(title, "bold"), result.uri)
        if heading and output.columns:
            heading = screen.cut(heading, output.room(screen.columns(title) + 2, 8))
        output.line(f"{head}  {output.paint(heading, 'cyan')}" if heading else head)
        details = [
            result.day,
            result.score and f"score {result.score:.1f}",
            whose.get(result.path),
            result.archived and f"({result.archived})",
            result.original and "sync conflict copy",
            result.more and "also lines " + ", ".join(f"{a}-{b}" for a, b in result.more),
        ]
        behind = "  ".join(str(detail) for detail in details if detail)
        room = output.room(screen.columns(behind) + 4)
        lines = f"{result.line}-{result.end_line}"
        where = output.place(result.path, lines, room=room, style="dim")
        output.line(f"  {where}  {output.paint(behind, 'dim')}".rstrip())
        _show_snippet(result, output)


def _title(result: Hit) -> str:
    """The title of a result; a conversation's entry is named by its conversation and speaker, not by an id."""
    talk, mark, _ = result.path.partition(f"/{RECORDS}/")
    role = result.properties.get("role") or "entry"
    return f"{talk.rpartition('/')[2]}, {role}" if mark else result.title


def _show_snippet(result: Hit, output: Output) -> None:
    """Print the words around a match; on a terminal in a few lines, without table rules and with long addresses cut."""
    width = min(output.room(4), screen.MOST)
    words: list[tuple[str, str]] = []
    for match in re.finditer(r"\S+", result.snippet):
        word = match[0]
        if width and _RULE.fullmatch(word):
            continue
        if width and screen.columns(word) > LONG_WORD and "://" in word:
            word = screen.cut_middle(word, LONG_WORD)
            words.append((word, output.link(word, match[0])))
        else:
            words.append((word, _mark(result, match.span(), output)))
    if not width:
        output.line("  " + " ".join(painted for _, painted in words))
    for line in screen.wrap(words, width, MOST_SNIPPET) if width else ():
        output.line("  " + line)


def _mark(result: Hit, span: tuple[int, int], output: Output) -> str:
    """A word of the snippet, highlighted where it matches."""
    text, at = "", span[0]
    for mark in result.marks:
        start, end = max(mark[0], span[0]), min(mark[1], span[1])
        if start < end:
            match = output.paint(result.snippet[start:end], "bold", "yellow")
            text, at = text + result.snippet[at:start] + match, end
    return text + result.snippet[at : span[1]]


def _open(uri: str, path: str) -> None:
    """Open the note's link, or its file in the person's editor; only links that we built."""
    import shlex
    import shutil
    import subprocess

    opener = {"darwin": "open", "win32": "explorer"}.get(sys.platform, "xdg-open")
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    try:
        if shutil.which(opener):
            subprocess.Popen([opener, uri], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        elif editor:
            subprocess.run([*editor, path], check=False)
        else:
            why = f"{opener} is missing, and EDITOR names no editor"
            raise VaultmemError(f"cannot open {uri}: {why}; open it by hand")
    except OSError as error:
        raise VaultmemError(f"{path} cannot be opened: {error.strerror or error}") from error


def recall(args: Namespace, output: Output) -> int:
    """Recall once, or once per line."""
    from vaultmem.recall.recall_text import block, entry, held_back_line, older_line

    query = args.query or ""  # of any type, over the socket; the verb checks it
    if not args.batch and not str(query).strip():
        raise UsageError("nothing to recall; type some words, or see vaultmem recall --help")
    params = {name: value for name, value in params_of("recall", args).items() if value is not None}
    has_limit = not args.given.isdisjoint(("top_k", "budget"))
    is_short = output.is_terminal and not (has_limit or args.by or args.batch or output.as_json)
    if is_short:  # a prompt has room for all of them; a person reads the best first
        params["top_k"] = AT_TERMINAL
    with open_vault(args, output) as vault:
        if vault is not args.vault and "meaning" not in (args.without or ()):
            embed_first(vault, output)  # the agent embeds on its own
        if args.batch:
            return _recall_batch(vault, params, output)
        answer = vault.settled().recall(**{**params, "query": query})
    for remark in answer.get("remarks", ()):
        output.remark(remark)
    if output.as_json:
        output.data(answer)
        return 0
    held_back = held_back_line(answer.get("held_back", ()), to_person=not args.by)
    output.text(block(map(entry, answer["memories"])) + "\n")
    for line in filter(None, (held_back, older_line(answer["left_out"]))):
        output.line(line)
    if is_short and answer["skipped"]:
        count = len(answer["memories"])
        output.remark(f"{count} of {count + answer['skipped']:,}; more with -k {4 * AT_TERMINAL}")
    for step in answer.get("explain", ()):
        left = f" ({step['left']} left)" if "left" in step else ""
        output.remark(f"{step['step']}: {step['did']}{left}")
    return 0


# --- batches


def _batch(answer: Callable[[JsonObject], JsonObject], output: Output) -> int:
    """Answer each line of stdin, whatever its bytes. Returns 1 if a line could not be answered."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    code = 0
    for number, text in enumerate(sys.stdin, start=1):
        if not text.strip():
            continue
        line: JsonObject = {}
        try:
            line = _line_of_batch(text, number)
            with at_door(JSON):
                reply = answer(line)
        except StateError:  # no index, so no line can be answered
            raise
        except VaultmemError as error:
            code, reply = 1, {"error": str(error)}
        output.record({"id": line.get("id", number), **reply})
    return code


def _line_of_batch(text: str, number: int) -> JsonObject:
    """One line of a batch: plain text, or JSON if it begins like an object."""
    if not text.lstrip().startswith("{"):
        return {"id": number, "query": text.strip()}
    from vaultmem.api.rpc import parse

    try:
        line = parse(text)
    except ValueError as error:
        raise VaultmemError(f"not valid JSON: {error}") from error
    return line if isinstance(line, dict) else {}


def _search_line(vault: Vault, ask: Ask, line: JsonObject) -> JsonObject:
    fields = _LINE.check(line)
    question = ask.but(
        semantic=bool(ask.semantic), text=fields["query"], limit=fields.get("limit", ask.limit)
    )
    answer = vault.answer(question)
    whose = _attributions(vault, answer, ask.viewer)
    reply: JsonObject = {"results": [result_to_json(result, whose) for result in answer.results]}
    return {**reply, "remarks": answer.remarks} if answer.remarks else reply


def _recall_batch(vault: Vault, params: JsonObject, output: Output) -> int:
    """Answer many questions in this process, from one open store."""
    from vaultmem.api.rpc import Reader, carry_out
    from vaultmem.pending.open_store import open_store

    store, reader = open_store(vault.state, vault.config), Reader(vault)

    def answer(line: JsonObject) -> JsonObject:
        named = {_SAME_IN_RECALL.get(key, key): value for key, value in line.items() if key != "id"}
        request = {**params, "query": None, "counts": False, **named}
        reply = carry_out(store, reader, "recall", request)
        assert isinstance(reply, dict)
        return {"results": reply.pop("memories"), **reply}

    return _batch(answer, output)


# --- why


def why(args: Namespace, output: Output) -> int:
    """Explain a note's place in the results of a query."""
    with open_vault(args, output) as vault:
        answer = vault.why(args.query, args.note, semantic=_by_meaning(args), by=args.by or "")
    output.result(answer.__dict__, *_why_lines(answer, output))
    return 0


def _why_lines(answer: Why, output: Output) -> Iterator[str]:
    yield output.paint(answer.title, "bold") + f"  {answer.path}"
    if answer.rank is None:
        yield "  not among the results"
    else:
        where = f"lines {answer.line}-{answer.end_line}, score {answer.score:.2f}"
        yield f"  number {answer.rank} of {answer.of}, {where}"
    for name, points in answer.parts.items():
        yield f"  {_PARTS.get(name, name)} ({points:+.2f})"
        for field, value in answer.fields.items() if name == "keyword" else ():
            words = ", ".join(f"'{word}'" for word in answer.words.get(field, ())) or "the query"
            yield f"    matches {words} {_FIELD_WORDS.get(field, f'in its {field}')} ({value:+.2f})"
    if answer.confidence is not None and answer.confidence < 1:
        yield f"  confidence {answer.confidence}"
    yield from (f"  {remark}" for remark in answer.remarks)
