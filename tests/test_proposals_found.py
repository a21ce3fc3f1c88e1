"""A deep dream's proposals for a vault's notes: nothing unreasonable, an edit that touches only the place in question,
and what becomes of them."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Write
from tests.laws import examples
from vaultmem import Vault
from vaultmem.api.rpc import Reader
from vaultmem.dreams.note_names import Name, Note, Titles, names, names_in, slips
from vaultmem.errors import NoteChangedError, UsageError
from vaultmem.review import proposals
from vaultmem.review.proposals import broken_link, edit, mention, orphan
from vaultmem.search.related import Related

BODY = "Beans along the fence, and the compost behind the shed, as it was in the year before.\n"


def proposed(vault: Vault, kind: str) -> list[tuple[str, str]]:
    """A deep dream's proposals of a kind: which note, and the new text."""
    vault.sync()
    count = vault.dream(3)["proposals"]
    found = vault.proposals()
    assert count == len(found) == vault.waiting()["proposals"]
    return [(each["path"], each["new"]) for each in found if each["kind"] == kind]


def test_a_note_of_many_megabytes_is_left_alone(
    opened: Vault, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody reads it line by line, and a dream would need minutes for it."""
    write("Garden diary.md", BODY)
    write(
        "Huge.md",
        f"[[Gardne diary]] and the Garden diary.\n{BODY * (proposals.LARGEST // len(BODY) + 1)}",
    )
    read: list[int] = []
    read_note = proposals.Finder._note

    def note(finder: proposals.Finder, path: str) -> Note:
        read.append(len((note := read_note(finder, path)).text))
        return note

    monkeypatch.setattr(proposals.Finder, "_note", note)  # not a name that a later module imports
    assert proposed(opened, "broken-link") == proposed(opened, "mention") == []
    assert max(read) < 2 * len(BODY)


OTHERS = [
    ("Dec 1st, 2025", "Dec 16th, 2020"), ("Jun 1st, 2020", "Jan 1st, 2020"), ("2022-12-04", "2022-12-06"),
    ("2022_12_04", "2022-12-04"), ("2022年12月4日", "2022年11月4日"), ("Monday 4 May 2020", "Monday, 4 May 2020"),
    ("example1", "examples"), ("example1", "example2"), ("Release 1.2 of the engine", "Release 1.3 of the engine"),
    ("胸部肌肉如何训练", "肩部肌肉如何训练"), ("阿里云", "阿里云盘"), ("为什么要早起跑步", "为什么不要早起跑步"),
    ("Home", "Chrome"), ("Home", "Hope"), ("C", "C++"), ("C#", "C++"), ("Jan", "Jane"), ("internal", "external"),
    ("import settings", "export settings"), ("Team Alpha A", "Team Alpha B"), ("Garden plan", "Garden plan B"),
    ("Grafana.png", "Grafana"), ("{{title}} plan", "title plan"), ("🎬长安十二时辰", "📚长安十二时辰"),
]  # fmt: skip

SLIPS = [
    ("Grafna", "Grafana"), ("Garden plam", "Garden plan"), ("Gardne plan", "Garden plan"), ("note", "Notes"),
    ("auto-link-title", "Auto Link Title"), ("DigitalGarden", "Digital Garden"), ("Company", "Companies"),
    ("《学会提问》", "📚学会提问"), ("學習方法", "学习方法"), ("思维 导图", "思维导图"),
    ("如何使用番茄工作", "如何使用番茄工作法"), ("Release 1.2 of the engin", "Release 1.2 of the engine"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "title"), OTHERS)
def test_a_name_that_may_mean_something_else_is_no_slip(name: str, title: str) -> None:
    assert slips(name, title) is None
    assert slips(title, name) is None
    assert Titles([title]).nearest(name) == ()


@pytest.mark.parametrize(("name", "title"), SLIPS)
def test_typos_are_recognised_in_both_directions(name: str, title: str) -> None:
    assert slips(name, title) is not None
    assert slips(name, title) == slips(title, name)
    assert Titles([title, "Something else"]).nearest(name) == (title,)


def test_of_two_titles_that_are_equally_near_none_is_meant() -> None:
    assert Titles(["Gardens", "Garden-s"]).nearest("gardens") == ()
    assert Titles(["Garden plan", "Garden play"]).nearest("Garden plax") == ()
    assert Titles(["Garden plan", "Gardenplan"]).nearest("Garden plam") == ("Garden plan",)


def test_links_to_days_and_links_in_templates_stay_as_they_are(opened: Vault, write: Write) -> None:
    write("Garden plan.md", BODY)
    write("2022-12-06.md", BODY)
    write("Index.md", "[[2022-12-04]] [[Dec 6th, 2022]] [[Gardenplan]]\n")
    write("Forms/Daily.md", "[[Gardenplan]] of {{date}}\n")
    write("Templates/Week.md", "[[Gardenplan]]\n")
    assert proposed(opened, "broken-link") == [("Index.md", "Garden plan")]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("We publish with Publishing now", ["Publishing"]),
        ("Publishing the app takes long", []),
        ("- Publishing: how", []),
        ("Done. Publishing is next", []),
        ("PUBLISHING and publishing", []),
        ("It runs on GitHub; GitHub is down", ["GitHub"]),
        ("copy all pages", []),
        ("in the right sidebar", ["Right sidebar"]),
        ("- Right sidebar: open it", []),
        ("保留上下文的关系，并做思维导图", ["思维导图"]),
    ],
)
def test_words_are_names_only_where_they_are_meant_so(line: str, found: list[str]) -> None:
    wanted = names(["Publishing", "GitHub", "All pages", "Right sidebar", "上下文", "思维导图"])
    assert [name.title for name in names_in(line, line, wanted)] == found


def test_mentions_are_proposed_in_ordinary_notes_only(opened: Vault, write: Write) -> None:
    write("Garden plan.md", BODY)
    text = "We spoke of the garden plan.\n"
    write("Meeting.md", text)
    write("Templates/Meeting of.md", text)
    write("Forms/Note.md", f"---\nday: {{{{date}}}}\n---\n{text}")
    write("Board.md", f"---\nkanban-plugin: board\n---\n{text}")
    assert proposed(opened, "mention") == [("Meeting.md", "[[garden plan]]")]


def test_what_says_nothing_and_templates_are_no_duplicates(opened: Vault, write: Write) -> None:
    empty = f"---\ntags: [{'a, ' * 60}a]\n---\nshort\n"
    form = "# {{title}}\n" + BODY
    for folder, text in (("Music", empty), ("Forms", form), ("模板", BODY)):
        write(f"{folder}/One.md", text)
        write(f"{folder}/Two.md", text)
    write("Own/One.md", BODY + "Own.\n")
    write("Own/Two.md", BODY + "Own.\n")
    write(".obsidian/templates.json", '{"folder": "Own"}')
    assert proposed(opened, "duplicate") == []


def test_a_note_put_away_comes_back_as_it_was(vault: Path, opened: Vault, write: Write) -> None:
    write("A/Beans.md", BODY)
    gone = write("A/deep/Beans.md", BODY)
    assert proposed(opened, "duplicate") == [("A/deep/Beans.md", "A/Beans.md")]
    (one,) = opened.proposals()
    assert opened.accept(one["id"])["path"] == "vaultmem/archive/notes/A/deep/Beans.md"
    assert not gone.exists()
    assert (vault / "vaultmem/archive/notes/A/deep/Beans.md").read_text() == BODY
    assert opened.memories(deleted=True) == []
    opened.dream(3)
    opened.undo(last=True)
    assert gone.read_text() == BODY


def test_what_was_rejected_stays_so_when_its_line_changes(opened: Vault, write: Write) -> None:
    """A task that is done, another link of the line that is fixed: the proposal is the same."""
    write("Garden diary.md", BODY)
    write("Compost heap.md", "Cold.\n")
    write("Plan.md", "- [ ] Read [[Gardne diary]] of last year\nThe Compost heap is cold\n")
    assert proposed(opened, "broken-link")
    assert proposed(opened, "mention")
    for proposal in opened.proposals():
        opened.reject(proposal["id"])
    write("Plan.md", "- [x] Read [[Gardne diary]] again\nThe Compost heap is warm\n")
    assert proposed(opened, "broken-link") == proposed(opened, "mention") == []


def test_links_follow_a_note_that_was_renamed(vault: Path, opened: Vault, write: Write) -> None:
    write("Kyoto.md", BODY)
    write("Towns/Nara.md", f"{BODY}twice")
    write("Towns/Uji.md", f"{BODY}thrice")
    plan = write(
        "Plan.md", '---\ntown: "[[Kyoto]]"\n---\n![[Kyoto#Beans|there]] [[Towns/Nara]] [[Uji]]\n'
    )
    opened.sync()
    (vault / "Kyoto.md").rename(vault / "Kyōto (city).md")
    (vault / "Towns/Nara.md").unlink()
    opened.sync()
    write("Old/Nara.md", f"{BODY}twice")
    opened.sync()
    (vault / "Old").rename(vault / "Older")
    (vault / "Towns/Uji.md").unlink()
    opened.sync()
    write("Older/Nara.md", f"{BODY}changed")
    while proposed(opened, "broken-link"):
        each = opened.proposals()[0]
        assert "it is now" in str(each["said"])
        opened.accept(each["id"])
    assert plan.read_text() == (
        '---\ntown: "[[Kyōto (city)]]"\n---\n![[Kyōto (city)#Beans|there]] [[Nara]] [[Uji]]\n'
    )


def test_in_a_graph_they_follow_its_page(vault: Path, opened: Vault, write: Write) -> None:
    write("logseq/config.edn", "{:file/name-format :triple-lowbar}")
    (vault / ".obsidian").rmdir()
    write("pages/Trips___Kyoto.md", f"- {BODY}")
    plan = write("pages/Plan.md", "- [[Trips/Kyoto]] in May\n")
    opened.sync()
    (vault / "pages/Trips___Kyoto.md").rename(vault / "pages/Trips___Kansai.md")
    assert proposed(opened, "broken-link") == [("pages/Plan.md", "Trips/Kansai")]
    opened.accept(opened.proposals()[0]["id"])
    assert plan.read_text() == "- [[Trips/Kansai]] in May\n"


def test_a_rule_decides_on_a_kind_until_revoked(vault: Path, opened: Vault, write: Write) -> None:
    for name in ("Beans", "Peas"):
        write(f"A/{name}.md", BODY + name)
        write(f"A/deep/{name}.md", BODY + name)
    assert len(proposed(opened, "duplicate")) == 2
    opened.rule("duplicate", "never")
    assert opened.ask("proposals")["proposals"] == []
    assert opened.waiting()["proposals"] == 0
    opened.rule("duplicate", "ask")
    one, _ = opened.proposals()
    assert opened.rule("duplicate", "always")["rules"] == {"duplicate": "always"}
    with pytest.raises(UsageError, match="only you"):
        opened.rule("mention", "always", by="claude")
    for decide in (opened.accept, opened.reject):
        with pytest.raises(UsageError, match="only you can decide"):
            decide(str(one["id"]), by="claude")
    opened.reject(one["id"])
    opened.sync()
    report = opened.dream(3)
    assert (report["counts"], report["proposals"]) == ({"archive": 1}, 0)
    assert "it is the same as A/" in report["changes"][0]["why"]
    assert proposed(opened, "duplicate") == []
    kept = [path for path in ("A/deep/Beans.md", "A/deep/Peas.md") if (vault / path).exists()]
    assert kept == [one["path"]], "what was rejected before stays"
    (done,) = [each for each in opened.history() if each["why"].startswith("always duplicate")]
    assert (done["by"], done["kind"]) == ("dream", "job")
    opened.undo(done["commit"])
    assert proposed(opened, "duplicate") == [], "what was undone is not made again"
    assert (vault / "A/deep/Beans.md").exists()
    assert (vault / "A/deep/Peas.md").exists()


def near_to_all(monkeypatch: pytest.MonkeyPatch, scores: Mapping[str, float]) -> None:
    """Make the note "Hub" near to every note, by the score for that note's name."""

    def related(_: Reader, path: str, __: int) -> list[Related]:
        score = scores.get(Path(path).stem, 1.0)
        form = Related("Templates/Form.md", "Form", "", 2.0, ["similar meaning 0.99"])
        return [form, Related("Hub.md", "Hub", "", score, ["similar meaning 0.80"])]

    monkeypatch.setattr(Reader, "related", related)


def linked(write: Write, count: int) -> None:
    """This many notes that a hub links to."""
    for number in range(count):
        write(f"Linked {number}.md", f"{number} of them\n")
    write("Hub.md", "".join(f"[[Linked {number}]]\n" for number in range(count)))
    write("Templates/Form.md", BODY * 4)


def test_ten_orphans_at_most_are_proposed_those_with_the_nearest_neighbours(
    opened: Vault, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked(write, 25)
    for number in range(14):
        write(f"Alone {number:02}.md", f"Number {number}. " + BODY * 4)
    near_to_all(monkeypatch, {f"Alone {number:02}": 0.85 + number / 50 for number in range(14)})
    found = proposed(opened, "orphan")
    assert [path for path, _ in found] == [f"Alone {number:02}.md" for number in range(4, 14)]
    assert all(new.endswith("\n\nRelated: [[Hub]]") for _, new in found)


def test_no_neighbours_for_forms_days_attachments_and_short_notes(
    opened: Vault, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked(write, 25)
    write(".obsidian/app.json", '{"attachmentFolderPath": "Media"}')
    long = BODY * 4
    for path in ("Media/a", "Archive/b", "Templates/c", "2026-01-02", "Far"):
        write(f"{path}.md", path + long)
    write("Short.md", f"---\ntags: [{'a, ' * 90}a]\n---\n{BODY}")
    write("Form of.md", long + "{{date}}")
    write("Alone.md", long)
    near_to_all(monkeypatch, {"Far": 0.8})
    assert [path for path, _ in proposed(opened, "orphan")] == ["Alone.md"]


def named(text: str, title: str, words: str = "") -> list[Name]:
    note = Note("A.md", text)
    return list(names_in(text, note.linkable, {(words or title).lower(): title}))


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        ("See [[Grafna]] now.", 1, "See [[Grafana]] now."),
        ("x\r\n[[Grafna#Panel|it]].\r\n", 2, "x\r\n[[Grafana#Panel|it]].\r\n"),
        ("| ![[Grafna\\|200]] |", 1, "| ![[Grafana\\|200]] |"),
        ("[[ Grafna ]]", 1, "[[ Grafana ]]"),
    ],
)
def test_of_a_broken_link_only_the_target_changes(text: str, line: int, after: str) -> None:
    proposal = broken_link(Note("A.md", text), line, "Grafna", ("Grafana",))
    assert proposal is not None
    assert edit(proposal, text) == after
    assert proposal.said == "[[Grafna]] leads nowhere; the nearest title is “Grafana”"
    with pytest.raises(NoteChangedError, match=r"A.md has changed"):
        edit(proposal, after)


@pytest.mark.parametrize(
    ("text", "words", "outline", "after"),
    [
        ("Met Anne B.", "Anne B", False, "Met [[Anne B]]."),
        ("Met Annie B.", "Annie B", False, "Met [[Anne B|Annie B]]."),
        ("| Annie B |", "Annie B", False, "| [[Anne B\\|Annie B]] |"),
        ("- met Annie B", "Annie B", True, "- met [[Annie B]]"),
        ("[[Anne B]] `Anne B` Anne B", "Anne B", False, "[[Anne B]] `Anne B` [[Anne B]]"),
    ],
)
def test_a_mention_is_wrapped(text: str, words: str, outline: bool, after: str) -> None:
    (name,) = named(text, "Anne B", words)
    assert edit(mention(Note("A.md", text, outline), name), text) == after


@pytest.mark.parametrize(
    "text",
    [
        "[Anne Smith](x.md) https://x.org/Anne #Anne", "# About Anne Smith", "---\nwho: Anne Smith\n---\n",
        "```\nAnne Smith\n```", "```\nAnne Smith", "Bob", "#+title: About Anne Smith", "- key:: Anne Smith",
        "- [who:: Anne Smith] came", "> [!note] Anne Smith", "- ## Anne Smith",
        "[see Anne Smith](x.md) and [Anne Smith][1]", "[Anne Smith]: https://example.org",
        "$Anne Smith$ ((Anne Smith)) `Anne Smith`", "{{query Anne Smith}} %%Anne Smith%% <!-- Anne Smith -->",
        "Anne Smithson", "Anne Smith_son", ":PROPERTIES:\n:who: Anne Smith\n:END:\n",
        "#+BEGIN_QUERY\nAnne Smith\n#+END_QUERY\n", "About\nAnne Smith\n==========\n",
    ],
)  # fmt: skip
def test_words_that_are_something_else_already_get_no_link(text: str) -> None:
    assert named(text, "Anne Smith") == []
    if "```" not in text:
        after = f"{text.rstrip()}\n\nMet Anne Smith.\n"
        assert [name.line for name in named(after, "Anne Smith")] == [after.count("\n")]


@pytest.mark.parametrize(
    ("text", "outline", "after"),
    [
        ("Body\n", False, "Body\n\nRelated: [[B]], [[C]]\n"),
        ("Body\r\n\r\nMore\r\n", False, "Body\r\n\r\nMore\r\n\r\nRelated: [[B]], [[C]]\r\n"),
        ("- a\n\t- b", True, "- a\n\t- b\n- Related: [[B]], [[C]]"),
        ("", False, "Related: [[B]], [[C]]"),
        ("```\nnever closed", False, None),
        ("```\nclosed\n```", False, "```\nclosed\n```\n\nRelated: [[B]], [[C]]"),
    ],
)
def test_an_orphan_gets_a_last_line(text: str, outline: bool, after: str | None) -> None:
    near = {"B": "similar meaning 0.80", "C": "shares words"}
    proposal = orphan(Note("A.md", text, outline), near)
    if proposal is None:
        assert after is None
        return
    assert edit(proposal, text) == after
    assert proposal.evidence == ("B: similar meaning 0.80", "C: shares words")
    with pytest.raises(NoteChangedError):
        edit(proposal, text + "\nmore")


rows_of_text = st.lists(
    st.text(alphabet="An e[]|`#-\r", max_size=12) | st.sampled_from(["```", "Anne", "---"]),
    max_size=6,
)


@settings(max_examples=examples(200))
@given(rows_of_text, st.integers(1, 7), st.booleans())
def test_an_edit_changes_one_place(rows: list[str], line: int, outline: bool) -> None:
    text = "\n".join(rows)
    note = Note("A.md", text, outline)
    found = [broken_link(note, line, "An", ("Ann",)), orphan(note, {"B": "near"})]
    found += [mention(note, name) for name in names_in(text, note.linkable, {"ann": "Ann e"})]
    for proposal in found:
        if proposal is None:
            continue
        after = edit(proposal, text)
        assert after != text
        assert len(after) - len(text) >= len(proposal.new) - len(proposal.old)
        start = next(
            (n for n, (a, b) in enumerate(zip(text, after, strict=False)) if a != b), len(text)
        )
        rest = len(text) - start
        assert after[:start] == text[:start]
        assert rest == 0 or after.endswith(text[start + len(proposal.old) :])
