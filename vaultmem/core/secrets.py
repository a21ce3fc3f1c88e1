"""Secrets in a text, which no memory should hold: keys, tokens, private keys, passwords behind their names.

`redact()` is the door for whoever writes down what a person or a machine has said; `redacted()` also tells the kinds.
What is found is replaced by a mark that says what was there. A false alarm costs a piece of somebody's note, so that a
value counts only where it has the form of a key, looks random behind the name of one, or stands behind the word
"password" and is no word itself. All of it is linear in the text: every repetition in a pattern has a limit.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from vaultmem.core.secret_blocks import private_keys
from vaultmem.core.secret_forms import known_forms
from vaultmem.core.secret_marks import mark, named_by, title_without_marks
from vaultmem.core.secret_names import assigned
from vaultmem.core.secret_places import in_commands, in_urls
from vaultmem.core.secret_wrapped import wrapped

__all__ = [
    "Redacted", "behind", "in_either", "mark", "named_by", "redact", "redacted", "title_without_marks",
]  # fmt: skip

_STEPS = (private_keys, wrapped, known_forms, in_urls, in_commands, assigned)


class Redacted(NamedTuple):
    """A text without its secrets, and the kinds of what was taken out, in no order."""

    text: str
    kinds: tuple[str, ...]


def redact(text: str) -> tuple[str, int]:
    """The text with a mark such as "[redacted: GitHub token]" in place of each secret, and how many there were.

    Pure, in time linear to the text; redacting again changes nothing. The text as a whole has to be given: what is
    wrapped over lines, or lies between two lines that enclose it, is not seen in a piece of it."""
    found = redacted(text)
    return found.text, len(found.kinds)


def redacted(text: str) -> Redacted:
    """What redact() does, with the kind of each secret that was taken out."""
    found: list[str] = []
    for step in _STEPS:
        text = step(text, found)
    return Redacted(text, tuple(found))


def behind(name: str, text: str) -> Redacted:
    """What redacted() does with one line that is the value of a property: its name may say that it is a secret."""
    found = redacted(f"{name}: {text}")
    return found._replace(text=found.text.partition(": ")[2]) if found.kinds else Redacted(text, ())


def in_either(title: Redacted, path: Redacted) -> list[str]:
    """The kinds in a title and in a path. The title is as often as not the name of the file: a secret in both is
    one."""
    return [*(Counter(title.kinds) | Counter(path.kinds)).elements()]
