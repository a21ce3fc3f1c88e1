"""SVG drawings: the future confidence of a memory, and the graph around a note."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

import htpy as h

from vaultmem.memories.model import POLICIES, aging_of
from vaultmem_web.data import Record
from vaultmem_web.texts import Translator
from vaultmem_web.views import url

_svg, _path, _line, _circle, _text, _title = map(
    h.Element, "svg path line circle text title".split()
)
_WIDTH, _HEIGHT, _DAYS, _STEP = 360, 90, 90, 3
_MOST, _INNER = 150, 24  # linked notes in the graph, and in each ring around the note


def curve(record: Record, t: Translator) -> h.Node:
    """A curve of a memory's confidence over the next three months. None is drawn for the policy fsrs, as every read
    changes it."""
    stable, *_, fsrs = POLICIES
    kind = str(record["decay_policy"])
    if kind == stable:
        return h.p[t("It does not fade.")]
    if kind == fsrs:
        return h.p[t("It fades by how often it is read.")]
    times = (record["created_at"], record["last_reinforced_at"], record["updated_at"])
    aging, now = aging_of(kind, record["id"], *times), time.time()
    sure = [aging.confidence(now + day * 86_400) for day in range(0, _DAYS + 1, _STEP)]
    heights = enumerate(_HEIGHT - value * (_HEIGHT - 10) for value in sure)
    points = (f"{at * _STEP / _DAYS * _WIDTH:.1f},{height:.1f}" for at, height in heights)
    text = t("Now {now}, in a month {month}, in three months {end}", now=f"{sure[0]:.0%}",
             month=f"{sure[30 // _STEP]:.0%}", end=f"{sure[-1]:.0%}")  # fmt: skip
    return h.figure[
        _svg(".curve", role="img", aria_label=text, viewBox=f"0 0 {_WIDTH} {_HEIGHT}")[
            _line(x1="0", y1=str(_HEIGHT), x2=str(_WIDTH), y2=str(_HEIGHT)),
            _path(d=f"M{' L'.join(points)}"),
        ],
        h.figcaption[text],
    ]


def graph(title: str, linked: Mapping[str, str], like: Mapping[str, str], t: Translator) -> h.Node:
    """A graph of a note, with linked notes (path -> title) around it and similar ones farther out. The keyboard skips
    it: a list beside it has the same links."""
    inner, outer = list(linked.items())[:_MOST], list(like.items())
    rings = [("linked", inner[at : at + _INNER]) for at in range(0, len(inner), _INNER)]
    rings += [("like", outer)] if outer else []
    if not rings:
        return None
    reach = 130.0 + 90 * len(rings)
    nodes: list[h.Element] = []
    lines: list[h.Element] = []
    for number, (kind, ring) in enumerate(rings):
        away = 130.0 + 90 * number
        for at, (path, name) in enumerate(ring):
            angle = 2 * math.pi * (at + number / 2) / len(ring) - math.pi / 2
            x, y = away * math.cos(angle) * 1.6, away * math.sin(angle)
            lines.append(_line(f".{kind}", x1="0", y1="0", x2=f"{x:.0f}", y2=f"{y:.0f}"))
            dot = _circle(f".{kind}", cx=f"{x:.0f}", cy=f"{y:.0f}", r="6")
            side, anchor = (-10, "end") if x < -10 else (10, "start")
            text = _text(x=f"{x + side:.0f}", y=f"{y + 4:.0f}", text_anchor=anchor)[_short(name)]
            nodes.append(h.a(href=url("/note", path=path), tabindex="-1")[dot, text, _title[name]])
    box = f"{-reach * 1.8:.0f} {-reach:.0f} {reach * 3.6:.0f} {reach * 2:.0f}"
    label = t("{title} and {count} notes near it", title=title, count=len(inner) + len(outer))
    return h.figure[
        _svg(".graph", viewBox=box, aria_hidden="true")[
            lines,
            nodes,
            _circle(".self", r="9"),
            _text(".self", y="26", text_anchor="middle")[_short(title)],
        ],
        h.figcaption[label, ". ", t("Solid: linked. Dashed: alike.")],
    ]


def _short(title: str) -> str:
    return title if len(title) <= 26 else f"{title[:25]}…"
