"""A scripted model for real assistants, in the four protocols they speak.

To the first request that offers the script's tool it answers with a call of it, to every other with a text.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.scripted_llm import Arguments, Reply, ScriptedLlm, raw, text, tool_calls

TEXT = "All done."


class Model(ScriptedLlm):
    """What it calls, and what it received; Gemini is its own protocol beside those of `ScriptedLlm`."""

    paths = (*ScriptedLlm.paths, "generateContent", "streamGenerateContent")

    def __init__(self, tool: str, arguments: dict[str, Any]) -> None:
        super().__init__()
        self._tool, self._arguments = tool, arguments
        self.otherwise = self._answer

    def begin(self) -> None:
        """Forget what it received, and restart the script."""
        self.forget()
        self.otherwise = self._answer

    @property
    def offered(self) -> list[dict[str, Any]]:
        """The requests that offer tools: others make titles and the like."""
        return [asked.data for asked in self.requests if asked.body and offers(asked.data)]

    def _answer(self, asked: Arguments) -> Reply:
        call = next((one for one in offers(asked.data) if one.endswith(self._tool)), "")
        if call:
            self.otherwise = lambda asked: self._encoded(asked, "")
        return self._encoded(asked, call)

    def _encoded(self, asked: Arguments, call: str) -> Reply:
        if "enerateContent" not in asked.path:
            return tool_calls((call, self._arguments)) if call else text(TEXT)
        part = {"functionCall": {"name": call, "args": self._arguments}} if call else {"text": TEXT}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}  # fmt: skip
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        whole = json.dumps({"candidates": [candidate], "usageMetadata": usage})
        return raw(f"data: {whole}\n\n".encode(), Content_Type="text/event-stream")


def offers(asked: dict[str, Any]) -> list[str]:
    """The names of the tools in a request, with their namespace if any."""
    names: list[str] = []
    for tool in asked.get("tools") or []:
        inner = tool.get("functionDeclarations") or (
            tool.get("tools") if tool.get("type") == "namespace" else None
        )
        space = f"{tool['name']}::" if tool.get("type") == "namespace" else ""
        names += [
            space + str(one.get("name") or one.get("function", {}).get("name", ""))
            for one in inner or [tool]
        ]
    return names


def words(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from words(one)
