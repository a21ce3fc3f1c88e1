"""The pages review and tell: proposals to decide on, and what an assistant would be told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import htpy as h

from vaultmem import plugins
from vaultmem.errors import VaultmemError
from vaultmem.recall.criteria import LAMBDA, RECENCY_WEIGHT
from vaultmem.recall.recall_text import block, entry, held_back_line
from vaultmem_web import views
from vaultmem_web.data import Record, Visit
from vaultmem_web.front_pages import to_approve
from vaultmem_web.texts import Translator
from vaultmem_web.views import Page, button, note_link, url

_SWITCHES = {  # steps of a recall: what each is about
    "meaning": "similar meaning", "recency": "recency", "confidence": "confidence", "mmr": "variety",
    "preferences": "preferences first",
}  # fmt: skip
_SHARES = {  # from 0 to 1: the label, and the default
    "min_confidence": ("confidence at least", 0.0),
    "score_threshold": ("relevance at least", 0.0),
    "recency_weight": ("weight of recency", RECENCY_WEIGHT),
    "mmr_lambda": ("relevance before variety", LAMBDA),
}


# --- review


async def review(visit: Visit) -> Page:
    """The proposals of dreams and models, to accept or reject one by one."""
    t = visit.t
    ask = visit.reader.ask
    answer, waiting = await asyncio.gather(ask("proposals"), ask("waiting"))
    proposals, findings = answer["proposals"], waiting["findings"]
    most, more_proposals = views.first(visit, len(proposals), "/review")
    _, more_findings = views.first(visit, len(findings), "/review")
    return Page(
        t("Review"),
        [
            answer["rules"]
            and views.section(t("Your rules"), views.rows(_rule(visit, *rule) for rule in answer["rules"].items())),
            views.rows(
                (_proposal(visit, proposal, answer["kinds"]) for proposal in proposals[:most]),
                t("Nothing is proposed. Dreams look for something every night."),
            ),
            more_proposals,
            findings
            and views.section(
                t("Noticed"), views.rows(_finding(visit, finding) for finding in findings[:most]), more_findings
            ),
        ],
        "/review", "jobs memories",
    )  # fmt: skip


def _rule(visit: Visit, kind: str, says: str) -> h.Element:
    text: h.Node = [h.strong[kind], ": ", visit.t(says)]
    return views.row("", text, button(visit, "rule", visit.t("Ask again"), kind=kind, says="ask"))


def _proposal(visit: Visit, proposal: Record, kinds: Sequence[str]) -> h.Element:
    t, id_, kind = visit.t, str(proposal["id"]), str(proposal["kind"])
    rules = kind in kinds and [
        button(visit, "rule", t("Always: {kind}", kind=kind), kind=kind, says="always", id=id_),
        button(visit, "rule", t("Never: {kind}", kind=kind), kind=kind, says="never"),
    ]
    return views.row(
        f"p{id_}",
        [
            h.strong[proposal["said"]],
            h.p(".labels")[note_link(str(proposal["path"])), kind],
            views.difference(str(proposal["diff"]), t),
            proposal.get("evidence") and h.details[h.summary[t("Why")], [h.p[text] for text in proposal["evidence"]]],
        ],
        button(visit, "decide", t("Accept"), "a", id=id_, accept="1"),
        button(visit, "decide", t("Not this"), "r", id=id_),
        rules,
    )  # fmt: skip


def _finding(visit: Visit, finding: Record) -> h.Element:
    """Memories that may contradict each other, side by side."""
    paths = dict.fromkeys([str(finding["subject"]), *map(str, finding.get("others", ()))])
    sides = h.div(".beside")[(_side(visit, path) for path in paths)]
    return views.row("", [h.strong[finding["said"]], sides])


def _side(visit: Visit, path: str) -> h.Element:
    return h.article[
        h.a(href=url("/memory", id=path))[views.name_of(path)],
        h.div(".buttons")[
            button(visit, "delete", visit.t("Forget this one"), id=path),
            button(visit, "reinforce", visit.t("Still true"), id=path),
        ],
    ]


# --- tell


async def tell(visit: Visit) -> Page:
    """Exactly what an assistant would get for a question, what is left out, and why."""
    t, query = visit.t, visit.text("q")
    budget = int(visit.number("budget", 2_000, 50, 20_000))
    shares = {name: visit.number(name, usual, 0, 1) for name, (_, usual) in _SHARES.items()}
    without = [step for step in visit.query.get("without", []) if step in _SWITCHES]
    part: h.Node = h.p(".empty")[t("Type what an assistant would be asked.")]
    if query:
        params: dict[str, object] = {"query": query, "budget": budget, "without": without}
        params |= {name: value for name, value in shares.items() if name in visit.query}
        if params.get("score_threshold") == 0:
            del params["score_threshold"]  # no budget, which differs from 0
        if visit.text("as"):
            params["by"] = visit.text("as")
        part = views.later(_recalled(visit, params, budget))
    return Page(
        t("What would you tell?"),
        [
            not visit.is_part and h.form("#tell", action="/ui/tell", data_typed="#told")[
                h.label(".wide")[h.span[t("The question")], h.input(type="search", name="q", value=query, autofocus=True)],
                views.later(_askers(visit)),
                _slider("budget", t("tokens at most"), budget, min="50", max="20000", step="50"),
                [_slider(name, t(label), shares[name], min="0", max="1", step="0.05") for name, (label, _) in _SHARES.items()],
                h.fieldset[
                    h.legend[t("leave out of the ranking")],
                    (
                        h.label[h.input(type="checkbox", name="without", value=step, checked=step in without), h.span[t(name)]]
                        for step, name in _SWITCHES.items()
                    ),
                ],
                h.button[t("Show")],
            ],
            h.div("#told")[part],
        ],
        "/tell", is_part=visit.is_part,
    )  # fmt: skip


async def _askers(visit: Visit) -> h.Node:
    listed = await visit.reader.list(limit=1, facets=True)
    authors = sorted(
        {*(assistant.name for assistant in plugins.assistants()), *listed["facets"]["agent"]}
    )
    who = {"": visit.t("you"), **{name: name for name in authors}}
    return views.select("as", visit.t("asked by"), who, visit.text("as"))


def _slider(name: str, label: str, value: float, **bounds: str) -> h.Element:
    slider = h.input(type="range", name=name, **bounds, value=f"{value:g}")
    return h.label[h.span[label], slider, h.output[f"{value:g}"]]


async def _recalled(visit: Visit, params: Record, budget: int) -> h.Node:
    answer = await visit.reader.ask("recall", explain=True, counts=False, **params)
    t, memories = visit.t, answer["memories"]
    held_back = answer.get("held_back", ())
    held = await asyncio.gather(*(_held(visit, one["id"]) for one in held_back if one["id"]))
    left_out = ((why, count) for why, count in answer["left_out"].items() if count)
    reasons = [(t(why), t("{count} left out", count=count)) for why, count in left_out]
    if answer["skipped"]:
        reasons.append((t("budget"), t("{count} did not fit", count=answer["skipped"])))
    return [
        h.p(".count")[t("{count} tokens of {budget}", count=answer["tokens"], budget=f"{budget:,}")],
        h.pre(tabindex="0", aria_label=t("the block"))[
            block(map(entry, memories)), held_back and f"\n{held_back_line(held_back, to_person=not visit.text('as'))}"
        ],
        (reasons or held_back)
        and views.section(
            t("Not told"), views.facts(reasons), held and views.rows(held)
        ),
        views.section(
            t("Why these"),
            views.table(map(t, ("what", "score", "tokens", "parts")), (_share(memory, t) for memory in memories)),
            h.ol[(h.li[h.strong[_named(step["step"], t)], ": ", step["did"]] for step in answer.get("explain", ()))],
        ),
    ]  # fmt: skip


def _named(step: str, t: Translator) -> str:
    return t(_SWITCHES[step]) if step in _SWITCHES else step


def _share(row: Record, t: Translator) -> tuple[h.Node, ...]:
    """A row of the table: a memory, and the parts of its score."""
    note = note_link(f"{row['path']}:{row['line']}")
    what = h.a(href=url("/memory", id=row["id"]))[row["title"]] if row["id"] else note
    parts = ", ".join(f"{_named(name, t)} {value:.2f}" for name, value in row["parts"].items())
    return what, f"{row['score']:.2f}", str(row["tokens"]), parts


async def _held(visit: Visit, id_: str) -> h.Element:
    """A memory that is held back, with its text: nobody approves what they have not read."""
    try:
        return to_approve(visit, await visit.reader.ask("read", id=id_, counts=False))
    except VaultmemError:  # a fact of a conversation
        return h.li[h.code[f"vaultmem approve {id_[:8]}"]]
