"""English sentences in the first person as statements about the user: "My wife is Anne" is "The user's wife is Anne".

A closed list of what lasts, because most of what people say to an assistant does not: they see, try, think, want and
need things for the moment.
"""

from __future__ import annotations

import re

from vaultmem.languages import sentences as words
from vaultmem.languages.sentences import Sentence
from vaultmem.languages.slots import slot
from vaultmem.languages.statements import statements

_LASTING = frozenset("prefers likes uses speaks owns drinks eats drives plays smokes".split()) | {
    "lives in",
    "works at",
}
_I = "(?:I|i|[Ww]e)"
_MY = "(?:[Mm]y|[Oo]ur)"
_NEW = (  # somebody is spoken of anew
    rf"(?:{_I}(?=['’\s])|{_MY}\s+(?:[\w-]+\s+){{0,4}}?[\w-]+(?:['’]s\s|\s+(?:is|are|was|were|has|"
    rf"have|had|lives?|works?|loves?|"
    r"likes?|hates?|prefers?|speaks?|plays?|goes|got|died|can|can['’]t|does|doesn['’]t|isn['’]t|"
    r"turns?|turned)\b))"
)
_ASKS = (
    r"(?:can|could|would|will|what|what['’]s|how|where|when|which|who|why|is|are|do|does|did|any|"
    r"should|shall|tell|give|help|recommend|suggest|find|show|please|make|leave|explain|write|"
    r"list|answer|use|keep|let|pick|plan|send|right|okay|ok|correct|isn['’]t|aren['’]t|don['’]t|"
    r"no)\b"
)
_FOLLOWING = (
    r"(?:(?:also|now|always|never|usually|mostly)\s+)?(?:live|work|study|speak|own|drive|play|"
    r"prefer|like|love|hate|dislike|enjoy|use|eat|drink|smoke|have (?:a|an|two|three|no)|"
    r"don['’]t (?:eat|drink|like|smoke|drive)|am|grew up|moved to|studied|graduated)\b"
)
_CUTS = re.compile(
    rf"\s*[,;]?\s+(?:and|but|so|because|while|although|yet)\s+(?=(?:now\s+)?{_NEW})|"
    rf"\s*[,;:—–]\s*(?:but\s+)?(?=(?:now\s+)?{_NEW})"
    rf"|\s+-+\s+(?={_NEW})|,\s*(?:(?:so|and|but)\s+)*(?={_ASKS})|\s+so\s+(?={_ASKS})|"
    rf"\s*,?\s+(?:and|but)\s+(?={_FOLLOWING})|,\s+so\s"
    r"|\s*,?\s+and\s+(?=(?:he|she|it|they)\b)",
    re.IGNORECASE,
)
_FRONT = re.compile(
    r"(?:every|each|most|on|in|since|last|next|yesterday|tomorrow|tonight|nowadays|these|after|"
    r"before|two|three|as a|at)\b"
    r"(?!.*\b(?:case|fact|general|order|my opinion|the moment|first|least|time)\b)[^,]{0,30}?|"
    r"yesterday|tomorrow|tonight",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:(?:hi|hey|hello|thanks|thank you|great|by the way|btw|fyi|also|and|but|so|well|actually|"
    r"oh|ok(?:ay)?|yes|no|yeah|just|just so you know|for (?:context|reference|the record|"
    r"your information)|(?:some |more )?(?:context|background)|about me|"
    r"(?:please )?note(?: that)?|to be clear|honestly|unfortunately|sadly|luckily|because|since|"
    r"quick one|anyway|currently|today)"
    r"(?:\s*[,:!–—-]+\s*|\s+)){1,5}",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:[\s,]+(?:please|thanks|thank you|lol|haha|though|btw|by the way|actually|too|as well|"
    r"fyi|right now|at the moment|😊|🙂))+$",
    re.IGNORECASE,
)

_USUAL = (
    r"(?:also|now|currently|still|always|never|usually|often|normally|typically|generally|really|"
    r"absolutely|mostly|mainly|only|personally|strongly|recently|both|rarely|seldom|sometimes|"
    r"no longer|already|finally|originally|once|just|actually|totally)"
)
_ADVERBS = rf"(?P<adverbs>(?:{_USUAL}\s+)*)"
_CALLED = re.compile(
    r"(?i:(?:please\s+|you (?:can|may) (?:just )?|everyone |(?:my )?friends |"
    r"people )?(?:just )?calls? me )(?P<name>[A-Z][\w'’-]{1,20}(?: [A-Z][\w'’-]{1,20})?)$"
)
_TURNED = re.compile(
    rf"(?P<subject>(?!It\b|That\b|This\b|He\b|She\b|They\b|What\b|There\b|"
    rf"Here\b)[A-Z][\w .'’+#-]{{0,40}}?)\s+(?P<verb>is|are|was|were)\s+{_MY}\s+"
    rf"(?P<what>(?:[\w'’-]+\s+){{0,3}}?(?:favou?rite\s+\S.*|{words.KIN}|{words.THING}))$"
)
_FIRST = re.compile(
    rf"(?P<front>(?:{_FRONT.pattern})[,\s]+)?(?P<now>now\s+)?(?P<who>{_I})(?P<be>['’](?:m|re|ve|"
    rf"ll)|\s+(?:am|are|was|were|have|will|had)(?=\s))?\s+(?P<rest>\S.*)$",
    re.IGNORECASE,
)
_MINE = re.compile(
    rf"{_MY}\s+(?P<what>[^,]{{1,60}}?)(?:\s+|(?=['’]s\s))(?P<rest>(?:{words.OF_KIN.pattern}).*)$",
    re.IGNORECASE,
)
_OWNED = re.compile(
    rf"(?:[\w'-]+\s+){{0,3}}?(?:{words.KIN}|{words.THING})(?:,?\s+(?-i:[A-Z]\w+)){{0,2}}"
    r"(?:\s+(?:to|of|in|at|with|on|for)\s+.{1,30})?",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"(?:right|okay|ok|correct|no|isn't|aren't|don't|is|are|do)\b(?:\s+(?:I|it|we|that|you))?",
    re.IGNORECASE,
)
_AS_THEY = (
    (r"\bI'm\b", "they're"),
    (r"\bI am\b", "they are"),
    (r"\bI was\b", "they were"),
    (r"\bI\b", "they"),
)
_IS_PAST = re.compile(
    r"\w*[^e]ed|chose|taught|ran|went|took|made|wrote|built|ate|drank|spoke|drove|kept|met|won"
)
_CANNOT = re.compile(r"(?P<verb>can['’]?t|cannot|can not|can)\s+(?P<rest>\S.*)$", re.IGNORECASE)
_OWN = {
    "my": "their", "our": "their", "me": "them", "us": "them", "mine": "theirs", "ours": "theirs",
    "myself": "themselves", "ourselves": "themselves",
}  # fmt: skip
_USERS = {**_OWN, "my": "the user's", "our": "the user's", "me": "the user", "us": "the user", "mine": "the user's",
          "ours": "the user's"}  # fmt: skip
_BE = {
    **dict.fromkeys(("m", "am", "re", "are"), "is"),
    "were": "was",
    "ve": "has",
    "have": "has",
    "ll": "will",
}
_UNCHANGED = ("was", "had", "can", "can't", "cannot", "must", "never", "always", "usually", "often")
_POINTING = re.compile(r"(?:it|this|that|these|those|he|she|they)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:my|our|me|us|mine|ours|myself|ourselves)\b", re.IGNORECASE)


def told(sentence: Sentence) -> list[str]:
    """What a sentence says of the user and lasts, in the third person; mostly nothing."""
    text = sentence.text.replace("’", "'").strip()
    if sentence.remembered:
        return [fact for piece in _pieces(text) if (fact := _as_said(piece))]
    if words.REPORTED.search(text):
        return []
    found: list[str] = []
    pieces = _pieces(text)
    for at, piece in enumerate(pieces):
        last = at == len(pieces) - 1
        asks = re.match(_ASKS, piece, re.IGNORECASE) is not None
        if _conditional(piece) and not asks:
            return []
        if asks or (last and sentence.asked):
            return found if not _tags(piece) else []
        if fact := _piece(piece):
            found.append(fact)
    return found


def _conditional(piece: str) -> bool:
    return re.search(r"\b(?:if|unless|whether)\b", piece, re.IGNORECASE) is not None


def _tags(piece: str) -> bool:
    """Whether a piece turns what stands before it into a question: ", right?"."""
    return _TAG.fullmatch(piece) is not None


def _pieces(text: str) -> list[str]:
    """The clauses of a sentence; one that goes on after "and" gets its "I" back."""
    pieces: list[str] = []
    for piece in (cut.strip(" ,;:") for cut in _CUTS.split(text)):
        before = pieces[-1] if pieces else ""
        if before and _FRONT.fullmatch(before):
            pieces[-1] = f"{before} {piece}"
        elif before and re.match(_FOLLOWING, piece, re.IGNORECASE):
            begun = re.match(rf"(?:now\s+)?{_I}(?=['’\s])", before, re.IGNORECASE)
            if begun and not re.search(r"\bto\s+\w+", before):
                pieces.append(f"I {piece}")
            else:
                pieces[-1] = f"{before} and {piece}"
        elif piece:
            pieces.append(piece)
    return pieces


def _piece(piece: str) -> str:
    lead = _LEAD.match(piece)
    bare = _TAIL.sub("", piece[lead.end() :] if lead else piece).strip(" ,;:.!")
    called = _CALLED.match(bare)
    if called:
        return f"The user wants to be called {called['name']}"
    if words.DOUBT.search(bare) or len(bare.split()) < 2:
        return ""
    return _of_user(bare) or _of_theirs(bare) or _turned(bare)


def _of_user(bare: str) -> str:
    found = _FIRST.match(bare)
    if not found or words.POINTS.search(found["rest"]) or words.OTHERS.search(found["rest"]):
        return ""
    be, rest = (found["be"] or "").strip().lower().lstrip("'"), found["rest"]
    adverbs = re.match(_ADVERBS, rest, re.IGNORECASE)
    usual = adverbs[0] if adverbs else ""
    said = _predicate(be, usual, rest[len(usual) :], bare)
    if not said or (found["who"].lower() == "we" and re.match(r"(?:is|was) (?:an?|the) ", said)):
        return ""
    now = "now " if found["now"] else ""
    said = _in_third(f"{now}{said}", _OWN)
    front = (found["front"] or "").strip(" ,")
    return f"{front[0].upper()}{front[1:]} the user {said}" if front else f"The user {said}"


def _predicate(be: str, usual: str, rest: str, bare: str) -> str:
    """What is said of the user, with its verb in the third person; "" when it does not last."""
    plain = re.sub(r"^(?:not|no longer)\s+", "", rest, flags=re.IGNORECASE)
    verb = _BE.get(be, be)
    if verb == "has":
        return _having(usual, rest, plain)
    if verb:
        lasts = {
            "is": words.BEING.match(plain),
            "was": words.DONE.match(f"was {plain}") or words.BEING.match(plain),
            "will": words.WILL.match(plain),
            "had": words.DONE.match(f"had {plain}"),
        }
        return f"{verb} {usual}{rest}" if lasts[verb] else ""
    able = _CANNOT.match(rest)
    if able:
        return f"{able['verb']} {usual}{able['rest']}" if words.ABLE.match(able["rest"]) else ""
    return _doing(usual, rest, bare)


def _having(usual: str, rest: str, plain: str) -> str:
    perfect = words.HAVE_BEEN.match(plain)
    if perfect or (rest.startswith("got ") and words.HELD.match(rest[4:])):
        return f"has {usual}{rest}"
    return f"{usual}has {rest}" if words.HELD.match(rest) else ""


def _doing(usual: str, rest: str, bare: str) -> str:
    if words.DONE.match(rest):
        return f"{usual}{rest}"
    denied = re.match(r"(do not|don't|did not|didn't)\s+", rest, re.IGNORECASE)
    plain = rest[denied.end() :] if denied else rest
    further = re.match(_ADVERBS, plain, re.IGNORECASE)
    middle = further[0] if denied and further else ""
    plain = plain[len(middle) :]
    if not _lasts(plain, bare):
        return ""
    if denied:
        do = "did" if denied[1].lower().startswith("did") else "does"
        return f"{usual}{do} not {middle}{plain}"
    verb, _, more = plain.partition(" ")
    return f"{usual}{_third(verb)} {more}".rstrip()


def _lasts(plain: str, bare: str) -> bool:
    if re.match(r"have\s", plain, re.IGNORECASE):
        passing = re.match(r"to\s|(?:an?|the) (?:problem|question|doubt|error|issue)", plain[5:])
        return bool(words.HELD.match(plain[5:]) or (words.HABIT.search(bare) and not passing))
    if words.MOMENTARY.match(plain):
        return False
    if words.DOING.match(plain):
        return True
    if words.HABIT.search(bare) and not words.NO_HABIT.match(plain):
        return True
    return any(
        one.property in _LASTING and one.subject in ("user", "we") for one in statements(bare)
    )


def _third(verb: str) -> str:
    low = verb.lower()
    if _IS_PAST.fullmatch(low):
        return low
    if low in ("have", "has"):
        return "has"
    if low.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{low}es"
    return f"{low[:-1]}ies" if re.search(r"[^aeiou]y$", low) else f"{low}s"


def _of_theirs(bare: str) -> str:
    found = _MINE.match(bare)
    if not found or not _is_theirs(found["what"]):
        return ""
    if re.search(r"\b(?:this|it|that|here|I)\b", found["rest"]):
        return ""
    rest = re.sub(r"^'s\b", "is", found["rest"])
    return f"The user's {found['what']} {_in_third(rest, _USERS)}"


def _is_theirs(what: str) -> bool:
    """Whether it is something of a person that lasts: kin, a thing they own, a slot such as a birthday."""
    return _OWNED.fullmatch(what) is not None or slot(f"my {what}") is not None


def _turned(bare: str) -> str:
    found = _TURNED.match(bare)
    return f"{found['subject']} {found['verb']} the user's {found['what']}" if found else ""


def _as_said(piece: str) -> str:
    """What the writer wants kept, whatever it is of; "" where it only points at something."""
    bare = _TAIL.sub("", piece).strip(" ,;:.!")
    if fact := _piece(bare):
        return fact
    if len(bare.split()) < 2 or _POINTING.match(bare):
        return ""
    if found := _FIRST.match(bare):
        return f"The user {_in_third(_in_words(found), _OWN)}"
    if mine := re.match(rf"{_MY}\s+", bare):
        return f"The user's {_in_third(bare[mine.end() :], _USERS)}"
    kept = re.sub(r"\byou\b", "the assistant", _in_third(bare, _USERS), flags=re.IGNORECASE)
    return kept[0].upper() + kept[1:]


def _in_words(found: re.Match[str]) -> str:
    """What follows "I" with its verb in the third person, whichever verb that is."""
    be, rest = (found["be"] or "").strip().lstrip("'").lower(), found["rest"]
    if be:
        return f"{_BE.get(be, be)} {rest}"
    if denied := re.match(r"(?:don't|do not)\s+", rest):
        return f"does not {rest[denied.end() :]}"
    verb, _, more = rest.partition(" ")
    return f"{verb if verb in _UNCHANGED else _third(verb)} {more}"


def _in_third(text: str, owners: dict[str, str]) -> str:
    """The text with the writer spoken of: their, them, they."""
    for old, new in _AS_THEY:
        text = re.sub(old, new, text)
    return _PRONOUN.sub(lambda found: owners[found[0].lower()], text)
