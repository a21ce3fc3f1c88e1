"""Keys, of a language model and of our proxy: where they are kept, and how they stay out of all that is shown (owner of
keyring)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hmac import compare_digest
from importlib.util import find_spec

from vaultmem.errors import LlmError
from vaultmem.text import urls

OFF = "off"
SHARED = "env:OPENAI_API_KEY"  # often set for the service of that name, and for nothing else
HIDDEN = "***"


class Key:
    """A key that shows itself to nobody: no text, log or error in which it could stand by accident holds it."""

    __slots__ = ("_text",)

    def __init__(self, text: str, setting: str = "llm.key") -> None:
        """Raises LlmError when it cannot be sent; `setting` is what names it."""
        self._text = text.strip()
        if not (self._text.isascii() and self._text.isprintable() and self._text):
            raise LlmError(
                f"the key that {setting} names cannot be a key: it is empty, or no plain text of one line"
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

    def matches(self, text: str) -> bool:
        """Whether a text is the key; how long that takes tells nothing of it."""
        return compare_digest(self._text.encode(), text.strip().encode("utf-8", "replace"))

    def hidden_in(self, text: str) -> str:
        """The text without the key, should it stand in it."""
        return text.replace(self._text, HIDDEN)


def find(
    setting: str, url: str, environ: Mapping[str, str] = os.environ, named_by: str = "llm.key"
) -> Key | None:
    """The key by llm.key, or by another setting of its kind; None when there is none, or when it would be read on its
    way to the service by others than those it was made for. Raises LlmError when the keyring has none or cannot be
    asked."""
    if setting == SHARED and urls.is_plaintext(url):
        return None
    return _lookup(setting, named_by, environ)


def of_clients(setting: str, environ: Mapping[str, str] = os.environ) -> Key | None:
    """The key by proxy.key that clients must have, if any. Raises LlmError when it is named and not there."""
    result = _lookup(setting, "proxy.key", environ)
    if result is None and setting != OFF:
        name = setting.partition(":")[2]
        raise LlmError(
            f"proxy.key names the environment variable {name}, and it is not set: set it, or proxy.key to off"
        )
    return result


def _lookup(setting: str, named_by: str, environ: Mapping[str, str]) -> Key | None:
    kind, _, name = setting.partition(":")
    if setting == OFF:
        return None
    if kind == "env":
        text = environ.get(name, "")
        return Key(text, named_by) if text.strip() else None
    service, _, user = name.rpartition("/")
    return Key(_from_keyring(service, user, named_by), named_by)


def is_named(setting: str) -> bool:
    """Whether somebody has said where the key is."""
    return setting not in (OFF, SHARED)


def advice(setting: str, named_by: str = "llm.key") -> str:
    """What to do so that there is a key."""
    kind, _, name = setting.partition(":")
    if kind == "env":
        return f"set the environment variable {name}, or {named_by} to where the key is"
    if kind == "keyring":
        return f"look at what the keyring keeps as {name}"
    return f"set {named_by} to where the key is: env:NAME or keyring:SERVICE/USER"


def _from_keyring(service: str, user: str, named_by: str) -> str:
    if find_spec("keyring") is None:
        raise LlmError(
            f"{named_by} names the keyring, and the package keyring is not installed: pip install keyring"
        )
    import keyring
    from keyring.errors import KeyringError

    try:
        result = keyring.get_password(service, user)
    except (KeyringError, RuntimeError, OSError) as error:
        raise LlmError(
            f"the keyring cannot be asked for the key ({type(error).__name__}); unlock it, or set {named_by} to "
            "env:NAME"
        ) from None
    if not result:
        raise LlmError(
            f"the keyring keeps no key as {service}/{user}; put it there: keyring set {service} {user}"
        )
    return result
