"""What is newer wins: a new statement replaces the older one it contradicts, and no other; what says the same in other
words is recognised."""

import os
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import pairs
from tests.cli_run import ran
from tests.stand_in_view import NOW, StandInView, memory_file
from vaultmem import Vault
from vaultmem.dreams import paraphrase
from vaultmem.dreams.short_texts import is_event, is_working_note, read
from vaultmem.dreams.supersede import (
    REPLACES,
    SAME,
    relations,
    supersede,
)
from vaultmem.errors import NoteNotFoundError

DATA = Path(__file__).parent / "data"


def rows(name: str | Path) -> list[list[str]]:
    return [line.split("\t") for line in (DATA / name).read_text("utf-8").splitlines()]


KNOWN = [
    "The user lives in Bristol.", "The Heron API listens on port 8080.",
    "The alarm threshold of the gauge is 3.2 m.", "The repository of Heron is on GitHub.", "Anne lives in Ghent.",
    "The user is allergic to peanuts.", "用户住在上海。", "The alarm of hive 3 is loud.",
]  # fmt: skip


@pytest.mark.parametrize(("new", "old"), rows("replaced.tsv"))
def test_a_new_statement_replaces_what_it_contradicts_and_nothing_else(new: str, old: str) -> None:
    told = zip(KNOWN, relations(new, KNOWN), strict=True)
    assert "|".join(text for text, each in told if each.kind == REPLACES) == old


SHORT = st.text(alphabet="ab 12.是不小王说:“", max_size=40)
OTHERS = ["The roof leaks", "Tom works at Siemens"]


def is_named(old: str, new: str) -> bool:
    """Whether the person is asked which of the two holds."""
    (relation,) = relations(new, [old])
    return relation.contradicts or relation.is_doubtful


@pytest.mark.parametrize(("kind", "old", "new"), rows("relations.tsv"))
def test_only_a_change_an_end_or_a_value_replaces(kind: str, old: str, new: str) -> None:
    """Alone and among others. What is "named" may be a change, and is left to the person."""
    wanted = REPLACES if kind == REPLACES else "apart"
    assert [one.kind for one in relations(new, [old])] == [wanted]
    beside = [one.kind for one in relations(new, [OTHERS[0], old, OTHERS[1]])]
    assert beside == ["apart", wanted, "apart"]
    if kind != REPLACES:
        assert is_named(old, new) == (kind == "named")


def test_a_name_that_many_have_in_common_replaces_nothing() -> None:
    things = "saw drill lamp rope tent axe hammer ladder vice plane file level".split()
    others = [f"The {thing} is in box {number}" for number, thing in enumerate(things)]
    known = ["Greta is my aunt", "Greta wants a cat", "Greta takes 5 mg of ramipril"]
    new = "Greta is away since Monday"
    assert relations(new, [known[0], *others])[0].kind == REPLACES, "the name alone suffices"
    assert {one.kind for one in relations(new, [*known, *others])} == {"apart"}


def test_on_pairs_that_nothing_was_fitted_on_it_is_right_nearly_always() -> None:
    """The floor of benchmarks/pairs.py, without a model."""
    replaced, same = [], []
    for case in pairs.cases():
        if case.held:
            told = relations(case.new, case.olds)
            for old, label, each in zip(case.olds, case.labels, told, strict=True):
                replaced.append((label == REPLACES, each.kind == REPLACES))
                same.append((label == pairs.SAME, paraphrase.is_same(old, case.new)))
    # what only shares its subject is kept: what is true must not go
    for found, precision, recall in ((replaced, 0.94, 0.6), (same, 0.95, 0.28)):
        right = found.count((True, True))
        assert right / sum(is_taken for _, is_taken in found) >= precision
        assert right / sum(is_right for is_right, _ in found) >= recall


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ("I live in Vienna", "Ich wohne in Wien", "Ich wohne jetzt in Wien"),
        ("Ich wohne in Wien", "I live in Vienna", "I now live in Vienna"),
    ],
)
def test_a_place_in_another_language_may_be_the_same(old: str, new: str, change: str) -> None:
    for olds in ([old], ["The roof leaks", old]):
        relation = relations(new, olds)[-1]
        assert (relation.kind, relation.is_doubtful) == ("apart", True), "named, and both stay"
    assert relations(change, [old])[0].kind == REPLACES


def test_a_move_in_another_script_ends_where_one_lived() -> None:
    """里斯本 may be Lisbon, so that only a change is one, and nothing else asks the person anything."""
    (stays,) = relations("我住在里斯本", ["I live in Lisbon"])
    assert (stays.kind, stays.is_doubtful) == ("apart", False)
    for old, new in (("I live in Hamburg", "我搬到柏林了"), ("我住在汉堡", "I moved to Berlin")):
        assert relations(new, [old])[0].kind == REPLACES
        assert (
            relations(new, [old.replace("I live", "Anne lives").replace("我", "小王")])[0].kind
            == "apart"
        )
        files = dict([memory_file("people/Old", old, 5), memory_file("people/New", new, 1)])
        plan, _ = StandInView(files).run(supersede)
        assert [change.target for change in plan.changes] == ["vaultmem/archive/Old.md"]


def test_changes_are_understood_in_german_too() -> None:
    """By the words of words.toml alone: no weight was fitted on German."""
    german = rows(pairs.HERE / "german.tsv")
    kinds = [(label, relations(new, [old])[0].kind) for label, old, new in german]
    right = kinds.count((REPLACES, REPLACES))
    assert right / sum(kind == REPLACES for _, kind in kinds) >= 0.93
    assert right / sum(label == REPLACES for label, _ in kinds) >= 0.8


@given(st.lists(st.text(max_size=60), max_size=8), st.text(max_size=60))
def test_any_texts_compare_and_repetition_replaces_nothing(olds: list[str], new: str) -> None:
    assert len(relations(new, olds)) == len(olds)
    again = relations(new, [*olds, new])
    assert again[-1].kind in (SAME, "apart")


@pytest.mark.parametrize(("text", "numbers"), [
    ("on 3 May 2027", {"3", "may"}), ("am 3. Mai 2027", {"3"}), ("2027年3月5日", {"3", "5"}), ("in 2026", {"2026"}),
    ("the 3 rooms cost 1950 francs", {"3", "1950"}), ("die Miete der 3 Zimmer ist 2049 Franken", {"3", "2049"}),
])  # fmt: skip
def test_only_a_date_has_a_year_beside_other_numbers(text: str, numbers: set[str]) -> None:
    assert read(text).numbers == numbers


def test_kinds() -> None:
    """No fact is taken for an event: that would be forgotten."""
    for kind, text in rows("kinds.tsv"):
        found = "working" if is_working_note(text) else "event" if is_event(text) else "fact"
        assert found == {"preference": "fact"}.get(kind, kind), text


@given(SHORT, SHORT)
def test_it_is_the_same_in_both_directions(one: str, other: str) -> None:
    assert paraphrase.score(one, other) == pytest.approx(paraphrase.score(other, one))


@pytest.mark.parametrize("pair", [("👍", "👎"), ("...", "🎉"), ("?", "Anne likes tea")])
def test_texts_of_punctuation_alone_are_not_the_same(pair: tuple[str, str]) -> None:
    assert not paraphrase.is_same(*pair, 0.99)


# --- at the doors


def test_writing_puts_the_newer_in_place_until_an_undo(vault: Path, opened: Vault) -> None:
    old = opened.write("The user lives in Bristol.", category="people")
    new = opened.write("Moved to Porto")
    assert (new["replaced"], new["contradicts"][0]["id"]) == ([old["id"]], old["id"])
    assert [memory["id"] for memory in opened.memories()] == [new["id"]]
    gone = opened.memories(deleted=True)
    assert [one["id"] for one in gone] == [old["id"]]
    text = (vault / gone[0]["path"]).read_text("utf-8")
    assert f"replaced_by={new['id']}" in text
    assert "until: " in text
    opened.undo(last=True)
    assert [memory["id"] for memory in opened.memories()] == [old["id"]]


def test_whom_an_assistant_does_not_name_is_the_user(opened: Vault) -> None:
    """The person means somebody else."""
    hers = opened.write("She manages her references in Zotero.", by="claude")
    opened.write("I've switched from Zotero to Citavi.")
    theirs = opened.write("She keeps her recipes in Paprika.")
    opened.write("I've switched from Paprika to Mela.")
    living = {memory["id"] for memory in opened.memories()}
    assert hers["id"] not in living
    assert theirs["id"] in living


def test_an_archived_memory_can_be_replaced_too(vault: Path, opened: Vault) -> None:
    old = opened.write("The boiler is a Vaillant", category="knowledge")
    opened.delete(old["id"])
    new = opened.write("The heat pump is a Daikin", replaces=old["id"])
    assert new["created"]
    (gone,) = opened.memories(deleted=True)
    assert f"replaced_by={new['id']}" in (vault / gone["path"]).read_text("utf-8")


def test_a_known_text_takes_the_place_of_the_memory_named(vault: Path, opened: Vault) -> None:
    old = opened.write("The boiler is a Vaillant", category="knowledge")
    there = opened.write("The heat pump is a Daikin")
    with pytest.raises(NoteNotFoundError):
        opened.write("The heat pump is a Daikin", replaces="nothing like it")
    planned = opened.write("The heat pump is a Daikin", replaces=old["id"], dry_run=True)
    assert [one["target"] for one in planned["changes"]] == [
        "vaultmem/archive/The boiler is a Vaillant.md"
    ]
    assert len(opened.memories()) == 2
    again = opened.write("The heat pump is a Daikin", replaces=old["id"])
    assert (again["created"], again["duplicate_of"]) == (False, there["id"])
    assert again["replaced"] == [old["id"]]
    assert [memory["id"] for memory in opened.memories()] == [there["id"]]
    (gone,) = opened.memories(deleted=True)
    assert f"replaced_by={there['id']}" in (vault / gone["path"]).read_text("utf-8")
    for named in (old["id"], there["id"]):  # once more, and itself: nothing is left to do
        assert "replaced" not in opened.write("The heat pump is a Daikin", replaces=named)
    opened.undo(last=True)
    assert {memory["id"] for memory in opened.memories()} == {old["id"], there["id"]}


@pytest.mark.parametrize(
    "apart",
    [{"scope": "agent:claude"}, {"project": "otter"}, {"source": "https://example.org"}],
    ids=["another scope", "another project", "from outside"],
)
def test_another_scope_project_or_page_replaces_none(opened: Vault, apart: dict[str, str]) -> None:
    old = opened.write("The API listens on port 8080.", project="heron")
    given = {"project": "heron", **apart}
    new = opened.write("The API listens on port 9090 now.", **given)  # type: ignore[arg-type]
    assert new["replaced"] == []
    assert old["id"] in {memory["id"] for memory in opened.memories()}


def test_old_memories_are_compared_when_they_are_imported() -> None:
    files = dict([
        memory_file("project/Old", "The API listens on port 8080.", 50),
        memory_file("project/New", "The API listens on port 9090 now.", 40),
    ])  # fmt: skip
    assert StandInView(files).run(supersede)[0].changes == ()
    imported = {path: file._replace(mtime=NOW.timestamp()) for path, file in files.items()}
    plan, _ = StandInView(imported).run(supersede)
    assert [change.target for change in plan.changes] == ["vaultmem/archive/Old.md"]


def test_what_a_dream_has_compared_is_not_compared_again_for_the_time_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restore or a clone all files are new."""
    (tmp_path / ".obsidian").mkdir()
    compared = Mock(wraps=relations)
    with Vault(str(tmp_path)) as vault:
        monkeypatch.setenv("VAULTMEM_NOW", f"{time.time() - 60 * 86_400:.0f}")
        texts = [f"The {name} API listens on port 80{name}." for name in ("10", "20", "30")]
        files = [vault.write(text, category="project")["path"] for text in texts]
        monkeypatch.delenv("VAULTMEM_NOW")
        vault.dream(2)  # files of now, which may still be written
        for file in files:
            os.utime(tmp_path / file, (time.time() - 3_600,) * 2)
        monkeypatch.setattr("vaultmem.dreams.supersede.relations", compared)
        vault.dream(2)
        compared.assert_not_called()
        os.utime(tmp_path / files[1])
        vault.dream(2)
        assert [one.args[0].strip() for one in compared.mock_calls] == texts[1:2]


def test_a_doubt_is_a_question_of_the_dream_and_changes_nothing() -> None:
    files = [
        memory_file("people/Old", "My dentist is Dr. Moss", 5),
        memory_file("people/New", "My dentist is Dr. Lee", 1),
        memory_file("people/Anne", "Anne lives in Ghent.", 5),
        memory_file("people/Tom", "Tom works at Siemens.", 4),
        memory_file("people/Diet", "Jonas is vegetarian", 5),
        memory_file("people/Meat", "Jonas eats meat again", 1),
        memory_file("people/Tennis", "Jonas plays tennis again", 2),
    ]  # fmt: skip
    view = StandInView(files)
    view.cosines = lambda one, other: 0.7 if "tennis" not in one + other else 0.4
    plan, _ = view.run(supersede)
    assert plan.changes == ()
    assert {
        (finding["kind"], finding["said"], tuple(finding["others"])) for finding in plan.findings
    } == {
        ("contradiction", f"“{new}” against “{old}” in [[{name}]]", (f"vaultmem/people/{name}.md",))
        for name, old, new in (
            ("Old", "My dentist is Dr. Moss", "My dentist is Dr. Lee"),
            ("Diet", "Jonas is vegetarian", "Jonas eats meat again"),
        )
    }


def test_two_numbered_things_are_no_doubt() -> None:
    (relation,) = relations("Team 4 meets in the big room.", ["Team 3 meets in the big room."])
    assert (relation.kind, relation.is_doubtful) == ("apart", False)


def test_who_is_called_so_has_that_name_and_of_several_it_is_true_of_each() -> None:
    called, named = "Anne's sister is called Marta", "Anne's sister's name is Marta"
    for old, new in (
        (called, named),
        (named, called),
        ("The name of Anne's sister is Marta", called),
    ):
        assert [relation.kind for relation in relations(new, [old])] == ["same"]
        assert not is_named(old, new)
    assert is_named(called, "Anne's sister's name is Greta")
    (moved,) = relations("Ben and Clara moved to Bergen", ["Clara lives in Oslo"])
    assert moved.contradicts


@pytest.mark.parametrize(
    ("first", "second", "third"),
    [
        ("The user prefers pytest.", "User likes pytest better than unittest.", "User likes tea."),
        ("我的经理是刘洋。", "刘洋是我的经理。", "我的医生是孙医生。"),
    ],
)
def test_what_two_assistants_say_is_named_merged_and_parted_again(
    vault: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str, third: str
) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")

    def run(*words: str) -> Any:
        given = words[0], "--vault", str(vault), "--format", "json", *words[1:]
        ended = ran(*given)
        assert ended.code == 0, ended.err
        return ended.data

    one = run("write", first, "--by", "claude")
    run("write", third, "--by", "claude")
    other = run("write", second, "--by", "codex")
    assert [(same["id"], same["merges"]) for same in other["same_as"]] == [(one["id"], True)]
    before = {path: path.read_bytes() for path in vault.glob("vaultmem/*/*.md")}
    run("dream", "--level", "2")
    living = {memory["id"] for memory in run("list")["memories"]}
    assert len(living) == 2
    (remaining,) = living & {one["id"], other["id"]}  # the older one; the times may be equal
    (gone,) = vault.glob("vaultmem/archive/*.md")
    assert f"replaced_by={remaining}" in gone.read_text("utf-8")
    run("undo", "--last")
    (page,) = vault.glob("vaultmem/sync/*.md")  # that it was undone, for other machines
    now = {path: path.read_bytes() for path in vault.glob("vaultmem/*/*.md")}
    assert now == {**before, page: now[page]}
