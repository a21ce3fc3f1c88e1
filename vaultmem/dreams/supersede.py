"""Whether a newer statement replaces an older one, repeats it, or holds beside it.

One mechanism for every subject: a linear model scores twenty features of two short texts (what they share, where they
differ, whether the newer one speaks of a change). `benchmarks/pairs.py` fits the weights on labelled pairs of
statements and reports precision and recall on the held-out half.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import mul

from vaultmem.adapter import Properties
from vaultmem.dreams import endings, paraphrase, short_texts
from vaultmem.dreams.short_texts import CAP, Reading, Token, facts, is_event, plain, read, stems
from vaultmem.memories import access
from vaultmem.memories.draft import CONTRADICTION, Draft, is_own
from vaultmem.memories.model import DEFAULT_SCOPE, REMINDERS, Memory
from vaultmem.plugins import language
from vaultmem.progress import track
from vaultmem.text.sanitize import quote_text
from vaultmem.text.times import stamp

LONGEST_VALUE = 5  # tokens
REPLACES, SAME, APART = "replaces", "same", "apart"
_NEVER, _FAR = -5.0, 5.0
DOUBTFUL = 0.0  # log odds above which an older text may be replaced
_FEW = 2  # older texts that have a word
_USUAL = 0.5  # the cosine of two statements if unknown


class Relation:
    """The relation of a newer text to an older one."""

    def __init__(
        self, old: str, new: str, similarity: float | None, looks: Mapping[str, float]
    ) -> None:
        from vaultmem.dreams.asides import is_aside, may_be_ended  # only needed to compare

        self._texts = old, new, similarity
        is_ended = endings.without_ended(new, old) != new
        may_replace = looks["contradicts"] or is_ended or not is_aside(old, new, looks)
        self.replaces = replacing(looks, _REPLACES) if may_replace else _NEVER  # log odds
        is_change = looks["cue"] or not looks["contradicts"]
        self._may_contradict = not is_change and _speaks_otherwise(old, new)
        # By what the two say about one property.
        self.contradicts = bool(looks["contradicts"]) and not self._may_contradict
        is_near = not may_replace and looks["meaning"] >= NEAR
        self._may_end = is_near and may_be_ended(old, new, looks)
        self.is_replacement = False

    @property
    def kind(self) -> str:
        """REPLACES, SAME or APART."""
        return REPLACES if self.is_replacement else SAME if self.is_same else APART

    @cached_property
    def is_same(self) -> bool:
        """Whether the two state the same; computed on demand."""
        return paraphrase.is_same(*self._texts)

    @property
    def is_doubtful(self) -> bool:
        """Whether the newer text is likelier to replace the older one than to leave or repeat it."""
        is_likely = self.replaces > DOUBTFUL or self._may_contradict
        return (self._may_end or (is_likely and self.is_likelier)) and not self.is_same

    @cached_property
    def is_likelier(self) -> bool:
        """Whether the newer text is likelier to replace the older one than to repeat it."""
        return self.replaces > paraphrase.score(*self._texts)


def relations(
    new: str, olds: Sequence[str], similarities: Sequence[float | None] | None = None
) -> list[Relation]:
    """The relation of a newer text to each of some similar older ones. An event replaces nothing; anything else
    replaces at most one of them, and those that say the same as that one. `similarities`: their cosines to the newer
    text, if a model knows them."""
    if not olds:
        return []
    new, olds = plain(new), [plain(text) for text in olds]
    cosines = similarities or [None] * len(olds)
    whole = _relations(new, olds, cosines)
    for part in endings.changed_parts(new):  # "Katrin left; my new editor is Tom"
        parts = _relations(part, olds, [None] * len(olds))
        is_own = any(map(short_texts.is_by_user, (new, part)))
        is_theirs = not (is_own or short_texts.subject(part))  # "my sister moved, works at …"
        whole = [
            clauses
            if clauses.is_replacement
            and (_names(part, old, new) or (clauses.contradicts and not is_theirs))
            else before
            for old, before, clauses in zip(olds, whole, parts, strict=True)
        ]
    return whole


def _names(part: str, old: str, new: str) -> bool:
    """Whether a part of a new text names the subject of an older text; or the main word of it, and the rest of the new
    text everything that it states: "Mona left; our new vet is Tom" after "Our cat's vet is Mona"."""
    about, named = short_texts.subject(old[:CAP]), stems(part)
    stated = stems(old) - about
    is_main = bool(stated) and stated <= stems(new) and not about.isdisjoint(named)
    return bool(about) and (about <= named or is_main)


def _relations(new: str, olds: Sequence[str], cosines: Sequence[float | None]) -> list[Relation]:
    shared = short_texts.widespread(olds)
    near = [
        alike(old, new) if relation is None else relation
        for old, relation in zip(olds, cosines, strict=True)
    ]
    nearest = max(near)
    pairs: list[Relation] = []
    for old, similarity, close in zip(olds, cosines, near, strict=True):
        is_nearest = close == nearest
        looks = features(old, new, similarity, shared, is_nearest=is_nearest)
        looks["contradicts"] = looks["contradicts"] or endings.is_over(old, new)
        if (rest := endings.without_ended(new, old)) != new:
            other = features(old, rest, similarity, shared, is_nearest=is_nearest)
            other["contradicts"] = other["contradicts"] or endings.is_taken_back(old, new, rest)
            looks = max(looks, other, key=lambda one: replacing(one, _REPLACES))
        pairs.append(Relation(old, new, similarity, looks))
    at = max(range(len(olds)), key=lambda at: (pairs[at].contradicts, pairs[at].replaces))
    best, replaced = pairs[at], olds[at]
    # Without a second text the margin proves nothing: the replacement must be likely on its own.
    scores = [relation.replaces for relation in pairs]
    evidence = (*signs(new, scores, contradicts=best.contradicts), 1.0)
    is_certain = best.replaces > DOUBTFUL and math.fsum(map(mul, _CERTAINTY, evidence)) > _CERTAIN
    # Of what many of them have, such as the name of a person, nothing follows.
    counted = Counter(stem for old in olds for stem in stems(old))
    shared_by = [counted[stem] for stem in stems(replaced) & stems(new)]
    is_certain = is_certain and min(shared_by, default=0) <= _FEW
    may = best.contradicts or (is_certain and not is_event(new))
    if not (may and best.is_likelier):
        return pairs
    for old, pair in zip(olds, pairs, strict=True):
        pair.is_replacement = not endings.states_more(old, new) and (
            pair is best
            or (pair.is_likelier and (pair.contradicts or paraphrase.is_same(old, replaced)))
        )
    return pairs


def _speaks_otherwise(old: str, new: str) -> bool:
    """Whether the contradicting statements are in two languages, which may name one place differently: Vienna, Wien."""
    news, stated = short_texts.facts_of_both(new[:CAP], old[:CAP])
    apart = [
        fact.language != other.language
        for fact in news
        for other in stated
        if language().contradicts(fact, other)
    ]
    return bool(apart) and all(apart)


def replacing(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """How likely one text replaces the other, by these features; a text that denies nothing does not."""
    if not (features["shared"] or features["contradicts"] or features["meaning"] > _USUAL):
        return _NEVER
    is_other = features["denied in one"] or features["contradicts"]
    if not (features["lost"] and features["gained"]) and not is_other:
        return _NEVER
    return max(_NEVER, paraphrase.weighted_sum(weights, features))


def signs(new: str, scores: Sequence[float], *, contradicts: bool) -> tuple[float, ...]:
    """Features for whether the newer text replaces the best older one: score, margin, cue, contradiction."""
    first, second = [*sorted(scores, reverse=True), _NEVER][:2]
    margin, cue = min(_FAR, first - second), float(read(new[:CAP]).cue)
    return first, margin, cue, cue * margin, cue * first, float(contradicts)


def alike(old: str, new: str) -> float:
    """The share of words that two texts have in common: a substitute for the cosine without a model."""
    a, b = stems(old), stems(new)
    return len(a & b) / max(1, len(a | b))


def properties(text: str) -> str:
    """The words for what a text states ("lives in" for "moved to Porto"), which older texts may use instead."""
    return " ".join(dict.fromkeys(fact.property for fact in facts(text[:CAP])))


def topics(text: str) -> frozenset[str]:
    """The stems of a text, and of the words for what it states."""
    return stems(text) | stems(properties(text))


def features(
    old: str,
    new: str,
    similarity: float | None = None,
    common: frozenset[str] = frozenset(),
    *,
    is_nearest: bool = False,
) -> dict[str, float]:
    """The model's features, from 0 to 1; `common` words carry no information, `is_nearest`: no other text is closer."""
    a, b = _read_without(old, common), _read_without(new, common)
    lost, gained, shared = a.stems - b.stems, b.stems - a.stems, a.stems & b.stems
    place = paraphrase.difference(
        [token.stem for token in a.tokens], [token.stem for token in b.tokens]
    )
    is_value = place.head > 0 and all(0 < n <= LONGEST_VALUE for n in (place.mine, place.theirs))
    news, stated = short_texts.facts_of_both(new[:CAP], old[:CAP])
    topics, others = ({fact.subject for fact in results} for results in (news, stated))
    several, elsewhen, changes = (
        a.several and b.several,
        a.other_time or b.other_time,
        b.cue and not a.cue,
    )
    return {
        "shared": 2 * len(shared) / max(1, len(a.stems) + len(b.stems)),
        "beginning": place.head / max(1, len(a.tokens), len(b.tokens)),
        "beginning differs": bool(a.tokens and b.tokens) and not place.head, "equal": a.stems == b.stems,
        "lost": min(4, len(lost)) / 4, "gained": min(6, len(gained)) / 6,
        "names differ": bool(a.names & lost) and bool(b.names & gained), "name gained": bool(b.names & gained),
        "numbers differ": bool(a.numbers - b.numbers) and bool(b.numbers - a.numbers),
        "numbers same": bool(a.numbers & b.numbers), "number in one": bool(a.numbers) != bool(b.numbers),
        "cue": b.cue, "cue and shared": _in_order(a.tokens, b.tokens) if b.cue else 0.0, "cue before": a.cue,
        "denied in one": a.denied != b.denied,
        "contradicts": any(language().contradicts(one, other, is_change=changes) for one in news for other in stated),
        "other subject": bool(topics) and bool(others) and topics.isdisjoint(others),
        "one value": is_value and not (several or a.event or elsewhen), "several": several, "event": a.event,
        "meaning": _USUAL if similarity is None else similarity,
        "cue and meaning": (_USUAL if similarity is None else similarity) * b.cue, "nearest": is_nearest,
        "cue and nearest": is_nearest and b.cue,
    }  # fmt: skip


@lru_cache(64)  # the newer text is compared with many older ones
def _read_without(text: str, common: frozenset[str]) -> Reading:
    reading = read(text[:CAP])
    if reading.stems.isdisjoint(common):
        return reading
    return reading._replace(
        tokens=tuple(token for token in reading.tokens if token.stem not in common),
        stems=reading.stems - common,
        names=reading.names - common,
        numbers=reading.numbers - common,
    )


def _in_order(a: Sequence[Token], b: Sequence[Token]) -> float:
    from difflib import SequenceMatcher  # few texts signal a change

    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return 2 * sum(block.size for block in blocks) / max(1, len(a) + len(b))


# From here on: python benchmarks/pairs.py --weights
_REPLACES: Mapping[str, float] = {
    "shared": 2.21, "beginning": 1.52, "beginning differs": -0.15, "equal": -2.56, "lost": -1.26,
    "gained": -0.4, "names differ": 0.33, "name gained": 0.1, "numbers differ": 0.3, "numbers same": -2.2,
    "number in one": -0.25, "cue": 0.18, "cue and shared": 2.59, "cue before": -2.54, "denied in one": 0.26,
    "contradicts": 2.87, "other subject": -0.34, "one value": 0.84, "several": -0.87, "event": -1.15,
    "meaning": 0.96, "cue and meaning": 0.76, "nearest": 1.38, "cue and nearest": 1.87, "": -4.22,
}  # fmt: skip
_CERTAINTY = (0.38, 0.44, 0.83, 0.07, 0.13, 0.7, -1.9)
_CERTAIN = 1.0


# Lets the newest of what speaks of the same thing stand for it, where writing did not notice: notes that a person

RECENT = 8 * 86_400.0  # seconds: older ones were compared in an earlier dream
RARE = 30  # memories; a word in more of them says little
MOST = 40  # older memories compared with one
NEAR = 0.6  # cosine


def supersede(draft: Draft, compared: float = 0.0) -> None:
    """Archive memories that a newer one replaces, and find "contradiction" where one only may: it comes from elsewhere,
    or no rule of the language says so. `compared` is when all files were last compared."""
    for old, new, relation in _compared(draft, compared):
        if draft.see(old).archived:
            continue
        is_short = max(old.size, new.size) <= CAP
        is_newer = old.created < new.created and may_replace(old, new.properties)
        if relation.is_replacement and is_short and is_newer:
            if draft.may(old, new):
                replace(draft, old, new.id, f"“{new.title}” is newer")
        elif relation.contradicts or (
            is_short and (relation.is_replacement or relation.is_doubtful)
        ):
            words = [quote_text(draft.content(memory)) for memory in (new, old)]
            text = f"“{words[0]}” against “{words[1]}” in [[{old.title}]]"
            draft.find(CONTRADICTION, text, new, old)


def _compared(draft: Draft, before: float) -> Iterator[tuple[Memory, Memory, Relation]]:
    """Each recent memory with older ones that may speak of the same."""
    done = {memory.text("replaced_by") for memory in draft.view.archived()}
    since = draft.view.now.timestamp() - RECENT
    memories = [
        memory for memory in draft.memories() if memory.category != REMINDERS and not is_own(memory)
    ]
    texts = {memory.path: stated(memory, draft.content(memory))[:CAP] for memory in memories}
    having: defaultdict[str, dict[str, Memory]] = defaultdict(dict)
    for memory in memories:
        text = texts[memory.path]
        # In another script, only the property may be common: "lives in" for 住在.
        for stem in stems(text) if text.isascii() else topics(text):
            having[stem][memory.path] = memory
    for new in track(
        "comparing", sorted(memories, key=lambda memory: (memory.created, memory.path))
    ):
        # By the time of its file, too: what is imported may be old. After a restore, all files are new.
        is_recent = max(new.created, new.updated) >= since or new.mtime >= max(since, before)
        if new.id in done or not is_recent:
            continue
        olds = _older(draft, new, [having[stem] for stem in topics(texts[new.path])])
        compared = _relate(draft, new, texts[new.path], [texts[old.path] for old in olds], olds)
        yield from ((old, new, relation) for old, relation in zip(olds, compared, strict=True))


def stated(memory: Memory, text: str) -> str:
    """The text of a memory, with the user named where an assistant means the user."""
    return short_texts.of_user(text) if access.origin(memory.properties).writer else text


def _relate(
    draft: Draft, new: Memory, text: str, olds: Sequence[str], memories: Sequence[Memory]
) -> Sequence[Relation]:
    """The relations of a text to older ones. The rounds of a dream compare the same texts again and again, so the draft
    keeps the results."""
    close = dict(draft.view.alike(new, NEAR))
    cosines = [close.get(memory.path) for memory in memories]
    inputs = hash((text, *olds, *cosines))
    known, compared = draft.relations.get(new.path, (None, ()))
    if known != inputs:
        compared = relations(text, olds, cosines)
        draft.relations[new.path] = inputs, compared
    return compared


def _older(draft: Draft, new: Memory, groups: list[dict[str, Memory]]) -> list[Memory]:
    """Older memories of the same people, project and scope that share a rare word with a new one, or any word and the
    meaning."""
    near = {path for path, _ in draft.view.alike(new, NEAR)}
    sharing = {
        path: group[path]
        for group in groups
        for path in (group if len(group) <= RARE else near & group.keys())
    }
    remaining = [
        old
        for old in sharing.values()
        if (old.created, old.path) < (new.created, new.path)
        and old.text("replaced_by") != new.id
        and is_of_one_project(old, new.properties)
    ]
    return sorted(remaining, key=lambda old: (old.path not in near, -old.created, old.path))[:MOST]


def may_replace(old: Memory, new: Properties, trust: str = access.CONNECTED) -> bool:
    """Whether a memory with these properties may replace an older one: of one project, and visible to all."""
    is_readable = access.is_trusted(access.origin(new), access.ANYBODY, trust)
    return is_of_one_project(old, new) and is_readable


def is_of_one_project(old: Memory, new: Properties) -> bool:
    """Whether both may speak of the same thing: same scope, not two projects."""
    projects = {old.text("project"), str(new.get("project") or "")} - {""}
    return old.scope == new.get("scope", DEFAULT_SCOPE) and len(projects) < 2


def replace(draft: Draft, old: Memory, new: str, why: str) -> None:
    """Archive a memory that another one replaces; `until` says how long it was true."""
    until = stamp(draft.view.now.timestamp())
    if old.archived:
        draft.set(old, why, replaced_by=new, until=old.text("until") or until)
        return
    draft.archive(old, "supersede", why, new)
    draft.set(old, why, until=until)
