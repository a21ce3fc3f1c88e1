"""Many files of one name: links to it are counted rightly, and quickly."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import is_linear
from tests.index_dump import catalog_dump, synced
from tests.laws import examples
from tests.obsidian_notes import rules
from vaultmem.notes.dialects import Rulebook

FOLDERS = ("", "a/", "a/b/", "A/b/", "b/", "c/a/b/", "c/é/", "c/e\u0301/")
LINKS = (
    "x", "X.md", "a/x", "b/x", "/x", "/a/x", "./x", "../x", "../b/x", "é/x", "none/x", "a/../b/x",
)  # fmt: skip


@given(
    link=st.sampled_from(LINKS),
    home=st.sampled_from(FOLDERS),
    folders=st.lists(st.sampled_from(FOLDERS), unique=True, max_size=len(FOLDERS)),
)
@example(link="b/x", home="", folders=["a/b/", "c/a/b/", "b/", "a/"])
@settings(max_examples=examples(300))
def test_a_link_has_as_many_choices_as_files_it_could_mean_alone(
    link: str, home: str, folders: list[str]
) -> None:
    door, source = rules(), f"{home}n.md"
    candidates = [f"{folder}x.md" for folder in folders]
    alone = [
        candidate for candidate in candidates if door.resolve(link, "x.md", source, [candidate])
    ]
    found = Rulebook([((), door)]).resolve(link, "0:x.md", source, [candidates])
    assert found.choices == len(alone)
    assert found.path == door.resolve(link, "x.md", source, candidates)
    assert found.path is None if not alone else found.path in alone


def test_equal_links_of_one_folder_lead_to_one_file_and_of_another_elsewhere(
    tmp_path: Path,
) -> None:
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "n.md").write_text("[[x]] [[x]] [[b/x]] [[./x]]")
    (tmp_path / "a" / "x.md").touch()
    (tmp_path / "b" / "x.md").touch()
    synced(tmp_path)
    told = [(row[0], row[3], row[8], row[10]) for row in catalog_dump(tmp_path)["links"]]
    assert sorted(told, key=str) == sorted(
        [
            *[("a/n.md", "x", "a/x.md", 2)] * 2,
            *[("b/n.md", "x", "b/x.md", 2)] * 2,
            *[("c/n.md", "x", "a/x.md", 2)] * 2,
            *[(f"{folder}/n.md", "b/x", "b/x.md", 1) for folder in "abc"],
            ("a/n.md", "./x", "a/x.md", 1),
            ("b/n.md", "./x", "b/x.md", 1),
            ("c/n.md", "./x", None, 0),
        ],
        key=str,
    )


def _filled(root: Path, folders: int, text: str) -> Path:
    (root / ".obsidian").mkdir(parents=True)
    for number in range(folders):
        (root / f"d{number}").mkdir()
        (root / f"d{number}" / "x.md").write_text(text.format(number))
    return root


@pytest.mark.parametrize("text", ["[[x]] " * 10, "[[d{0}/x]] " * 10])
def test_a_name_of_many_files_takes_little_longer_for_each(tmp_path: Path, text: str) -> None:
    synced(_filled(tmp_path / "first", 5, text))  # what only the first run has to load
    roots = {folders: _filled(tmp_path / str(folders), folders, text) for folders in (50, 400)}
    assert is_linear(lambda folders: synced(roots[folders], rebuild=True), *roots)
