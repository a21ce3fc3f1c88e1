"""Passes an answer on to a client, piece by piece as it comes, while somebody listens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import NamedTuple, TypeVar

from vaultmem.proxy.asgi import GoneError, Receive, Send, until_gone
from vaultmem.proxy.tee import Spoken, Tee
from vaultmem.proxy.upstream import Reply, UpstreamError

_T = TypeVar("_T")


class Relayed(NamedTuple):
    """How it went: the status, whether all of it was passed on."""

    status: int
    is_whole: bool


# Told as soon as the answer is complete, before its end is passed on.
Heard = Callable[[Tee], Awaitable[None]]


async def pass_on(
    reply: Reply, send: Send, heard: Heard | None, answer: Spoken | None = None
) -> Relayed:
    """Send what comes. An answer that is cut off is cut off here as well: its end is not made up."""
    tee = Tee(reply.headers, answer) if heard and reply.status == 200 else None
    try:
        await send(
            {"type": "http.response.start", "status": reply.status, "headers": reply.headers}
        )
        if tee and heard:
            await _listened(reply, send, tee, heard)
        else:
            async for piece in reply.pieces():
                await _send_piece(send, piece)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    except UpstreamError:
        return Relayed(reply.status, is_whole=False)
    finally:
        await reply.close()
    return Relayed(reply.status, is_whole=True)


async def _listened(reply: Reply, send: Send, tee: Tee, heard: Heard) -> None:
    """A stream goes on at once, but for the piece in which the model says that it has ended. Of an answer in one piece
    nobody knows where it ends until the next piece does not come, so one is held back."""
    held = b""
    size = -1  # of the words that were told of
    async for piece in reply.pieces():
        tee.hear(piece)
        if not tee.is_stream:
            held = await _swapped(send, held, piece)
            continue
        if tee.answer.is_complete and len(tee.answer.text) != size:
            size = len(tee.answer.text)
            await heard(tee)
        await _send_piece(send, piece)
    tee.close()
    if tee.answer.is_complete and len(tee.answer.text) != size:
        await heard(tee)
    await _send_piece(send, held)


async def _swapped(send: Send, held: bytes, piece: bytes) -> bytes:
    await _send_piece(send, held)
    return piece


async def _send_piece(send: Send, piece: bytes) -> None:
    if piece:
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def while_there(receive: Receive, work: Coroutine[None, None, _T]) -> _T:
    """Do the work as long as the client is there. Raises GoneError, and stops the work, when it goes."""
    working = asyncio.ensure_future(work)
    going = asyncio.ensure_future(until_gone(receive))
    try:
        await asyncio.wait({working, going}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise GoneError
    finally:
        going.cancel()
        working.cancel()
        await asyncio.gather(working, going, return_exceptions=True)
