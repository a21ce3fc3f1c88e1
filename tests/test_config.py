"""Settings: which source has precedence, and what a vault from elsewhere must not set."""

from pathlib import Path

import pytest

from tests.cli_run import on, one_line
from tests.tables import each_case
from vaultmem import config
from vaultmem.errors import ConfigError


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own settings file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / "config" / "vaultmem" / "config.yaml"
    file.parent.mkdir(parents=True)
    return file


@pytest.fixture
def theirs(vault: Path) -> Path:
    """The vault's settings file."""
    file = vault / ".vaultmem" / "config.yaml"
    file.parent.mkdir()
    return file


def test_environment_over_user_over_vault(vault: Path, own: Path, theirs: Path) -> None:
    def loaded(**environ: str) -> list[object]:
        settings = config.load(str(vault), environ)
        return [settings[key] for key in ("dialect", "memory_folder", "search.limit")]

    theirs.write_text("dialect: logseq\nmemory_folder: theirs\nsearch:\n  limit: 3\n")
    assert loaded() == ["logseq", "theirs", 3]
    own.write_text("memory_folder: own\nsearch.limit: 4\n")
    assert loaded() == ["logseq", "own", 4]
    assert loaded(VAULTMEM_SEARCH_LIMIT="5") == ["logseq", "own", 5]


DANGEROUS = {
    "llm.base_url": "http://evil.example/v1", "llm.key": "env:HOME",
    # even of harmless settings not every value is allowed
    "memory_folder": ["/etc", "../outside", "a/../../b", "..", ".", "", "x/../..", "a//b", "\\\\server\\x", "..\\..", ".obsidian", "a/.git"],
}  # fmt: skip


@each_case("key", DANGEROUS)
def test_a_vault_cannot_set_what_could_harm(vault: Path, theirs: Path, key: str) -> None:
    values = DANGEROUS[key]
    for value in values if isinstance(values, list) else [values]:
        theirs.write_text(f"{key}: '{value}'\n")
        settings = config.load(str(vault))
        assert settings[key] == config.SETTINGS[key].default, value
        (warning,) = settings.warnings
        assert key in warning


@each_case("key", [key for key, setting in config.SETTINGS.items() if not setting.harmless])
def test_what_a_vault_may_not_set_is_always_told(vault: Path, theirs: Path, key: str) -> None:
    """A vault may come from anywhere and could otherwise choose who reads along."""
    theirs.write_text(f"{key}: '{config.SETTINGS[key].default}'\n")
    (warning,) = config.load(str(vault)).warnings
    assert key in warning


def test_a_vault_may_name_a_dialect_that_is_not_there(
    vault: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / "Note.md").write_text("apple")
    for name in ("zzz", "../x", "os", ""):
        theirs.write_text(f"dialect: '{name}'\n")
        settings = config.load(str(vault))
        assert settings["dialect"] == "auto"
        assert "config.yaml" in settings.warnings[0]
        assert repr(name) in settings.warnings[0]
    ended = on(vault, "sync", "--no-embed", "--format", "text")
    assert ended.code == 0
    assert "1 added" in ended.err
    for name in ("obsidian", "logseq", "auto"):
        theirs.write_text(f"dialect: {name}\n")
        settings = config.load(str(vault))
        assert (settings["dialect"], settings.warnings) == (name, ())
    monkeypatch.setenv("VAULTMEM_DIALECT", "roam")
    ended = on(vault, "sync", "--no-embed", "--format", "text")
    assert ended.code == 1
    assert "roam" in one_line(ended)


def test_every_setting_is_judged() -> None:
    """A person has to add a new setting to one of these lists; a default passes its own check."""
    harmless = {key for key, setting in config.SETTINGS.items() if setting.harmless}
    assert harmless == {
        "dialect", "dream.report", "memories.pages", "memory_folder", "pending.path", "search.limit",
    }  # fmt: skip
    for key, setting in config.SETTINGS.items():
        assert not setting.check or setting.check(str(setting.default)) == setting.default, key


BAD: tuple[str | bytes, ...] = (
    "dialect: 5", "search:\n  limit: none", "search.limit: 0", "- a list", "a: [", "just text", "a: 1\na: 2", b"\xff\xfe\0",
)  # fmt: skip

WRONG = {
    "jobs.reconcile": ["5", "5 minutes", "0 25 * * *", "0 0 30 2 *", "", "0s"],
    "jobs.tidy": ["@daily", "* * * *"],
    "jobs.battery": ["yes", "off", "WAIT"],
    "jobs.max_load": ["0", "80%", "1001"],
    "agent.unload": ["off", "10"],
    "llm.timeout": ["60", "off", "0s"],
    "pending.path": ["Memory.md", "vaultmem/Expectations.md", "a/What changed.md"],
    "llm.retries": ["-1", "11", "often"],
    "conversations.id": ["", " ", "a\u200bb", "x" * 201],
    "proxy.host": ["", "a b", "127.0.0.1/8", "http://x", "ü"],
    "recall.recency_weight": ["1.5", "-1", "much", "nan"],
    "notify.timezone": ["Shanghai", "../x", "UTC+8"],
}
RIGHT = {
    "jobs.reconcile": ["1s", "off", "*/5 * * * *", "1h30m"],
    "jobs.tidy": ["0 3 * * mon-fri", "OFF", "7d"],
    "jobs.battery": ["run", "wait"],
    "jobs.max_load": ["1", "1,000"],
    "agent.unload": ["never", "15m"],
    "llm.retries": ["0", "10"],
    "llm.key": ["off", "env:my_key", "keyring:vaultmem/me@example.org", "keyring:a/b/c"],
    "llm.schema": ["auto", "off"],
    "conversations.id": ["work", "一"],
    "proxy.host": ["::1", "localhost", "my-host.local", "0.0.0.0"],
}


@each_case("text, line", [("- a", 1), ("# mine\nx", 2), ("a: b: c", 1), ("a: 1\na: 1", 2)])
def test_a_file_of_no_settings_is_refused(vault: Path, own: Path, text: str, line: int) -> None:
    own.write_text(f"{text}\n")
    with pytest.raises(ConfigError, match=rf"config\.yaml, line {line}: \w"):
        config.load(str(vault))


@each_case("key, given", [(key, one) for key in WRONG for one in WRONG[key]])
def test_a_wrong_value_is_told_with_what_would_be_right(
    vault: Path, own: Path, key: str, given: str
) -> None:
    own.write_text(f"{key}: '{given}'\n")
    with pytest.raises(ConfigError) as error:
        config.load(str(vault))
    said = str(error.value)
    assert f"config.yaml: {key} must be " in said
    assert said.endswith(f"not {given!r}")
    assert "\n" not in said
    own.unlink()
    with pytest.raises(
        ConfigError, match=f"the environment variable {config.variable(key)}: {key} must be "
    ):
        config.load(str(vault), {config.variable(key): given})


@each_case("key, given", [(key, one) for key in RIGHT for one in RIGHT[key]])
def test_a_right_value_is_kept(vault: Path, own: Path, key: str, given: str) -> None:
    own.write_text(f"{key}: '{given}'\n")
    kept = config.load(str(vault))[key]
    assert str(kept) == given.lower().replace(",", "" if key == "jobs.max_load" else ",")
    assert config.load(str(vault), {config.variable(key): given})[key] == kept


def test_unknown_names_are_one_warning(
    vault: Path, own: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.write_text("nonsense: 1\nsearch.limits: 3\nsearch.limit: 4\n")
    theirs.write_text("storage:\n  root: /x\n")
    monkeypatch.setenv("VAULTMEM_NONSENSE", "1")
    monkeypatch.setenv("VAULTMEM_NOW", "2026-11-22")
    settings = config.load(str(vault))
    (warning,) = settings.warnings
    unknown = ("nonsense", "search.limits", "storage.root", "VAULTMEM_NONSENSE")
    assert [name for name in (*unknown, "mean search.limit?") if name not in warning] == []
    assert "VAULTMEM_NOW" not in warning
    assert settings["search.limit"] == 4
    ended = on(vault, "sync", "--no-embed", "--format", "text")
    assert ended.code == 0
    assert ended.err.count("nonsense") == 1


def test_settings_of_each_source_and_shares(vault: Path, own: Path) -> None:
    own.write_text(
        "ingestion:\n  car-agent:\n    path: ~/cars\n    enabled: false\nmemories.min_confidence: 0.5\n"
    )
    settings = config.load(str(vault), {"VAULTMEM_INGESTION_LOGSEQ_ENABLED": "off"})
    assert settings.warnings == ()
    assert settings["ingestion.car-agent.path"] == "~/cars"
    enabled = [
        settings[f"ingestion.{name}.enabled"] for name in ("car-agent", "logseq", "obsidian")
    ]
    assert enabled == ["off", "off", "on"]
    assert settings.share("memories.min_confidence") == 0.5


@each_case("text", BAD)
def test_a_bad_line_is_an_error_in_ones_own_file_and_a_warning_in_a_vault(
    vault: Path, own: Path, theirs: Path, text: str | bytes
) -> None:
    theirs.write_bytes(text if isinstance(text, bytes) else text.encode())
    own.unlink(missing_ok=True)
    assert len(config.load(str(vault)).warnings) == 1
    ended = on(vault, "sync", "--no-embed", "--format", "text")
    assert ended.code == 0
    assert "config.yaml" in ended.err
    theirs.rename(own)
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        config.load(str(vault))
    ended = on(vault, "sync", "--no-embed", "--format", "text")
    assert ended.code == 1
    one_line(ended)


def test_a_file_without_settings_is_none(vault: Path, own: Path, theirs: Path) -> None:
    for text in ("", "# only a comment\n", "---\n", "{}", "\ufeffdialect: auto\n"):
        own.write_text(text)
        theirs.write_text(text)
        assert config.load(str(vault)).warnings == ()
    theirs.unlink()
    theirs.mkdir()
    assert len(config.load(str(vault)).warnings) == 1


def test_off_as_yaml_1_1_wrote_it(vault: Path, own: Path) -> None:
    for off in ("off", "false"):
        own.write_text(f"embedding:\n  model: {off}\nllm:\n  schema: {off}\njobs.tidy: {off}\n")
        settings = config.load(str(vault))
        names = ("embedding.model", "llm.schema", "jobs.tidy")
        assert [settings[name] for name in names] == ["off"] * 3


def test_paths_are_named_as_the_walk_through_the_vault_names_them() -> None:
    """Otherwise our own page would be read as a note, and its items listed again."""
    decomposed, composed = "E\u0301te\u0301", "\u00c9t\u00e9"
    env = {"VAULTMEM_MEMORY_FOLDER": decomposed, "VAULTMEM_PENDING_PATH": f"{decomposed}/x.md"}
    found = config.load(None, env)
    assert found.text("memory_folder") == composed
    assert found.text("pending.path") == f"{composed}/x.md"
