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
    "embedding.model": "/tmp/x", "llm.base_url": "http://evil.example/v1", "llm.key": "env:HOME", "proxy.host": "0.0.0.0",
    "vault": "/etc", "jobs.tidy": "off",
    # even of harmless settings not every value is allowed
    "dialect": "zzz",
    "memory_folder": ["/etc", "../outside", "a/../../b", "..", ".", "", "x/../..", "a//b", "\\\\server\\x", "..\\..", ".obsidian", "a/.git"],
}  # fmt: skip


@each_case("key", DANGEROUS)
def test_a_vault_cannot_set_what_could_harm(vault: Path, theirs: Path, key: str) -> None:
    values = DANGEROUS[key]
    for value in values if isinstance(values, list) else [values]:
        theirs.write_text(f"{key}: '{value}'\n")
        settings = config.load(str(vault))
        assert settings[key] == config.SETTINGS[key].default, value
        assert len(settings.warnings) == 1
        assert key in settings.warnings[0]


@each_case("key", [key for key, setting in config.SETTINGS.items() if not setting.harmless])
def test_what_a_vault_may_not_set_is_told_whatever_it_says(
    vault: Path, theirs: Path, key: str
) -> None:
    """A vault may come from anywhere and could otherwise choose who reads along."""
    theirs.write_text(f"{key}: '{config.SETTINGS[key].default}'\n")
    (warning,) = config.load(str(vault)).warnings
    assert key in warning


def test_a_vault_may_name_a_dialect_that_is_not_there(vault: Path, theirs: Path) -> None:
    (vault / "Note.md").write_text("apple")
    for name in ("zzz", "../x", "a.b", "os", ""):
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
        assert settings["dialect"] == name
        assert settings.warnings == ()


def test_every_setting_is_judged() -> None:
    """A person has to add a new setting to one of these lists."""
    harmless = {key for key, setting in config.SETTINGS.items() if setting.harmless}
    assert harmless == {
        "dialect", "dream.report", "memories.pages", "memory_folder", "pending.path", "search.limit",
    }  # fmt: skip


BAD = (
    "dialect: 5", "search:\n  limit: none", "search.limit: 0", "search.limit: -1", "- a list", "a: [", "just text",
    "a: 1\na: 2",
)  # fmt: skip

WRONG = {
    "jobs.reconcile": ["5", "5 minutes", "daily", "0 25 * * *", "0 0 30 2 *", "", "0s"],
    "jobs.tidy": ["never", "@daily", "* * * *"],
    "jobs.typing": ["2", "off", "never", "soon"],
    "jobs.battery": ["yes", "off", "WAIT"],
    "jobs.max_load": ["0", "80%", "1001", "-1", "high"],
    "agent.idle": ["10", "off"],
    "agent.threads": ["0", "257", "two"],
    "agent.unload": ["off", "10", "Never"],
    "llm.timeout": ["60", "off", "0s"],
    "llm.retries": ["-1", "11", "often"],
    "llm.strategy": ["both", "", "SUBSET"],
    "llm.schema": ["json", "strict", "on"],
    "conversations.id": ["", " ", "a\u200bb", "x" * 201],
    "conversations.session_gap": ["6", "never"],
    "proxy.host": ["", "a b", "127.0.0.1/8", "http://x", "ü"],
    "proxy.port": ["0", "65536", "http"],
    "proxy.place": ["end", "system"],
    "memories.half_life": ["30", "never"],
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
    for name in (
        "nonsense",
        "search.limits",
        "mean search.limit?",
        "storage.root",
        "VAULTMEM_NONSENSE",
    ):
        assert name in warning
    assert "VAULTMEM_NOW" not in warning
    assert settings["search.limit"] == 4
    ended = on(vault, "sync", "--no-embed", "--format", "text")
    assert ended.code == 0
    assert ended.err.count("nonsense") == 1


def test_settings_of_each_source(vault: Path, own: Path) -> None:
    own.write_text("ingestion:\n  car-agent:\n    path: ~/cars\n    enabled: false\n")
    settings = config.load(str(vault), {"VAULTMEM_INGESTION_LOGSEQ_ENABLED": "off"})
    assert settings.warnings == ()
    assert settings["ingestion.car-agent.path"] == "~/cars"
    assert settings["ingestion.car-agent.enabled"] == "off"
    assert settings["ingestion.logseq.enabled"] == "off"
    assert settings["ingestion.obsidian.enabled"] == "on"


def test_a_share_is_a_number(own: Path) -> None:
    own.write_text("memories.min_confidence: 0.5\nrecall.mmr_lambda: 1\n")
    settings = config.load(None)
    assert settings.share("memories.min_confidence") == 0.5
    assert settings.share("recall.mmr_lambda") == 1.0


def test_defaults_pass_their_own_checks() -> None:
    for key, setting in config.SETTINGS.items():
        if setting.check:
            assert setting.check(str(setting.default)) == setting.default, key


@each_case("text", BAD)
def test_a_bad_line_in_ones_own_file_is_an_error(vault: Path, own: Path, text: str) -> None:
    own.write_text(text)
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        config.load(str(vault))
    ended = on(vault, "sync", "--no-embed", "--format", "text")
    assert ended.code == 1
    one_line(ended)


@each_case("text", BAD)
def test_a_bad_line_in_a_vault_is_a_warning(vault: Path, theirs: Path, text: str) -> None:
    theirs.write_text(text)
    settings = config.load(str(vault))
    assert len(settings.warnings) == 1
    ended = on(vault, "sync", "--no-embed", "--format", "text")
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
    own.write_text("embedding:\n  model: false\njobs:\n  tidy: false\n")
    assert config.load(str(vault))["embedding.model"] == "off"
    assert config.load(str(vault))["jobs.tidy"] == "off"
    own.write_text("llm:\n  key: false\n  schema: false\nconversations.summaries: false\n")
    settings = config.load(str(vault))
    assert [settings[key] for key in ("llm.key", "llm.schema", "conversations.summaries")] == [
        "off"
    ] * 3


def test_a_dialect_that_nobody_has_installed_is_named(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_DIALECT", "roam")
    ended = on(vault, "sync", "--no-embed", "--format", "text")
    assert ended.code == 1
    assert "roam" in one_line(ended)


def test_paths_are_named_as_the_walk_through_the_vault_names_them() -> None:
    """Otherwise our own page would be read as a note, and its items listed again."""
    decomposed, composed = "E\u0301te\u0301", "\u00c9t\u00e9"
    env = {"VAULTMEM_MEMORY_FOLDER": decomposed, "VAULTMEM_PENDING_PATH": f"{decomposed}/x.md"}
    found = config.load(None, env)
    assert found.text("memory_folder") == composed
    assert found.text("pending.path") == f"{composed}/x.md"


@pytest.mark.parametrize("name", ["Memory.md", "vaultmem/Expectations.md", "a/What changed.md"])
def test_the_page_is_none_of_our_other_pages(name: str) -> None:
    with pytest.raises(ConfigError, match="a page that vaultmem does not use"):
        config.load(None, {"VAULTMEM_PENDING_PATH": name})
