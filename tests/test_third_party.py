"""The dialect of the adapter guide, installed as anybody's package: found by its entry point, and right by the contract."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli_run import process
from tests.conftest import fill

GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "adapters.md"
FILES = {"vaultmem_foam.py": "python", "pyproject.toml": "toml"}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package of the guide, built and installed by pip."""
    folder = tmp_path_factory.mktemp("foam")
    text = GUIDE.read_text("utf-8")
    for name, language in FILES.items():
        (block,) = re.findall(rf"```{language}\n(.+?)```", text, re.DOTALL)
        (folder / name).write_text(block, "utf-8")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation",
         "--disable-pip-version-check", "--root-user-action=ignore", "--target", "packages", "."],
        cwd=folder, check=True, timeout=120,
    )  # fmt: skip
    return folder / "packages"


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    vault = fill(tmp_path / "my notes", {
        "boiler.md": "# The old boiler\n\nServiced by Mr Ansah.\n", ".foam/settings.json": "{}",
        "journals/2026-11-24.md": "Rang about the [[boiler]].\n",
    })  # fmt: skip
    monkeypatch.chdir(vault / "journals")
    return vault


def test_a_third_party_vault_is_read(packages: Path, vault: Path, tmp_path: Path) -> None:
    assert process("sync", "--no-embed").code == 1  # nobody here knows what .foam is
    synced = process("sync", "--no-embed", PYTHONPATH=str(packages))
    assert synced.code == 0, synced.err
    found = process("search", "--keyword", "--json", "Ansah", PYTHONPATH=str(packages))
    (result,) = found.data["results"]
    assert result["title"] == "The old boiler"
    assert result["uri"] == f"vscode://file{tmp_path}/my%20notes/boiler.md"
    links = process("backlinks", "--json", "boiler", PYTHONPATH=str(packages))
    assert "journals/2026-11-24.md" in links.out
    other = tmp_path / "other"
    (other / ".obsidian").mkdir(parents=True)
    config = fill(tmp_path / "config", {"vaultmem/config.yaml": f"vault: {other}\n"})
    again = process("status", "--json", XDG_CONFIG_HOME=str(config))
    assert again.data["vault"] == str(vault)  # it was synced before


def test_the_dialect_keeps_the_contract(packages: Path) -> None:
    """And with it among them, the rulebook of all dialects; the two of ours are tested elsewhere."""
    contract = Path(__file__).parent / "contract" / "test_dialects.py"
    code = f"import sys; sys.path.insert(0, {str(packages)!r}); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    asked = subprocess.run(
        [sys.executable, "-c", code, "-q", "-p", "no:cacheprovider", str(contract), "--rows", "-k", "foam or rulebook"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert asked.returncode == 0, asked.stdout
    assert int(re.findall(r"(\d+) passed", asked.stdout)[0]) > 5
