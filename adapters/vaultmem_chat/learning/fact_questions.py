"""The question to a model about a message, and the parsing of its answer: up to three self-contained facts. Only the
user's own words count."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from datetime import datetime

from vaultmem.adapter.services import Message, Question, Schema, object_schema
from vaultmem.dreams.paraphrase import keys
from vaultmem.dreams.short_texts import form
from vaultmem.text.scripts import typed_part
from vaultmem.text.similarity import normal_form
from vaultmem.text.values import lazy, toml_table
from vaultmem_chat.llm.replies import parse_json, shape

MOST = 3  # facts of one message
MOST_ITEMS = 50  # items of an answer that are read
LONGEST = 300  # characters of a fact
_ITEM: Schema = {"type": "string", "maxLength": LONGEST}
SCHEMA = object_schema({"facts": {"type": "array", "items": _ITEM, "maxItems": MOST}})
_EXAMPLES: tuple[tuple[str, list[str]], ...] = (
    ("Thanks! My sister Zelmira keeps bees, can bees get cold?", ["The user's sister Zelmira keeps bees"]),
    ("What is the boiling point of xenon?", []),
    ("我在乌有镇修钟表，帮我起个店名", ["用户在乌有镇修钟表"]),
)  # fmt: skip
_EXAMPLE_FACTS = frozenset(fact.casefold() for _, facts in _EXAMPLES for fact in facts)
# A subject and a statement about it.
_STATEMENT = lazy(r"\S\s+\S|[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]{4}")
_QUESTION = form("question")
# A question that a small model has inverted: "Where my sister lives".
_TURNED = lazy(
    r"(?:where|what|who|whom|whose|when|why|how|which|wo|wer|wann|warum|wie|welche[mnrs]?)\b",
    re.IGNORECASE,
)
# A number is a list mark where a blank or a bracket follows: 12:30 and 3.50 are content.
_BULLET = lazy(r"\A\s*(?:[-*•–+]\s+|\(?\d{1,2}(?:[.:]\s+|[)、]\s*)|\[[ xX]?\]\s*)*")
_NOTHING = lazy(
    r"(?:none|null|nil|n/a|nothing|empty|no (?:new )?(?:facts?|information)\b.*|there (?:are|"
    r"is) no\b.*|(?:the )?facts?:?|here (?:are|is)\b.*:?|sure\b.{0,60}|无|没有|没有事实|string|\.\.\.|…|"
    r"\W*)[.。!]?$",
    re.IGNORECASE,
)


def question(text: str, now: datetime | None = None) -> Question:
    """The question to a model about a message; read() parses the answer. Of a long message it includes only the part
    that may be typed."""
    data = normal_form(typed_part(text))
    today = f"\nToday is {now:%A, %Y-%m-%d}: write days such as tomorrow as dates." if now else ""
    messages = [
        Message(
            "system",
            toml_table("vaultmem_chat", "prompts")["facts"].replace("{most}", str(MOST)) + today,
        )
    ]
    for example, facts in _EXAMPLES:
        answer = json.dumps({"facts": facts}, ensure_ascii=False)
        messages += [Message("user", _fenced(example)), Message("assistant", answer)]
    return Question("facts", (*messages, Message("user", _fenced(data))), SCHEMA, 256)


def _fenced(text: str) -> str:
    """The text between two marks that cannot occur in it, because they are derived from it."""
    mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"=== message {mark} ===\n{text}\n=== end of message {mark} ==="


def read(answer: object) -> list[str]:
    """The facts in a model's answer, be it an object, a list or text with bullets: at most three, one line each."""
    result: dict[str, str] = {}
    for item in _strings(answer):
        fact = " ".join(_BULLET.sub("", item, count=1).split()).strip("\"'“”`,; ").rstrip("\\")
        if _NOTHING.match(fact) or fact.casefold().rstrip(".。") in _EXAMPLE_FACTS:
            continue
        if len(fact) <= LONGEST:
            result.setdefault(fact.casefold().rstrip(".。!！"), normal_form(fact))
    return list(result.values())[:MOST]


def plausible(facts: list[str], message: str) -> list[str]:
    """The facts that can come from the message: small models repeat their prompt, or general knowledge."""
    there = keys(message)
    about = [fact for fact in facts if keys(fact) & there and _STATEMENT.search(fact)]
    asks = _QUESTION.search(message) or "?" in message or "？" in message
    return [
        sentence
        for sentence in about
        if not (_QUESTION.search(sentence) or (asks and _TURNED.match(sentence)))
    ]


def _strings(answer: object) -> list[str]:
    """The texts of an answer: the items of its only list, or its lines where it is not JSON."""
    if isinstance(answer, str):
        with suppress(ValueError):
            return _strings(parse_json(answer, {"type": "array"}))
        return answer[:8000].splitlines()
    items = shape(answer, "array")
    result: list[str] = []
    for item in items[:MOST_ITEMS] if isinstance(items, list) else ():
        values = item.values() if isinstance(item, dict) else [item]
        result += next((value for value in values if isinstance(value, str)), "").splitlines()
    return result
