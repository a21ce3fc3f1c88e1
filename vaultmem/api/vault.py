"""The Python API: a vault and its methods. Reads like the command line.

from vaultmem import Vault

with Vault("~/notes") as vault:
    vault.sync()
    for result in vault.search("apartment in Lisbon", limit=5):
        print(result.path, result.line, result.snippet)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from vaultmem import client
from vaultmem.api.memory_vault import MemoryVault
from vaultmem.errors import ModelError, NoteNotFoundError, StateError
from vaultmem.index import LOCAL, catalog_read
from vaultmem.index.catalog import below, like
from vaultmem.index.catalog_read import LinkView
from vaultmem.memories.access import Viewer, hidden, is_trusted, viewer
from vaultmem.notes.places import with_our_keys
from vaultmem.settings import OFF
from vaultmem.text.values import SHORTEST_ID, TYPE_CHECKING, value

if TYPE_CHECKING:
    from typing import TypeVar

    from vaultmem.adapter import Note
    from vaultmem.index.catalog import Catalog
    from vaultmem.index.compare import Report
    from vaultmem.notes.dialects import Rulebook
    from vaultmem.search.query import Answer, Ask, Filter, Hit
    from vaultmem.search.related import Mention, Related, Why
    from vaultmem.search.search import Searcher
    from vaultmem.service.agent_health import AgentStatus
    from vaultmem.vectors.shared_index import Health

    T = TypeVar("T")

WORDS_ALONE = "searched by words only; --semantic adds search by meaning"
BY_WORDS = f"{WORDS_ALONE}, and so does the agent (vaultmem start)"


@value
class UnresolvedLink:
    """A name that no file has, where it is used, and the notes that have it as an alias."""

    name: str
    kind: str
    source: str
    line: int
    alias_of: list[str]


@value
class Embedded:
    """The result of embedding: how many blocks got vectors, or why none did."""

    blocks: int
    model: str | None
    remark: str | None


def search_with_archive(searcher: Searcher, ask: Ask) -> Answer:
    """The results of a search, followed by those of the archive if there is room."""
    answer = searcher.search(ask)
    if answer.words and answer.results and all(hit.is_only_near for hit in answer.results):
        answer.remarks.append("no note has these words; the results are the nearest in meaning")
    if len(answer.results) < ask.limit and os.path.isdir(searcher.archive):
        from vaultmem.recall.archive import search_archive  # rarely needed

        answer.results.extend(search_archive(searcher, ask)[: ask.limit - len(answer.results)])
    if answer.results or ask.talks or not searcher.cache().turn_notes:
        return answer
    if searcher.search(
        ask.but(semantic=False, talks=True)
    ).results:  # read: a note may be hidden by now
        answer.remarks.append("only conversations have it; --conversations searches them, too")
    return answer


class Vault(MemoryVault):
    """A folder of notes and its index. Use it as a context manager, or call close().

    `path` defaults to VAULTMEM_VAULT, then the vault at or above the working directory, then the one in the user's
    settings. Raises VaultNotFoundError when there is none.
    """

    def changes(self) -> Report:
        """What sync() would do, without doing it."""
        from vaultmem.index.sync import changes

        return changes(self.path, self.config)

    def embed(self) -> Embedded:
        """Give every block without a vector one, for search by meaning. It may be interrupted at any time; the next
        call resumes. Without a usable model it does nothing and says why."""
        from vaultmem.progress import current_progress

        params = {"rebuild": False, "confirm_removals": False, "embed": True}
        done = client.ask(self.path, "sync", params, timeout=None, progress=current_progress())
        if done is not None:
            return Embedded(done["embedded"], done["model"], done["remark"])
        from vaultmem.search.semantic import embed

        return Embedded(*embed(self.searcher()))

    def search(
        self, text: str, *, limit: int = 10, semantic: bool | None = None, group: str = "note",
        filters: Iterable[Filter] = (), **options: object,
    ) -> list[Hit]:  # fmt: skip
        """The best hits, best first. `text` is in the query language of `vaultmem search --help`; `semantic` True
        adds search by meaning, False leaves it out, and None adds it if a model is already loaded, as in the agent;
        `group="block"` makes every block a hit of its own.

        `options` are those of the command: `tags`, `path`, `since`, `until`, `category`, `scope`, `conversations` and
        so on. `by` names the assistant that asks; without it you do, and see private memories too. Raises UsageError
        for an unknown or invalid option.
        """
        from vaultmem.api.params import in_json
        from vaultmem.memories.arguments import Arguments
        from vaultmem.search.query import Ask, filters_of

        checked = in_json("search").check({"limit": limit, "group": group, **options})
        arguments = Arguments(checked)
        ask = Ask(
            text, limit, False if arguments.flag("keyword") else semantic, group, (*filters, *filters_of(checked)),
            arguments.number("min_confidence") if arguments.has("min_confidence") else None,
            compressed=arguments.flag("include_compressed"), talks=arguments.flag("conversations"),
            viewer=viewer(arguments.text("by"), [arguments.text("scope")]),
        )  # fmt: skip
        return self.answer(ask).results

    def answer(self, ask: Ask) -> Answer:
        """Like search(), with remarks on what was done differently."""
        how = bool(ask.semantic)
        answer = self.mended(lambda: search_with_archive(self.searcher(), ask.but(semantic=how)))
        if ask.semantic is None and self.has_meaning(ask):
            answer.remarks.append(BY_WORDS)
        return answer

    def _read(self, read: Callable[[Catalog], T]) -> T:
        return self.mended(lambda: read(self.searcher().catalog))

    def has_meaning(self, ask: Ask) -> bool:
        """Whether a search by meaning could find more: there are words to compare, and a model is set."""
        from vaultmem.search.query import parse

        return self.config.text("embedding.model") != OFF and bool(parse(ask.text).words)

    def why(self, text: str, note: str, *, semantic: bool | None = None, by: str = "") -> Why:
        """Explain a note's place in the results of a query, for the assistant `by` if one is named."""
        from vaultmem.search.related import why

        path, to = self.find_note(note), viewer(by)
        answer = self.mended(lambda: why(self.searcher(), text, path, to, semantic=bool(semantic)))
        if by:
            answer.remarks.extend(self._held_back(path, to))
        return answer

    def _held_back(self, path: str, to: Viewer) -> list[str]:
        """Why recall leaves out a visible memory or note by someone else, if it does."""
        from vaultmem.memories.item_answers import attributions, content_id, memory_id, origin_at

        properties = with_our_keys(self.note(path).properties)
        trust, folder = self.config.text("recall.trust"), self.config.text("memory_folder")
        origin = origin_at(path, properties, folder)
        if is_trusted(origin, to, trust) or hidden(properties, to, memory=True):
            return []
        if not attributions(self, [(path, properties)], to):
            return []
        if id_ := memory_id(path, properties, folder):
            return [f"a recall holds it back: nobody has approved it; vaultmem approve {id_[:8]}"]
        id_ = content_id(self.searcher().texts.read([path])[path])
        if self.ask("approved", ids=[id_])["approved"]:
            return []
        advice = f"vaultmem approve {path!r}, or vaultmem recall --untrusted"
        return [f"a recall holds it back: it is from elsewhere; {advice}"]

    def related(self, note: str, *, limit: int = 10) -> list[Related]:
        """Notes related to a note: by distinctive words, by meaning, by links."""
        from vaultmem.search.related import related

        path = self.find_note(note)
        return self.mended(lambda: related(self.searcher(), path, limit))

    def find_note(
        self,
        name: str,
        *,
        but: frozenset[str] = frozenset(),
        is_hidden: Callable[[str], bool] = lambda _path: False,
    ) -> str:
        """The path of the note meant by a path, title, file name or alias; failing that, by a link, or a memory's id
        or its beginning. Files at the paths in `but`, and those that are hidden, are ignored.

        Raises NoteNotFoundError if there is none, or if several have the name.
        """

        def rules() -> Rulebook:
            from vaultmem.notes.dialects import open_rulebook

            return open_rulebook(self.path, self.config.text("dialect"))

        def find() -> list[str]:
            paths = self._read(lambda catalog: catalog_read.find_notes(catalog, name, but, rules))
            return paths or [path for path in self._with_id(name) if path not in but]

        while hidden := frozenset(filter(is_hidden, paths := find())):
            but |= hidden
        if len(paths) == 1:
            return paths[0]
        if paths:
            some = ", ".join(paths[:5])
            raise NoteNotFoundError(
                f"several notes are called {name!r}: {some}; name one by its path"
            )
        near = catalog_read.similar_titles(self.searcher().catalog, name, but)
        visible = " or ".join(path for path in near if not is_hidden(path))
        advice = (
            f"did you mean {visible}?" if visible else "vaultmem search finds notes by their words"
        )
        raise NoteNotFoundError(f"no note is called {name!r}; {advice}")

    def _with_id(self, start: str) -> list[str]:
        """The paths of memories whose id begins with this."""
        if len(start) < SHORTEST_ID or not start.isprintable():  # no id has half a letter
            return []
        folder = self.config.text("memory_folder")
        rows = self.searcher().catalog.db.execute(
            "SELECT f.path FROM files f JOIN notes n ON n.id = f.id WHERE f.path >= ? AND f.path < ?"
            " AND n.properties IS NOT NULL AND json_extract(n.properties, '$.id') LIKE ? ESCAPE '\\' ORDER BY f.path",
            (*below(folder), f"{like(start)}%"),
        )
        return [str(row[0]) for row in rows]

    def notes(self) -> list[str]:
        """The paths of all notes."""
        return self._read(catalog_read.note_paths)

    def note(self, name: str) -> Note:
        """The current content of one note, as its editor sees it: title, properties, tags, links, tasks, text and so
        on."""
        from vaultmem.notes.dialects import read_now

        dialect, cap = self.config.text("dialect"), self.config.number("index.max_note_bytes")
        return read_now(self.path, self.find_note(name), dialect, cap)

    def links(self, note: str) -> list[LinkView]:
        """The links in a note, in order."""
        path = self.find_note(note)
        return self._read(lambda catalog: catalog_read.links_from(catalog, path))

    def backlinks(self, note: str) -> list[LinkView]:
        """The links that lead to a note, by source."""
        path = self.find_note(note)
        return self._read(lambda catalog: catalog_read.links_to(catalog, path))

    def mentions(self, note: str) -> list[Mention]:
        """Places where other notes name a note without linking to it."""
        from vaultmem.search.related import mentions

        path = self.find_note(note)
        return self.mended(lambda: mentions(self.searcher(), path))

    def unresolved(self) -> list[UnresolvedLink]:
        """Links that lead nowhere, by source."""
        owners = catalog_read.alias_owners
        return self._read(
            lambda catalog: [
                UnresolvedLink(
                    link.path, link.kind, link.source, link.line, owners(catalog, link.path)
                )
                for link in catalog_read.unresolved(catalog)
            ]
        )

    def ambiguous(self) -> list[LinkView]:
        """Links whose name several files have."""
        return self._read(catalog_read.ambiguous)

    def tasks(self, *, everything: bool = False) -> list[tuple[str, dict[str, object]]]:
        """Open tasks (with `everything`, all tasks) as (path, fields), dated ones first."""
        from vaultmem.notes.places import in_conversation

        folder = self.config.text("memory_folder")
        every = self._read(lambda catalog: catalog_read.tasks(catalog, everything=everything))
        # Words in a chat are no task yet.
        return [task for task in every if not in_conversation(task[0], folder)]

    def agent(self) -> AgentStatus | None:
        """The state of this vault's agent (activity, queues, jobs); None if none is running."""
        status = client.call(self.path, "agent", {})
        return status if isinstance(status, dict) else None  # type: ignore[return-value] # as agents say

    def counts(self) -> dict[str, int]:
        """How many notes, blocks, links, tags, tasks and so on there are."""
        return self._read(catalog_read.counts)

    def synced(self) -> int | None:
        """When the last sync ended, in seconds since the epoch."""
        at = self._read(lambda catalog: catalog.meta("synced"))
        return None if at is None else int(at)

    def dialects(self) -> dict[str, int]:
        """How many notes are read by which dialect, the one with most notes first."""
        query = (
            "SELECT dialect, count(*) FROM notes GROUP BY dialect ORDER BY count(*) DESC, dialect"
        )
        return self._read(lambda catalog: dict(catalog.db.execute(query).fetchall()))

    def troubles(self) -> list[tuple[str, str]]:
        """Notes that could not be read, or only in part, with the reason."""
        return self._read(catalog_read.troubles)

    def embedded(self) -> tuple[int, int, str | None]:
        """How many of how many different blocks have a vector, and why no more can be made, if so."""
        return self.mended(self._embedded)

    def _embedded(self) -> tuple[int, int, str | None]:
        searcher = self.searcher()
        blocks = (
            "SELECT hash, other FROM blocks b JOIN notes n ON n.id = b.note WHERE n.excluded = 0"
        )
        # SQLite would sort them to leave out doubles.
        every = {*searcher.catalog.db.execute(blocks)}
        try:
            meaning = searcher.meaning()
            missing = (meaning.successor or meaning).missing(every)
        except (ModelError, StateError) as error:
            return 0, len(every), str(error)
        return len(every) - len(missing), len(every), None

    def shared_index(self) -> Health | None:
        """The health of the shared index; None if the vault has none."""
        if self.config.text("index.backend") == LOCAL:
            return None
        try:
            return self.searcher().meaning().health()
        except ModelError as error:
            from vaultmem.vectors.shared_index import Health

            return Health(str(error), 0)
