"""From changes to files: each is made on the newest bytes of its file, all of a plan as one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vaultmem.core.changes import ARCHIVE, Change
from vaultmem.core.likeness import content_hash
from vaultmem.errors import NoteChangedError
from vaultmem.store import pages
from vaultmem.store.batches import Wish
from vaultmem.store.vault import decode, digest

Style = Callable[[str], str]  # how a page at a path is written, see adapter.Rules.page_style


def wishes(changes: Iterable[Change], style: Style) -> list[Wish]:
    """What a batch is to do."""
    return [
        Wish(change.path, change.target, rendering(change, style), change.why) for change in changes
    ]


def rendering(change: Change, style: Style) -> Callable[[bytes | None], bytes]:
    """What makes the new bytes of a file out of its newest ones. Raises NoteChangedError where these are no
    longer what the plan was made for."""
    form = style(change.target)

    def render(now: bytes | None) -> bytes:
        if change.raw is not None:
            if now is not None and digest(now) != change.expected:
                raise NoteChangedError(f"{change.path} was changed meanwhile")
            return change.raw
        if now is None:
            return pages.compose(form, change.properties, change.content or "")
        whole = change.content is not None or change.action == ARCHIVE
        if whole and change.expected and change.expected != _content_hash(form, now):
            raise NoteChangedError(f"{change.path} was changed meanwhile")
        return pages.edited(form, now, change.properties, change.content)

    return render


def _content_hash(form: str, data: bytes) -> str:
    return content_hash(pages.read(form, decode(data)[0]).content)
