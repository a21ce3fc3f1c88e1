"""Drawings as SVG, made here: how sure a memory will be, and what stands around a note."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import htpy as h

from vaultmem.memories.decay import POLICIES, aging_of
from vaultmem_web.data import Record
from vaultmem_web.texts import Translator
from vaultmem_web.views import url

_svg, _path, _line, _circle, _text, _g, _title = (
    h.Element(name) for name in ("svg", "path", "line", "circle", "text", "g", "title")
)
_WIDTH, _HEIGHT, _DAYS, _STEP = 360, 90, 90, 3
MOST_NODES = 150
_INNER = 24  # nodes of the first ring; the others stand around it


def curve(record: Record, t: Translator) -> h.Node:
    """How its confidence sinks in the next three months. With the policy fsrs every read changes that, so none is drawn."""
    stable, *_, fsrs = POLICIES
    kind = str(record["decay_policy"])
    if kind == stable:
        return h.p[t("It does not fade.")]
    if kind == fsrs:
        return h.p[t("It fades by how often it is read.")]
    times = (record["created_at"], record["last_reinforced_at"], record["updated_at"])
    aging, now = aging_of(kind, record["id"], *times), time.time()
    sure = [aging.confidence(now + day * 86_400) for day in range(0, _DAYS + 1, _STEP)]
    points = [
        f"{at * _STEP / _DAYS * _WIDTH:.1f},{_HEIGHT - value * (_HEIGHT - 10):.1f}"
        for at, value in enumerate(sure)
    ]
    text = t("Now {now}, in a month {month}, in three months {end}", now=f"{sure[0]:.0%}",
             month=f"{sure[30 // _STEP]:.0%}", end=f"{sure[-1]:.0%}")  # fmt: skip
    return h.figure[
        _svg(".curve", role="img", aria_label=text, viewBox=f"0 0 {_WIDTH} {_HEIGHT}")[
            _line(x1="0", y1=str(_HEIGHT), x2=str(_WIDTH), y2=str(_HEIGHT)),
            _path(d=f"M{' L'.join(points)}"),
        ],
        h.figcaption[text],
    ]


@dataclass(frozen=True)
class Near:
    """A note near another one, linked or alike."""

    path: str
    title: str
    kind: str  # linked, like


def graph(title: str, near: Sequence[Near], t: Translator) -> h.Node:
    """A note in the middle, those it is linked with around it, and those that are alike farther out. The list beside
    it says the same, so the keyboard passes the drawing by."""
    if not near:
        return None
    inner = [one for one in near if one.kind != "like"]
    rings = [inner[at : at + _INNER] for at in range(0, len(inner), _INNER)]
    rings.append([one for one in near if one.kind == "like"])
    rings = [ring for ring in rings if ring]
    reach = 130.0 + 90 * len(rings)
    nodes: list[h.Element] = []
    lines: list[h.Element] = []
    for number, ring in enumerate(rings):
        away = 130.0 + 90 * number
        for at, one in enumerate(ring):
            angle = 2 * math.pi * (at + number / 2) / len(ring) - math.pi / 2
            x, y = away * math.cos(angle) * 1.6, away * math.sin(angle)
            lines.append(_line(f".{one.kind}", x1="0", y1="0", x2=f"{x:.0f}", y2=f"{y:.0f}"))
            nodes.append(_node(one, x, y))
    box = f"{-reach * 1.8:.0f} {-reach:.0f} {reach * 3.6:.0f} {reach * 2:.0f}"
    label = t("{title} and {count} notes near it", title=title, count=len(near))
    return h.figure[
        _svg(".graph", viewBox=box, aria_hidden="true")[
            lines,
            nodes,
            _circle(".self", r="9"),
            _text(".self", y="26", text_anchor="middle")[_short(title)],
        ],
        h.figcaption[label, ". ", t("Solid: linked. Dashed: alike.")],
    ]


def _node(one: Near, x: float, y: float) -> h.Element:
    left = x < -10
    return h.a(href=url("/note", path=one.path), tabindex="-1")[
        _circle(f".{one.kind}", cx=f"{x:.0f}", cy=f"{y:.0f}", r="6"),
        _text(
            x=f"{x + (-10 if left else 10):.0f}", y=f"{y + 4:.0f}", text_anchor="end" if left else "start"
        )[_short(one.title)],
        _title[one.title],
    ]  # fmt: skip


def _short(title: str) -> str:
    return title if len(title) <= 26 else f"{title[:25]}…"
