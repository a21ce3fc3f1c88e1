"""API keys of language models and of our proxy: where they are stored, and how they stay out of all output (owner of
keyring)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hmac import compare_digest
from importlib.util import find_spec

from vaultmem.errors import LlmError
from vaultmem.text import urls

OFF = "off"
SHARED = "env:OPENAI_API_KEY"  # often set for that service only
HIDDEN = "***"


class Key:
    """A key that cannot appear in text, logs or errors by accident."""

    __slots__ = ("_text",)

    def __init__(self, text: str, setting: str = "llm.key") -> None:
        """Raises LlmError if it cannot be sent; `setting` is the setting that names it."""
        self._text = text.strip()
        if not (self._text.isascii() and self._text.isprintable() and self._text):
            raise LlmError(
                f"the key that {setting} names is not valid: it is empty, or not one line of plain text"
            )

    def __repr__(self) -> str:
        return f"Key({HIDDEN})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and compare_digest(self._text, other._text)

    def __hash__(self) -> int:
        return hash((Key, self._text))

    def header(self) -> str:
        """The Authorization header of a request."""
        return f"Bearer {self._text}"

    def matches(self, text: str) -> bool:
        """Whether a text is the key, compared in constant time."""
        return compare_digest(self._text.encode(), text.strip().encode("utf-8", "replace"))

    def hidden_in(self, text: str) -> str:
        """The text with the key replaced, if it occurs there."""
        return text.replace(self._text, HIDDEN)


def find(
    setting: str, url: str, environ: Mapping[str, str] = os.environ, named_by: str = "llm.key"
) -> Key | None:
    """The key named by llm.key, or by another such setting; None if there is none, or if the shared variable would be
    sent unencrypted. Raises LlmError if the keyring lacks it or cannot be read."""
    if setting == SHARED and urls.is_plaintext(url):
        return None
    return _lookup(setting, named_by, environ)


def client_key(setting: str, environ: Mapping[str, str] = os.environ) -> Key | None:
    """The key named by proxy.key that clients must send; None if unset. Raises LlmError if it is set but missing."""
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
    """Whether a setting says where the key is."""
    return setting not in (OFF, SHARED)


def advice(setting: str, named_by: str = "llm.key") -> str:
    """How to provide a key, for a person."""
    kind, _, name = setting.partition(":")
    if kind == "env":
        return f"set the environment variable {name}, or {named_by} to where the key is"
    if kind == "keyring":
        return f"check the keyring's entry {name}"
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
            f"the keyring cannot be read ({type(error).__name__}); unlock it, or set {named_by} to "
            "env:NAME"
        ) from None
    if not result:
        raise LlmError(
            f"the keyring has no key {service}/{user}; add it: keyring set {service} {user}"
        )
    return result
