"""The verbs of memories in Python; `Vault` has them. They read like the command line."""

from __future__ import annotations

from vaultmem.core.values import TYPE_CHECKING
from vaultmem.memories.conversation_verbs import ConversationVerbs
from vaultmem.memories.waiting_verbs import WaitingVerbs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, BinaryIO, TypedDict, TypeVar, Unpack

    from vaultmem.config import Config
    from vaultmem.core.memory import MemoryRecord
    from vaultmem.meaning import Meaning
    from vaultmem.memories.consulting import Asking
    from vaultmem.progress import Progress
    from vaultmem.search import Searcher
    from vaultmem.store.state import State

    Report = dict[str, Any]
    T = TypeVar("T")

    class About(TypedDict, total=False):
        """What can be said of a new memory; see `vaultmem write --help`."""

        category: str
        tags: Iterable[str]
        scope: str
        source: str
        agent: str
        personality: str
        project: str
        type: str
        memory_type: str
        decay: str
        expires: str
        title: str
        replaces: str
        session_id: str
        by: str
        dry_run: bool

    class Which(TypedDict, total=False):
        """What a list is narrowed to; `since` and `until` are days, YYYY-MM-DD, inclusive."""

        phase: str
        category: str
        scope: str
        source: str
        agent: str
        personality: str
        project: str
        type: str
        tags: Iterable[str]
        since: str
        until: str
        min_confidence: float
        limit: int
        deleted: bool
        include_compressed: bool
        by: str | None

    class Past(TypedDict, total=False):
        """Which part of the history."""

        limit: int
        by: str | None
        since: str | None
        conversations: bool

    class Taking(TypedDict, total=False):
        """How to take in; `limit` is how many memories to write at most."""

        by: str | None
        limit: int | None
        dry_run: bool
        progress: Progress | None

    class Recalling(TypedDict, total=False):
        """How to recall; see `vaultmem recall --help`."""

        budget: int
        top_k: int
        types: Iterable[str] | None
        scope: str | Iterable[str] | None
        notes: bool
        min_confidence: float | None
        include_compressed: bool
        untrusted: bool
        score_threshold: float | None
        without: Iterable[str]
        explain: bool
        counts: bool
        by: str | None
        as_of: str | None


class MemoryVerbs(WaitingVerbs, ConversationVerbs):
    """What can be done with memories. Every `given` is an id, the beginning of one (four characters or more),
    a title or a path.

    Every method raises VaultmemError in one clear line: NoteNotFoundError where no memory is meant, or several
    are; NoteChangedError when somebody edits the same file; UsageError for what makes no sense. `by` is the
    name of the assistant that asks (else it is the person); with `dry_run=True` nothing is written, and the
    report has "changes" with a "diff" each.
    """

    path: str
    config: Config
    state: State

    def is_indexed(self) -> bool:
        """Whether there is an index that has once been whole."""
        raise NotImplementedError

    def searcher(self) -> Searcher:
        """The open index."""
        raise NotImplementedError

    def meaning_searcher(self) -> Searcher:
        """The open index, with its vectors."""
        return self.searcher()

    def warm_meaning(self) -> Meaning | None:
        """The vectors and the model, if the model is in memory already."""
        return None

    def mended(self, work: Callable[[], T]) -> T:
        """What some work gives that needs the index; where that is damaged, it is built anew first, if it can be."""
        return work()

    def idle_seconds(self) -> float:
        """For how long nobody has edited or asked anything; 0 where nobody knows."""
        return 0.0

    def release(self) -> None:
        """Give back what others may wait for; the next verb takes it again."""

    def ask(self, verb: str, **params: object) -> Any:
        """What a verb says, carried out by the sync agent if one runs, else here."""
        from vaultmem.memories.door import ask

        return ask(self, self.state, self.config, verb, params)

    def write(
        self, content: str, *, everywhere: bool = False, **about: Unpack[About]
    ) -> dict[str, Any]:
        """Write a memory. The record of the memory (see core.memory.MemoryRecord), with "created" (False when the
        very same text is there), "duplicate_of" (its id then), "similar", "contradicts" and "same_as"
        (lists of memories with "id", "title", "path" and "similarity", "why" or "merges": whether a dream makes one of
        the two). `everywhere` marks it as global."""
        tags = about.pop("tags", None)
        given = {
            **about,
            "global": everywhere or None,
            "tags": None if tags is None else _list(tags),
        }
        found: dict[str, Any] = self.ask("write", content=content, **given)
        return found

    create = write

    def ingest_text(self, text: str, **about: Unpack[About]) -> Report:
        """Make memories of a long text: cleaned, cut into parts of 50 to 300 tokens, weighed; what is below the
        threshold of importance is left out. The report has "parts", each with its "result": new, known or
        skipped with the reason. (Algorithm: the "logic" seed, section 1.)"""
        tags = about.pop("tags", None)
        given = {**about, "tags": None if tags is None else _list(tags)}
        return _report(self.ask("ingest", text=text, **given))

    def ingest(self, source: str, path: str | None = None, **how: Unpack[Taking]) -> Report:
        """Take in what another program keeps: claude, codex, gemini, car-agent, fingersaver, obsidian, logseq,
        text, the name of an installed source, or all. `path` is its folder, where it is not the usual one. What is
        there already, or was taken in before, is known and left alone; secrets are taken out. The report has
        "counts" (new, known and skipped files; memories, cut, redacted), "files" (each with its "result",
        "reason" and "memories") and "left"."""
        from vaultmem.memories.gathering import Wish, ingest

        wish = Wish(how.get("by"), how.get("limit"), how.get("dry_run", False))
        return ingest(self, source, path, wish, how.get("progress"))

    def remind(
        self,
        content: str,
        *,
        at: str | None = None,
        repeat: str | None = None,
        **about: Unpack[About],
    ) -> Report:
        """Write a reminder: its words say when, or `at` ("tomorrow at 9"); `repeat` is a rule such as "every week".
        What write() gives, with "remind" (a day or a time on the person's clock), "repeat", and "understood": the
        words that were read so. Where a word of the time is not understood, nothing is set."""
        tags = about.pop("tags", None)
        given = {**about, "tags": None if tags is None else _list(tags)}
        return _report(self.ask("remind", content=content, at=at, repeat=repeat, **given))

    def read(self, given: str, *, by: str | None = None) -> MemoryRecord:
        """One memory. Being read is remembered: what is read is kept, and comes first."""
        found: MemoryRecord = self.ask("read", id=given, by=by)
        return found

    get = read

    def memories(self, *, everywhere: bool = False, **which: Unpack[Which]) -> list[MemoryRecord]:
        """Memories, the newest first; being listed does not count as being read."""
        tags = which.pop("tags", None)
        given = {
            **which,
            "global": everywhere or None,
            "tags": None if tags is None else _list(tags),
        }
        found: list[MemoryRecord] = self.ask("list", **given)["memories"]
        return found

    def delete(self, given: str, *, by: str | None = None, dry_run: bool = False) -> Report:
        """Move a memory to the archive: "id", "deleted", "title", and "path", where it is now."""
        return _report(self.ask("delete", id=given, by=by, dry_run=dry_run))

    def restore(self, given: str, *, by: str | None = None, dry_run: bool = False) -> Report:
        """Bring a memory back from the archive; its record."""
        return _report(self.ask("restore", id=given, by=by, dry_run=dry_run))

    def tag(
        self, given: str, *tags: str, remove: Iterable[str] = (), by: str | None = None, dry_run: bool = False
    ) -> Report:  # fmt: skip
        """Add and remove tags; the record, with "changed"."""
        return _report(
            self.ask("tag", id=given, add=list(tags), remove=_list(remove), by=by, dry_run=dry_run)
        )

    def upgrade(
        self, given: str, *, category: str | None = None, by: str | None = None, dry_run: bool = False
    ) -> Report:  # fmt: skip
        """File a memory of the inbox under a category, the likeliest if none is named; the record."""
        return _report(self.ask("upgrade", id=given, category=category, by=by, dry_run=dry_run))

    def link(
        self, given: str, other: str, *, by: str | None = None, dry_run: bool = False
    ) -> Report:
        """Link two memories, both ways: "source", "target", "linked", "changed"."""
        return _report(self.ask("link", id=given, other=other, by=by, dry_run=dry_run))

    def unlink(
        self, given: str, other: str, *, by: str | None = None, dry_run: bool = False
    ) -> Report:
        """Take the links between two memories away."""
        return _report(self.ask("unlink", id=given, other=other, by=by, dry_run=dry_run))

    def reinforce(self, given: str, *, by: str | None = None, dry_run: bool = False) -> Report:
        """Begin the decay of a memory anew: "id", "confidence", "last_reinforced_at"."""
        return _report(self.ask("reinforce", id=given, by=by, dry_run=dry_run))

    # Jobs: each gives "job", "changes", "counts", "findings", "skipped", "left", "dry_run"

    def resolve_links(
        self, *, dry_run: bool = False, limit: int | None = None, by: str | None = None
    ) -> Report:
        """Link memories both ways where one names another in its text."""
        return _report(self.ask("resolve-links", dry_run=dry_run, limit=limit, by=by))

    def dream(
        self, level: int = 1, *, dry_run: bool = False, limit: int | None = None, by: str | None = None,
        only_news: bool = False,
    ) -> Report:  # fmt: skip
        """Think over the memories: 1 files them, 2 also merges and links, 3 also sums up old sessions, looks across
        them and at the user's notes, for which it only proposes (see proposals()). With `only_news` it does nothing
        when nothing has changed since a dream of that level that had nothing more to do, and asks on the page of
        pending items before it archives very many: so the agent dreams. Where a language model is set, a deep dream
        asks it what rules cannot decide, which gives more proposals; "model" tells of that."""
        from vaultmem.memories.consulting import dream

        given: dict[str, object] = {"level": level, "limit": limit, "by": by}
        return dream(self._asking(), {**given, "dry_run": dry_run, "only_news": only_news})

    def compress(
        self, *, dry_run: bool = False, limit: int | None = None, by: str | None = None
    ) -> Report:
        """Sum up the oldest sessions among the memories when there are more than conversations.compress_after; in the
        words of the language model, where one is set. The originals are kept, and recalled only when asked for."""
        from vaultmem.memories.consulting import compress

        return compress(self._asking(), {"dry_run": dry_run, "limit": limit, "by": by})

    def _asking(self) -> Asking:
        from vaultmem.memories.consulting import Asking

        return Asking(self.ask, self.release, self.config)

    def expire(
        self, *, dry_run: bool = False, limit: int | None = None, by: str | None = None
    ) -> Report:
        """Archive what has been in the inbox for too long, and what ends by its own word."""
        return _report(self.ask("expire", dry_run=dry_run, limit=limit, by=by))

    def decay(
        self, *, dry_run: bool = False, limit: int | None = None, by: str | None = None
    ) -> Report:
        """Archive what has faded and was never read."""
        return _report(self.ask("decay", dry_run=dry_run, limit=limit, by=by))

    def promote(
        self, *, dry_run: bool = False, limit: int | None = None, by: str | None = None
    ) -> Report:
        """File what is in the inbox and is read again and again."""
        return _report(self.ask("promote", dry_run=dry_run, limit=limit, by=by))

    def consolidate(
        self, *, dry_run: bool = False, limit: int | None = None, by: str | None = None
    ) -> Report:
        """Expire, decay, promote and merge, once."""
        return _report(self.ask("consolidate", dry_run=dry_run, limit=limit, by=by))

    def overview(self) -> Report:
        """Counts of memories by phase, category and scope."""
        return _report(self.ask("overview"))

    def waiting(self) -> Report:
        """What dreams noticed and left to a person: "findings" (each with "kind", "subject", "said", "others",
        "id"), the number of open "proposals", and "troubles", files of the memory folder that cannot be read."""
        return _report(self.ask("waiting"))

    def recall(self, query: str, **how: Unpack[Recalling]) -> Report:
        """What is known about a question: "memories" (with "id", "path", "content", "memory_type", "score", "parts",
        "tokens", and for a block of a note its lines), preferences first, at most `top_k` (5) and `budget` tokens
        (2000); "tokens", "budget_used", "left_out", "explain". It counts as being read, unless `counts=False`."""
        given: dict[str, Any] = {"counts": True, **how}
        for name in ("types", "without", "scope"):
            if given.get(name) is not None:
                given[name] = _list(given[name])
        return _report(self.ask("recall", query=query, **given))

    # Out and in

    def export_lines(
        self, *, told: Callable[[int], None] | None = None, **which: object
    ) -> Iterator[str]:
        """Memories as lines of JSON, the oldest first; `scope`, `category`, `include_archived`, and `shape`: jsonl,
        memories or memory-cli. `told` hears of how many files nothing can be told."""
        from vaultmem.memories.exchanging import exported

        return exported(self.ask, told or (lambda _: None), **which)

    def import_lines(
        self, source: BinaryIO, *, progress: Progress | None = None, **how: object
    ) -> Report:
        """Take memories in from a file of lines; `on_conflict` (skip, newer, both), `shape`, `by`, `dry_run`. The
        report has "new", "changed" and "known" (counts), "kept" and "failed" (each with "line" and "reason")."""
        from vaultmem.memories.exchanging import imported

        return imported(self.ask, self.state, source, progress, **how)

    # The past

    def history(self, given: str | None = None, **past: Unpack[Past]) -> list[Report]:
        """What was done, the newest first: "commit", "at", "by", "kind" (assistant, job, person), "why", "files". What
        conversations did is left out without `conversations`, `by` or a memory."""
        found: list[Report] = self.ask("history", id=given, **past)["history"]
        return found

    def diff(self, commit: str) -> str:
        """What one commit changed, as a unified diff."""
        return str(self.ask("diff", commit=commit)["diff"])

    def undo(
        self, commit: str | None = None, *, last: bool = False, name: str | None = None, since: str | None = None,
        dry_run: bool = False,
    ) -> Report:  # fmt: skip
        """Take a commit back, the last one, or all by a `name` `since` a time: "undone", "changes", "refused"."""
        return _report(
            self.ask(
                "undo", commit=commit, last=last or None, name=name, since=since, dry_run=dry_run
            )
        )

    # Proposals for the user's own notes, and of a model for memories

    def proposals(self) -> list[Report]:
        """What dreams propose for notes that a person wrote, and what a model proposes for memories ("who" is "model",
        and "reason" what it says), each with its evidence and a diff."""
        found: list[Report] = self.ask("proposals")["proposals"]
        return found

    def accept(self, proposal: str, *, by: str | None = None, dry_run: bool = False) -> Report:
        """Make a proposed change."""
        return _report(self.ask("accept", id=proposal, by=by, dry_run=dry_run))

    def reject(self, proposal: str, *, by: str | None = None) -> Report:
        """Never propose it again."""
        return _report(self.ask("reject", id=proposal, by=by))


def _list(given: Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _report(found: object) -> Report:
    assert isinstance(found, dict)
    return found
