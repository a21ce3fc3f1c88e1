"""Who speaks in a note: which of the labels that a dialect reads are names of speakers, and which headings are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vaultmem.adapter import Piece

SPEAKER_SHARE = 0.25  # share of the first speaker's turns
_MARKS = " *:："  # around a name that stands alone


def with_speakers(pieces: list[Piece]) -> list[Piece]:
    """Keep only labels of speakers: those that occur more than once, and at least a quarter as often as the first. If
    paragraphs have speakers, list items have none: `- **Rating:** 4` in an assistant's answer is a heading. If headings
    are speakers, nothing else is."""
    if headings := _speaking_headings(pieces):
        speaking = [p.kind == "heading" and (*p.headings, p.text) in headings for p in pieces]
        return _with_leads(
            p._replace(label=p.text.strip(_MARKS) if speaks else None)
            for p, speaks in zip(pieces, speaking, strict=True)
        )
    if not any(piece.label for piece in pieces):
        return pieces
    speakers = _speakers(p.label for p in pieces if p.label and p.kind != "list")
    kinds = {"list"} if speakers else set[str]()
    speakers = speakers or _speakers(piece.label for piece in pieces if piece.label)
    return _with_leads(
        p._replace(label=None) if p.label and (p.label not in speakers or p.kind in kinds) else p
        for p in pieces
    )


def _speaking_headings(pieces: list[Piece]) -> set[tuple[str, ...]]:
    """The headings of a saved chat: two that come more than once each, below the same heading ("You", "ChatGPT")."""
    paths = Counter((*piece.headings, piece.text) for piece in pieces if piece.kind == "heading")
    repeated = [path for path, count in paths.items() if count > 1]
    depth = min(map(len, repeated), default=0)
    result = {path for path in repeated if len(path) == depth}
    return result if len(result) == 2 and len({path[:-1] for path in result}) == 1 else set()


def _with_leads(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces, with a speaker's name that stands alone above a turn put before its first paragraph."""
    results: list[Piece] = []
    for piece in pieces:
        above = results[-1] if results else piece
        is_lead = above.label and above.text.strip(_MARKS) == above.label
        if is_lead and not piece.label and piece.kind not in ("heading", "code"):
            text = f"{above.label}: {piece.text}"
            results[-1] = piece._replace(text=text, line=above.line, kind="text", label=above.label)
        else:
            results.append(piece)
    return results


def _speakers(labels: Iterable[str]) -> set[str]:
    """The labels of speakers among `labels`, in the order of the note. `Task 1` is a speaker only if no name is one,
    as in a transcript of Speaker 1 and Speaker 2."""
    counts = Counter(labels)  # in the order of their first occurrence
    repeated = {label: count for label, count in counts.items() if count > 1}
    named = {label: count for label, count in repeated.items() if not label[-1].isdigit()}
    repeated = named or repeated
    first = next(iter(repeated.values()), 0)
    return {label for label, count in repeated.items() if SPEAKER_SHARE * first <= count}
