"""Entries of a conversation to write, and existing ones."""

from pathlib import Path
from typing import Any

from vaultmem import Vault


def said(id_: str, content: str = "hello", role: str = "user", **more: object) -> dict[str, object]:
    """An entry to write."""
    return {"id": id_, "role": role, "content": content, **more}


def fact(id_: str, content: str) -> dict[str, object]:
    return said(id_, content, "memory")


def final(content: str, **more: object) -> dict[str, object]:
    return {"role": "summary", "name": "L3/final", "content": content, **more}


def notes(vault: Path) -> dict[str, str]:
    """All notes by path."""
    return {
        one.relative_to(vault).as_posix(): one.read_text() for one in sorted(vault.rglob("*.md"))
    }


def ids(vault: Vault, conversation: str, **how: Any) -> list[str]:
    return [entry["id"] for entry in vault.entries(conversation, **how)]
