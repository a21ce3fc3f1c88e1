"""The nightly work on memories, as deep as there is time for, and the upkeep that comes round more often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from vaultmem.core.access import CONNECTED
from vaultmem.core.view import Draft
from vaultmem.plans.adopt import Seen, adopt, leave_unquiet
from vaultmem.plans.classify import UNSURE, classify
from vaultmem.plans.compress import Means, compress
from vaultmem.plans.counts import counts
from vaultmem.plans.decay import THRESHOLD, decay
from vaultmem.plans.deep import across, changing
from vaultmem.plans.expire import TTL, expire
from vaultmem.plans.links import resolve
from vaultmem.plans.merge import MERGED, merge
from vaultmem.plans.supersede import supersede
from vaultmem.plans.upgrade import READS, upgrade

LIGHT, MEDIUM, DEEP = 1, 2, 3
ROUNDS = 6  # more than any vault needed; so many steps of a chain in one night are enough
Step = Callable[[Draft], None]


class Options(NamedTuple):
    """What the settings say. Times in seconds."""

    seen: Mapping[str, Seen] = {}  # by id: how vaultmem left each memory
    ttl: float = TTL  # of the inbox
    threshold: float = THRESHOLD  # of decay
    reads: int = READS  # that make a memory worth a place
    facts: bool = False  # whether facts expire and decay, too
    trust: str = CONNECTED  # whose words are told to assistants
    sessions: Means | None = None  # how old sessions are summed up; None: not at all


def dream(draft: Draft, level: int, options: Options) -> None:
    """Level 1 understands and files what is new; 2 also merges and links; 3 also sums up old sessions and looks at what
    memories say together.
    It reads living memories only: never the archive, pending.md, What changed.md, or a reminder it made itself."""
    adopt(draft, options.seen)
    steps: list[Step] = [classify]
    if level >= MEDIUM:
        steps += [supersede, partial(merge, trust=options.trust), resolve]
    if level >= DEEP:
        steps += changing()
    _until_settled(draft, steps)
    if level >= DEEP:
        if options.sessions is not None:
            compress(draft, options.sessions)
        across(draft)
    if level >= MEDIUM:
        counts(draft)


def consolidate(draft: Draft, options: Options) -> None:
    """All upkeep once. What people dropped in waits for dream to take it up; what they are typing in is left alone."""
    leave_unquiet(draft, options.seen)
    _until_settled(
        draft,
        [
            partial(expire, ttl=options.ttl, reads=options.reads, facts=options.facts),
            partial(decay, threshold=options.threshold, facts=options.facts),
            partial(upgrade, reads=options.reads),
            partial(merge, trust=options.trust),
        ],
    )


def _until_settled(draft: Draft, steps: Sequence[Step]) -> None:
    """Take the steps again as long as they change anything, for what one does may give another one work: a merged
    memory says more than each did. What was found is found anew; a memory is filed or merged only once."""
    for _ in range(ROUNDS):
        before = draft.revision
        draft.findings = [one for one in draft.findings if one.kind in (MERGED, UNSURE)]
        for step in steps:
            step(draft)
        if draft.revision == before:
            return
