"""Conversations in Python: what was said in them, what was learned; `Vault` has these verbs."""

from __future__ import annotations

from vaultmem.core.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypedDict, Unpack

    Report = dict[str, Any]

    class Wishes(TypedDict, total=False):
        """What `converse` is to do."""

        new: Iterable[Mapping[str, object]]
        retire: Iterable[Mapping[str, object]]
        mark: Iterable[Mapping[str, object]]
        by: str | None
        why: str
        dry_run: bool


class ConversationVerbs:
    """Every method raises VaultmemError in one clear line; see MemoryVerbs. A conversation has an id of your own: one
    line of at most 180 characters."""

    def ask(self, verb: str, **params: object) -> Any:
        """What a verb says."""
        raise NotImplementedError

    def entries(
        self, conversation: str, kinds: Iterable[str] | None = None, *, deleted: bool = False, limit: int | None = None
    ) -> list[Report]:  # fmt: skip
        """The entries of a conversation, the oldest first: "id", "path", "title", "conversation_id", "role" (memory,
        user, assistant, summary), "content", "created_at", "updated_at", "properties", "deleted", and of the
        summary of all "outdated": whether something that it tells was taken back since. `kinds` are facts, turns and
        summaries; with `deleted` also what was put away; `limit` gives the newest."""
        given = None if kinds is None else [kinds] if isinstance(kinds, str) else list(kinds)
        found: list[Report] = self.ask(
            "entries", conversation=conversation, kinds=given, deleted=deleted, limit=limit
        )["entries"]
        return found

    def converse(self, conversation: str, **wishes: Unpack[Wishes]) -> Report:
        """Write entries (`new`, each with "role" and "content", and maybe "created_at", "id", "of": the ids of the
        entries it follows from, "properties", and of a summary its "name", such as L1/chunk_0), put others away
        (`retire`, each with "id" and maybe "replaced_by" and "properties"), set properties of others (`mark`, "id" and
        "properties"). All of it is one entry of the history. Secrets are taken out. The report has the ids "written",
        "retired", "marked" and "known" (what was so already), and "skipped", each with its reason."""
        given: dict[str, object] = {**wishes}
        for name in ("new", "retire", "mark"):
            listed = given.get(name)
            if listed is not None and not isinstance(listed, (list, str)):
                given[name] = list(listed)  # type: ignore[call-overload] # an iterable, by its type above
        return _report(self.ask("converse", conversation=conversation, **given))

    def conversations(self) -> list[Report]:
        """All conversations, the one that spoke last first: "conversation_id", "folder", "turns", "facts", "summaries"
        (how many), "created_at", "updated_at"."""
        found: list[Report] = self.ask("conversations")["conversations"]
        return found

    def promote_fact(
        self, given: str, *, category: str | None = None, by: str | None = None, dry_run: bool = False
    ) -> Report:  # fmt: skip
        """Make a fact of a conversation a memory of the vault: your own word, or with `by` that assistant's. The
        record of the memory, with "created" (False where the very same text is there), "duplicate_of", and
        "promoted", the id of the fact, which is put away."""
        return _report(
            self.ask("promote-fact", id=given, category=category, by=by, dry_run=dry_run)
        )

    def forget(self, given: str, *, by: str | None = None, dry_run: bool = False) -> Report:
        """Put an entry of a conversation away: "id", "deleted", "title", "path"; undo() brings it back."""
        return _report(self.ask("forget", id=given, by=by, dry_run=dry_run))


def _report(found: object) -> Report:
    assert isinstance(found, dict)
    return found
