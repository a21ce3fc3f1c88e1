"""Listens to an answer while it is passed on: bytes in, and in the end what the model has said."""

from __future__ import annotations

import zlib
from typing import Protocol

from vaultmem.core.sse import Answer, Events
from vaultmem.proxy.asgi import Headers, header

MOST_WHOLE = 8_000_000  # bytes of an answer that is no stream
_MOST_UNPACKED = 4_000_000  # bytes out of one piece


class Spoken(Protocol):
    """What a model says, as one of the APIs tells it."""

    @property
    def text(self) -> str:
        """The words so far."""

    @property
    def id(self) -> str:
        """With which a later request may go on; "" where none does."""

    @property
    def calls(self) -> bool:
        """Whether tools are called, so that the turn goes on."""

    @property
    def is_complete(self) -> bool:
        """Whether the server says that this is all."""

    def hear(self, data: str) -> None:
        """The data of one event of a stream."""

    def hear_whole(self, body: bytes) -> None:
        """The body of an answer that is no stream."""


class Tee:
    """For one answer. It never fails: what it cannot read, it does not hear."""

    def __init__(self, headers: Headers, answer: Spoken | None = None) -> None:
        self.answer: Spoken = answer or Answer()
        kind = header(headers, b"content-type").partition(";")[0].strip().lower()
        self.is_stream = kind == "text/event-stream"
        packed = header(headers, b"content-encoding").strip().lower() or "identity"
        self.can_hear = kind in ("text/event-stream", "application/json") and packed in _PACKED
        self._unpack = zlib.decompressobj(47) if packed != "identity" else None
        self._events = Events()
        self._whole = bytearray()

    def hear(self, piece: bytes) -> None:
        """The next bytes."""
        plain = self._plain(piece) if self.can_hear else b""
        if not self.is_stream:
            self._whole += plain
            self.can_hear = self.can_hear and len(self._whole) <= MOST_WHOLE
            return
        for data in self._events.feed(plain):
            self.answer.hear(data)

    def close(self) -> None:
        """All bytes have come."""
        if not self.can_hear:
            return
        if not self.is_stream:
            self.answer.hear_whole(bytes(self._whole))
            return
        for data in self._events.close():
            self.answer.hear(data)

    def _plain(self, piece: bytes) -> bytes:
        if self._unpack is None:
            return piece
        try:
            plain = self._unpack.decompress(piece, _MOST_UNPACKED)
        except zlib.error:
            self.can_hear = False
            return b""
        if self._unpack.unconsumed_tail:  # a few bytes that are megabytes are no answer
            self.can_hear = False
        return plain


_PACKED = ("identity", "gzip", "x-gzip", "deflate")
