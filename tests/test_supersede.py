"""What is newer wins: a new statement replaces the older one it contradicts, and no other."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import pairs
from tests.stand_in_view import NOW, StandInView, memory_file
from vaultmem import Vault
from vaultmem.dreams.short_texts import is_event, is_working_note
from vaultmem.dreams.supersede import (
    REPLACES,
    SAME,
    may_contradict,
    relations,
    supersede,
)
from vaultmem.errors import NoteNotFoundError

KNOWN = [
    "The user lives in Bristol.", "The Heron API listens on port 8080.",
    "The alarm threshold of the gauge is 3.2 m.", "The repository of Heron is on GitHub.", "Anne lives in Ghent.",
    "The user is allergic to peanuts.", "用户住在上海。", "The alarm of hive 3 is loud.",
]  # fmt: skip


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Moved to Porto", "The user lives in Bristol.|用户住在上海。"),
        ("Heron's API port is 9090 now.", "The Heron API listens on port 8080."),
        ("Lowered the alarm threshold of the gauge to 2.8 m", "The alarm threshold of the gauge is 3.2 m."),
        ("Heron's repository moved to Codeberg.", "The repository of Heron is on GitHub."),
        ("我上周搬到杭州了。", "The user lives in Bristol.|用户住在上海。"),
        ("Correction: Anne lives in Bruges", "Anne lives in Ghent."),
        ("Sorry, I was wrong about Anne: she and Tom are fine", None),
        ("更正一下：我住在杭州", "用户住在上海。"),
        ("The user is allergic to penicillin.", None),
        ("Tom lives in Antwerp.", None),
        ("The alarm of hive 4 is loud.", None),
        ("Anne lives near the river in Ghent.", None),
        ("Moved the sofa to the attic yesterday.", None),
        ("Heron's API now listens on port 9090 instead of 8080.", "The Heron API listens on port 8080."),
        ("Correction: the threshold of the gauge alarm is 3.4 m, not 3.2 m.", "The alarm threshold of the gauge is 3.2 m."),
        ("Heron moved from Render to Fly.", None),
        ("Tom lives from home on Tuesdays.", None),
        ("Session: moved the port of Heron around", None),
    ],
)  # fmt: skip
def test_a_new_statement_replaces_what_it_contradicts_and_nothing_else(
    new: str, old: str | None
) -> None:
    found = [
        text
        for text, each in zip(KNOWN, relations(new, KNOWN), strict=True)
        if each.kind == REPLACES
    ]
    assert found == ([] if old is None else old.split("|"))


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("Wei lives in Berlin and has two cats.", "Wei moved to Shanghai.", "apart"),
        ("Anna works at Acme, plays the cello and is married.", "Anna works at Umbrella now.", "apart"),
        ("小李住在北京，养了两只猫。", "小李搬到上海了。", "apart"),
        ("I live in Vienna, in a flat near the river and the park.", "I live in Graz now.", REPLACES),
        ("Our API runs on Postgres 14 and Redis.", "Our API runs on MySQL now.", REPLACES),
        ("我的编辑是王芳", "我的编辑换成了李雷", REPLACES),
    ],
)  # fmt: skip
def test_what_states_more_than_one_thing_is_not_replaced_but_named(
    old: str, new: str, kind: str
) -> None:
    (relation,) = relations(new, [old])
    assert relation.kind == kind
    assert may_contradict(old, new)


def test_on_pairs_that_nothing_was_fitted_on_it_is_right_nearly_always() -> None:
    """The floor of benchmarks/pairs.py, without a model."""
    right = taken = of = 0
    for case in pairs.cases():
        if not case.held:
            continue
        for label, each in zip(case.labels, relations(case.new, case.olds), strict=True):
            of += label == REPLACES
            taken += each.kind == REPLACES
            right += label == each.kind == REPLACES
    assert right / taken >= 0.94
    assert right / of >= 0.6  # what only shares its subject is kept: what is true must not go


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("My editor is Katrin", "Katrin left; my new editor is Tom", REPLACES),
        ("My dentist is Dr. Weber", "Dr. Weber retired, so my dentist is now Dr. Huber", REPLACES),
        ("I live in Berlin", "The flat got too small and I moved to Vienna", REPLACES),
        ("Meine Lektorin ist Katrin", "Katrin hat aufgehört, meine neue Lektorin ist Tina", REPLACES),
        ("我的编辑是王芳", "王芳离职了，我的新编辑是李明", REPLACES),
        ("乔纳斯不吃肉", "乔纳斯又吃肉了", REPLACES),
        ("Bob stopped smoking", "Bob smokes again", REPLACES),
        ("Bob gave up meat", "Bob eats meat again", REPLACES),
        ("Bob hat aufgehört zu klettern", "Bob will wieder klettern", REPLACES),
        ("Bob stopped smoking", "Bob quit smoking", "apart"),
        ("Bob stopped smoking", "Bob runs again", "apart"),
        ("I live in Berlin", "Die Wohnung war zu klein, ich bin nach Wien gezogen", REPLACES),
        ("Eva lebt seit Mai in Hamburg", "Eva ist nach Bremen gezogen", REPLACES),
        ("Mein Onkel wohnt in Köln", "Mein Onkel ist nach Bonn umgezogen", REPLACES),
        ("Tom wohnt in Köln", "Eva ist nach Bonn gezogen", "apart"),
        ("Tom is my brother", "Katrin left; my new editor is Tom", "apart"),
        ("My doctor is Dr. Lee", "Katrin left; my new editor is Tom", "apart"),
        ("Katrin likes tea", "Katrin left; my new editor is Tom", "apart"),
    ],
)  # fmt: skip
def test_a_change_may_stand_in_any_clause(old: str, new: str, kind: str) -> None:
    assert relations(new, [old])[0].kind == kind
    assert relations(new, ["The roof leaks", old])[1].kind == kind


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


def test_changes_are_understood_in_german_too() -> None:
    """By the words of words.toml alone: no weight was fitted on German."""
    rows = [row.split("\t") for row in (pairs.HERE / "german.tsv").read_text("utf-8").splitlines()]
    kinds = [(label, relations(new, [old])[0].kind) for label, old, new in rows]
    right = kinds.count((REPLACES, REPLACES))
    assert right / sum(kind == REPLACES for _, kind in kinds) >= 0.93
    assert right / sum(label == REPLACES for label, _ in kinds) >= 0.8


@given(st.lists(st.text(max_size=60), max_size=8), st.text(max_size=60))
def test_any_texts_are_compared_and_what_is_repeated_replaces_nothing(
    olds: list[str], new: str
) -> None:
    assert len(relations(new, olds)) == len(olds)
    again = relations(new, [*olds, new])
    assert again[-1].kind in (SAME, "apart")


def test_kinds() -> None:
    """No fact is taken for an event: that would be forgotten."""
    lines = (Path(__file__).parent / "data" / "kinds.tsv").read_text("utf-8").splitlines()
    for kind, text in (line.split("\t") for line in lines):
        found = "working" if is_working_note(text) else "event" if is_event(text) else "fact"
        assert found == {"preference": "fact"}.get(kind, kind), text


# --- at the doors


def test_writing_puts_the_newer_one_in_place_and_undo_takes_that_back(
    vault: Path, opened: Vault
) -> None:
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


def test_an_archived_memory_can_be_replaced_too(vault: Path, opened: Vault) -> None:
    old = opened.write("The boiler is a Vaillant", category="knowledge")
    opened.delete(old["id"])
    new = opened.write("The heat pump is a Daikin", replaces=old["id"])
    assert new["created"]
    (gone,) = opened.memories(deleted=True)
    assert f"replaced_by={new['id']}" in (vault / gone["path"]).read_text("utf-8")


def test_a_text_that_is_there_already_takes_the_place_of_the_memory_that_is_named(
    vault: Path, opened: Vault
) -> None:
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
def test_what_another_scope_project_or_page_says_replaces_nothing(
    opened: Vault, apart: dict[str, str]
) -> None:
    old = opened.write("The API listens on port 8080.", project="heron")
    given = {"project": "heron", **apart}
    new = opened.write("The API listens on port 9090 now.", **given)  # type: ignore[arg-type]
    assert new["replaced"] == []
    assert old["id"] in {memory["id"] for memory in opened.memories()}


def test_a_dream_lets_the_newer_one_win_where_writing_did_not_see_it() -> None:
    files = dict([
        memory_file("project/Old", "The API listens on port 8080.", 5),
        memory_file("project/New", "The API listens on port 9090 now.", 1),
        memory_file("people/Anne", "Anne lives in Ghent.", 5),
    ])  # fmt: skip
    plan, after = StandInView(files).run(supersede)
    assert [change.target for change in plan.changes] == ["vaultmem/archive/Old.md"]
    assert after.run(supersede)[0].changes == ()


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
    compared: list[str] = []

    def counted(new: str, *others: Any) -> Any:
        compared.append(new.strip())
        return relations(new, *others)

    with Vault(str(tmp_path)) as vault:
        monkeypatch.setenv("VAULTMEM_NOW", f"{time.time() - 60 * 86_400:.0f}")
        texts = [f"The {name} API listens on port 80{name}." for name in ("10", "20", "30")]
        files = [vault.write(text, category="project")["path"] for text in texts]
        monkeypatch.delenv("VAULTMEM_NOW")
        vault.dream(2)  # files of now, which may still be written
        for file in files:
            os.utime(tmp_path / file, (time.time() - 3_600,) * 2)
        monkeypatch.setattr("vaultmem.dreams.supersede.relations", counted)
        vault.dream(2)
        assert compared == []
        os.utime(tmp_path / files[1])
        vault.dream(2)
        assert compared == texts[1:2]


def test_a_doubt_is_a_question_of_the_dream_and_changes_nothing() -> None:
    files = dict([
        memory_file("people/Old", "My dentist is Dr. Moss", 5),
        memory_file("people/New", "My dentist is Dr. Lee", 1),
        memory_file("people/Anne", "Anne lives in Ghent.", 5),
        memory_file("people/Tom", "Tom works at Siemens.", 4),
        memory_file("people/Diet", "Jonas is vegetarian", 5),
        memory_file("people/Meat", "Jonas eats meat again", 1),
        memory_file("people/Tennis", "Jonas plays tennis again", 2),
    ])  # fmt: skip
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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Anne's sister is called Marta", "Marta moved to Ghent in the spring"),
        ("Our vet is Kofi", "Kofi changed his phone number to 555-123"),
        ("My dentist is Dr Okafor", "Dr Okafor moved to Leeds last month"),
        ("Leo is married", "Leo moved to Lodz"),
        ("Xara is 34", "Xara moved to Lodz"),
        ("The server is fast", "The server moved to Hetzner"),
        ("Eva is vegetarian", "Eva switched to Linux"),
        ("Ida is our landlady", "Ida now works at Bosch"),
        ("Marta works at Shell", "Marta moved to Ghent"),
        ("Ben lives in Oslo", "Olaf moved to Oslo"),
        ("小丽是医生", "小丽搬到了上海"),
        ("小刚三岁", "小刚搬到了北京"),
        ("My GP is Dr. Larsen.", "My new dentist is Dr. Moss."),
        ("Hugo's brother lives in Kiel.", "Hugo's sister lives in Bonn now."),
        ("The alarm code of the office is 1234.", "The alarm code of the flat is now 9876."),
        ("The deadline of Heron is 13 November.", "The deadline of Osprey moved to 20 November."),
        ("Nils is allergic to cashews.", "Nils is now allergic to pollen."),
        ("I speak French.", "I speak Spanish now."),
        (
            "Ordered: a viola for Jonas, 41.5 cm, spruce top",
            "The spruce for Jonas's viola is from Val di Fiemme, cut in 2009",
        ),
        (
            "The maple for Keiko's violin is from Bosnia",
            "The violin for Keiko got its second coat of varnish",
        ),
        ("小宝对花生过敏。", "小宝现在对花粉也过敏。"),
        ("办公室的门禁密码是1234。", "家里的门禁密码改成了9876。"),
    ],
)
def test_what_tells_something_else_of_the_same_takes_nothing_away(old: str, new: str) -> None:
    assert [relation.kind for relation in relations(new, [old])] == ["apart"]
    others = [old, "The roof leaks", "Tom works at Siemens"]
    assert [relation.kind for relation in relations(new, others)] == ["apart"] * 3
    assert not may_contradict(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Project Atlas uses Postgres 14.", "Project Atlas uses Postgres 16."),
        ("We run Node 18 in production.", "We run Node 20 in production."),
        ("My office is in building 3.", "My office is in building 7."),
    ],
)
def test_another_number_of_a_thing_may_be_a_change_and_is_left_to_the_person(
    old: str, new: str
) -> None:
    assert may_contradict(old, new)
    assert [relation.kind for relation in relations(new, [old])] == ["apart"]
    assert not may_contradict("Sensor 2 is in the barn.", "Sensor 3 is in the barn.")
    assert not may_contradict("Team 3 meets on Monday.", "Team 4 meets on Friday.")
    for relation in relations("Team 4 meets in the big room.", ["Team 3 meets in the big room."]):
        assert (relation.kind, relation.is_doubtful) == ("apart", False), "two teams say two things"


def test_who_is_called_so_has_that_name_and_of_several_it_is_true_of_each() -> None:
    called, named = "Anne's sister is called Marta", "Anne's sister's name is Marta"
    for old, new in (
        (called, named),
        (named, called),
        ("The name of Anne's sister is Marta", called),
    ):
        assert [relation.kind for relation in relations(new, [old])] == ["same"]
        assert not may_contradict(old, new)
    assert may_contradict(called, "Anne's sister's name is Greta")
    (moved,) = relations("Ben and Clara moved to Bergen", ["Clara lives in Oslo"])
    assert moved.contradicts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The meeting is on Monday", "The meeting moved to Tuesday"),
        ("The office is in Berlin", "The office moved to Munich"),
        ("Choir rehearsal is on Tuesdays in the chapel", "Choir is on Wednesdays in the Grieg hall now"),
        ("Leo is single", "Leo is married now"),
        ("小明住在北京", "小明搬到了上海"),
        ("Lina's school starts at 8:00.", "Lina's school starts at 7:45 from now on."),
        ("The user takes cow's milk in her coffee.", "I take oat milk in my coffee now."),
        ("Decision: Atlas is written with Django.", "Decision: Atlas uses FastAPI instead of Django."),
        ("Mara's stand-up at Kite is daily at 9:30.", "Stand-up at Kite moved to 10:15."),
        ("Nils is allergic to cashews.", "Nils is no longer allergic to cashews."),
        ("The orchestra has 25 members.", "The orchestra has 31 members now."),
        ("Paul smokes", "Paul does not smoke any more"),
    ],
)  # fmt: skip
def test_what_tells_another_value_of_the_same_takes_its_place(old: str, new: str) -> None:
    assert [relation.kind for relation in relations(new, [old])] == [REPLACES]
