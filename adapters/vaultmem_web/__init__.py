"""A local web page to view, correct and decide on what assistants remember, and the verb that opens it. It only calls
verbs and has no logic of its own."""

from __future__ import annotations

from vaultmem.api.memory_verbs import flag
from vaultmem.api.verbs import SET_UP, Verb

VERBS = {
    "ui": Verb(
        "open the page that shows what your assistants remember; vaultmem stop ends it", SET_UP,
        (
            flag("print_url", "print its one-time address without opening it"),
            flag("by_number", "use an address with 127.0.0.1, for browsers that cannot resolve names below .localhost"),
        ),
        command="vaultmem_web.commands:ui",
    ),
}  # fmt: skip
