"""The answer of the Responses API: what a model has said, out of the events of a stream or out of one whole body."""

from __future__ import annotations

from vaultmem.core.chat_body import text_of
from vaultmem.core.sse import MOST_TEXT, object_of

_ENDS = ("completed", "incomplete")  # the second: it was long enough
_BROKEN = ("error", "response.failed", "response.cancelled")


class ResponsesAnswer:
    """What a model has said in the messages of its output."""

    def __init__(self) -> None:
        self._said: dict[int, list[str]] = {}  # by the number of the item
        self._size = 0
        self.id = ""  # of the response, with which a later request may go on
        self.calls = False  # it calls tools of the client, so the turn goes on
        self.is_complete = False

    @property
    def text(self) -> str:
        """The words so far."""
        return "\n".join("".join(said) for _, said in sorted(self._said.items()))

    def hear(self, data: str) -> None:
        """The data of one event of a stream."""
        event = object_of(data)
        kind, number = event.get("type"), event.get("output_index")
        place = number if isinstance(number, int) else 0
        if kind == "response.output_text.delta":
            self._take(place, event.get("delta"))
        elif kind == "response.output_item.done":
            self._size -= sum(map(len, self._said.pop(place, ())))
            self._item(place, event.get("item"))
        elif kind in ("response.completed", "response.incomplete"):
            self._whole(event.get("response"))
            self.is_complete = True
        elif kind in _BROKEN:
            self.is_complete = False

    def hear_whole(self, body: bytes) -> None:
        """The body of an answer that is no stream."""
        response = object_of(body)
        self._whole(response)
        self.is_complete = response.get("status") in _ENDS and not response.get("error")

    def _whole(self, response: object) -> None:
        """The whole response. Some servers leave out at the end of a stream what they have sent already."""
        if not isinstance(response, dict):
            return
        id_, output = response.get("id"), response.get("output")
        self.id = id_ if isinstance(id_, str) else ""
        if isinstance(output, list) and output:
            self._said, self._size = {}, 0
            for place, item in enumerate(output):
                self._item(place, item)

    def _item(self, place: int, item: object) -> None:
        if not isinstance(item, dict):
            return
        # What the server carries out itself has no such id: nobody has to answer it.
        self.calls = self.calls or bool(item.get("call_id"))
        if item.get("type") == "message":
            self._take(place, text_of(item))

    def _take(self, place: int, words: object) -> None:
        if isinstance(words, str) and words and self._size < MOST_TEXT:
            self._said.setdefault(place, []).append(words[: MOST_TEXT - self._size])
            self._size += len(words)
