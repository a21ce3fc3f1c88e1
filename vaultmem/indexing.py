"""What goes into the catalog and into the keyword index for each block of a note."""

from __future__ import annotations

from collections.abc import Iterator

from vaultmem.core import blocks as blocking
from vaultmem.core import days, note_facts, temporal
from vaultmem.store import catalog_write as rows
from vaultmem.store.keyword import Entry
from vaultmem.store.rows import text_hash


def block_row(title: str, block: blocking.Block) -> rows.BlockRow:
    """A block's place, and the hash of the text that is embedded for it."""
    digest = text_hash(note_facts.embedded_text(title, block))
    return rows.BlockRow(block.line, block.end_line, block.headings, block.label, digest)


def index_entries(
    path: str, record: rows.NoteRow, grouped: list[blocking.Block]
) -> Iterator[Entry]:
    """What the keyword index holds of each block of a note: its own text and what it has from the note."""
    note = record.note
    whole = {
        "title": "\n".join((note.title, *note.aliases)),
        "tag": " ".join(note.tags),
        "path": path.rpartition("/")[0],
    }
    day = days.day_number(record.day or "")
    for number, block in enumerate(grouped):
        texts = {
            "body": block.text,
            "near": blocking.neighbour_text(grouped, number),
            "heading": "\n".join(block.headings),
            "label": block.label or "",
            **whole,
        }
        yield Entry(number, texts, day, temporal.is_temporal(block.text))
