"""A vault with several owners."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from vaultmem import Vault


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    (tmp_path / "notes" / ".obsidian").mkdir(parents=True)
    with Vault(str(tmp_path / "notes")) as opened:
        opened.sync()
        yield opened
