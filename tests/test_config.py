"""Settings: who wins over whom, and what a vault from somewhere else may not set."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli_run import one_line, ran
from vaultmem import config
from vaultmem.errors import ConfigError


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / "config" / "vaultmem" / "config.yaml"
    file.parent.mkdir(parents=True)
    return file


@pytest.fixture
def theirs(vault: Path) -> Path:
    """The vault's file."""
    file = vault / ".vaultmem" / "config.yaml"
    file.parent.mkdir()
    return file


def test_defaults(vault: Path) -> None:
    settings = config.load(str(vault))
    for key, setting in config.SETTINGS.items():
        assert settings[key] == setting.default
        assert setting.meaning
    assert settings.warnings == ()


def test_environment_over_user_over_vault(
    vault: Path, own: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs.write_text("dialect: logseq\nmemory_folder: theirs\nsearch:\n  limit: 3\n")
    assert [config.load(str(vault))[k] for k in ("dialect", "memory_folder", "search.limit")] == [
        "logseq",
        "theirs",
        3,
    ]
    own.write_text("memory_folder: own\nsearch.limit: 4\n")
    assert [config.load(str(vault))[k] for k in ("dialect", "memory_folder", "search.limit")] == [
        "logseq",
        "own",
        4,
    ]
    monkeypatch.setenv("VAULTMEM_SEARCH_LIMIT", "5")
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    assert [
        config.load(str(vault))[k] for k in ("memory_folder", "search.limit", "embedding.model")
    ] == ["own", 5, "off"]


DANGEROUS = {
    "embedding.model": "/tmp/x", "embedding.threads": "99", "vault": "/etc", "vectors.hnsw_threshold": "1",
    "index.max_note_bytes": "9000000",
    "memory_folder": ["/etc", "../outside", "a/../../b", "..", ".", "", "x/../..", "a//b", "\\\\server\\x", "..\\..", ".obsidian", "a/.git"],
}  # fmt: skip


@pytest.mark.parametrize("key", DANGEROUS)
def test_a_vault_cannot_set_what_could_harm(vault: Path, theirs: Path, key: str) -> None:
    values = DANGEROUS[key]
    for value in values if isinstance(values, list) else [values]:
        theirs.write_text(f"{key}: '{value}'\n")
        settings = config.load(str(vault))
        assert settings[key] == config.SETTINGS[key].default, value
        assert len(settings.warnings) == 1
        assert key in settings.warnings[0]


def test_every_setting_is_judged() -> None:
    """A new setting has to be put on one of these lists by a person."""
    harmless = {key for key, setting in config.SETTINGS.items() if setting.harmless}
    assert harmless == {"dialect", "memory_folder", "search.limit"}


BAD = (
    "dialect: 5",
    "search:\n  limit: none",
    "search.limit: 0",
    "search.limit: -1",
    "nonsense: 1",
    "- a list",
    "a: [",
    "just text",
    "a: 1\na: 2",
)


@pytest.mark.parametrize("text", BAD)
def test_a_bad_line_in_ones_own_file_is_an_error(vault: Path, own: Path, text: str) -> None:
    own.write_text(text)
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        config.load(str(vault))
    ended = ran("sync", "--no-embed", "--format", "text", "--vault", str(vault))
    assert ended.code == 1
    one_line(ended)


@pytest.mark.parametrize("text", BAD)
def test_a_bad_line_in_a_vault_is_a_warning(vault: Path, theirs: Path, text: str) -> None:
    theirs.write_text(text)
    settings = config.load(str(vault))
    assert len(settings.warnings) == 1
    ended = ran("sync", "--no-embed", "--format", "text", "--vault", str(vault))
    assert ended.code == 0
    assert "config.yaml" in ended.err


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "{}", "\ufeffdialect: auto\n"])
def test_empty_files(vault: Path, own: Path, theirs: Path, text: str) -> None:
    own.write_text(text)
    theirs.write_text(text)
    assert config.load(str(vault)).warnings == ()


def test_bytes_that_are_no_settings(vault: Path, theirs: Path) -> None:
    theirs.write_bytes(b"\xff\xfe\0")
    assert len(config.load(str(vault)).warnings) == 1
    theirs.unlink()
    theirs.mkdir()
    assert len(config.load(str(vault)).warnings) == 1


def test_off_as_yaml_1_1_wrote_it(vault: Path, own: Path) -> None:
    own.write_text("embedding:\n  model: off\n")
    assert config.load(str(vault))["embedding.model"] == "off"
    own.write_text("embedding:\n  model: false\n")
    assert config.load(str(vault))["embedding.model"] == "off"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VAULTMEM_SEARCH_LIMIT", "many"),
        ("VAULTMEM_DIALECT", "roam"),
        ("VAULTMEM_MEMORY_FOLDER", "../x"),
    ],
)
def test_a_bad_variable_is_named(
    vault: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    ended = ran("sync", "--no-embed", "--format", "text", "--vault", str(vault))
    assert ended.code == 1
    assert name in one_line(ended) or value in one_line(ended)


def test_the_vault_of_the_settings(
    vault: Path, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.write_text(f"vault: {vault}\n")
    monkeypatch.chdir(tmp_path)
    assert ran("status", "--format", "json").data["vault"] == str(vault)
