"""Asks the classifier about memories, in batches because the model is faster so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vaultmem.core.classify import Verdict, classify
from vaultmem.core.memory import CATEGORIES, INBOX, REMINDERS, Memory
from vaultmem.core.view import Draft

BATCH = 64
CAP = 4000  # characters that the classifier looks at


def judged(draft: Draft, memories: Sequence[Memory]) -> Iterator[tuple[Memory, str, Verdict]]:
    """Each memory with its content and the verdict on it."""
    for start in range(0, len(memories), BATCH):
        batch = memories[start : start + BATCH]
        texts = [draft.content(memory) for memory in batch]
        near = draft.view.closeness([text[:CAP] for text in texts]) or {}
        for memory, text in zip(batch, texts, strict=True):
            yield memory, text, classify(text, near.get(text[:CAP]))


def guesses(verdict: Verdict) -> list[tuple[str, float]]:
    """What it may be, likeliest first, without what is no category of content."""
    rated = [
        (name, score)
        for name, score in verdict.scores.items()
        if score > 0 and name in CATEGORIES and name not in (INBOX, REMINDERS)
    ]
    return sorted(rated, key=lambda each: (-each[1], each[0]))


def best_guess(verdict: Verdict) -> str | None:
    """The category it most likely has, however unsure that is; None when nothing tells."""
    if verdict.category is not None:
        return verdict.category
    rated = guesses(verdict)
    return rated[0][0] if rated else None
