"""The key of a language model: where it is kept, and how it stays out of all that is shown (owner of keyring)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hmac import compare_digest
from importlib.util import find_spec

from vaultmem.core import llm_url
from vaultmem.errors import LlmError

OFF = "off"
EVERYBODYS = "env:OPENAI_API_KEY"  # often set for the service of that name, and for nothing else
HIDDEN = "***"


class Key:
    """A key that shows itself to nobody: no text, log or error in which it could stand by accident holds it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Raises LlmError when it cannot be sent."""
        self._text = text.strip()
        if not (self._text.isascii() and self._text.isprintable() and self._text):
            raise LlmError(
                "the key that llm.key names cannot be a key: it is empty, or no plain text of one line"
            )

    def __repr__(self) -> str:
        return f"Key({HIDDEN})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and compare_digest(self._text, other._text)

    def __hash__(self) -> int:
        return hash((Key, self._text))

    def header(self) -> str:
        """What a request says to be let in."""
        return f"Bearer {self._text}"

    def hidden_in(self, text: str) -> str:
        """The text without the key, should it stand in it."""
        return text.replace(self._text, HIDDEN)


def find(setting: str, url: str, environ: Mapping[str, str] = os.environ) -> Key | None:
    """The key by llm.key; None when there is none, or when it would be read on its way to the service by others than
    those it was made for. Raises LlmError when the keyring has none or cannot be asked."""
    kind, _, name = setting.partition(":")
    if setting == OFF or (setting == EVERYBODYS and llm_url.is_overheard(url)):
        return None
    if kind == "env":
        given = environ.get(name, "")
        return Key(given) if given.strip() else None
    service, _, user = name.rpartition("/")
    return Key(_from_keyring(service, user))


def is_named(setting: str) -> bool:
    """Whether somebody has said where the key is."""
    return setting not in (OFF, EVERYBODYS)


def lacks(setting: str) -> str:
    """What to do so that there is a key."""
    kind, _, name = setting.partition(":")
    if kind == "env":
        return f"set the environment variable {name}, or llm.key to where the key is"
    if kind == "keyring":
        return f"look at what the keyring keeps as {name}"
    return "set llm.key to where the key is: env:NAME or keyring:SERVICE/USER"


def _from_keyring(service: str, user: str) -> str:
    if find_spec("keyring") is None:
        raise LlmError(
            "llm.key names the keyring, and the package keyring is not installed: pip install keyring"
        )
    import keyring
    from keyring.errors import KeyringError

    try:
        found = keyring.get_password(service, user)
    except (KeyringError, RuntimeError, OSError) as error:
        raise LlmError(
            f"the keyring cannot be asked for the key ({type(error).__name__}); unlock it, or set llm.key to env:NAME"
        ) from None
    if not found:
        raise LlmError(
            f"the keyring keeps no key as {service}/{user}; put it there: keyring set {service} {user}"
        )
    return found
