"""Copies made by sync programs are recognised by their names; people's notes are never taken for copies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem.vault import conflicts as names_of_copies
from vaultmem.vault.conflicts import Places, conflict_original, nearly_equal


def conflicts(paths: list[str]) -> dict[str, str]:
    return names_of_copies.conflicts(Places(paths))


def doubtful(paths: list[str]) -> list[tuple[str, str]]:
    return names_of_copies.possible_copies(Places(paths))


STAMPED = [
    "Plan.sync-conflict-20261121-101500-ABCDEFG.md", "Plan (Conflicted copy MacBook 202611211015).md",
    "Plan (Ann's conflicted copy 2026-11-21).md", "Plan (James' conflicted copy 2026-11-21).md",
    "Plan (Ann's conflicted copy 2026-11-21 1).md", "Plan (Ann's case conflict 2026-11-21).md",
]  # fmt: skip
UNSTAMPED = [
    "Plan (Conflicted copy).md", "Plan (Ann's conflicted copy).md", "Plan (case conflict).md",
    "Plan (Ann's case conflict).md", "Plan (Unicode Encoding Conflict).md",
]  # fmt: skip
PEOPLE = [
    "Plan.md", "Conflicted copy.md", " (Conflicted copy 2026-11-21).md", "Plan(Conflicted copy 2026-11-21).md",
    "Plan (on conflicted copy 2026-11-21).md", "Plan (conflict 2026-11-21).md", "Plan.sync-conflict-2026-11.md",
    "sync-conflict-20261121-101500-ABCDEFG.md", "Plan (Conflicted copy 2026-11-21)/note.md",
    "Plan.sync-conflict-20261121-101500-ABCDEFG.md/note.md", "",
]  # fmt: skip


@pytest.mark.parametrize("name", STAMPED)
@pytest.mark.parametrize("folder", ["", "a/b (1)/"])
def test_stamped_names_are_copies_with_or_without_the_original(name: str, folder: str) -> None:
    original = folder + "Plan.md"
    assert conflict_original(folder + name) == original
    assert conflicts([folder + name, original]) == {folder + name: original}
    assert conflicts([folder + name]) == {folder + name: original}


@pytest.mark.parametrize("name", UNSTAMPED)
def test_names_without_a_stamp_need_the_original(name: str) -> None:
    assert conflict_original(name) is None
    assert conflicts([name, "Plan.md"]) == {name: "Plan.md"}
    assert conflicts([name]) == {}
    assert conflicts([name, "elsewhere/Plan.md", "Plan.txt"]) == {}


@pytest.mark.parametrize(
    "name",
    [
        *("Plan 1.md", "Plan 0.md", "Plan 2026.md", "Plan2.md", "Plan (0).md", "Plan (A).md"),
        *("Plan (2026-11-21).md", "Plan (Ann 2026-11).md"),
        *("Plan-2.md", "Plan-2026-11-21.md", "Plan-.md", "2.md", "-A.md", "Plan 2.png"),
        *("Plan-A.md", "Plan-Anne.md", "Plan-draft.md", "Plan-v2.md", "Plan-Machines.md"),
        *("Plan 2/x.md", "Plan (2) b.md", "Plan - more.md", STAMPED[0], UNSTAMPED[0], "Plan.md"),
    ],
)
def test_ordinary_names_are_not_doubtful(name: str) -> None:
    assert doubtful([name, "Plan.md", "Plan.png", "x.md", ".md"]) == []


@pytest.mark.parametrize(
    "name",
    [
        *("Plan (1).md", "Plan 2.md", "Plan-LAPTOP.md", "Plan (In Konflikt stehende Kopie von Ann 2026-11-21).md"),
        *("Plan (Copie en conflit de Ann 2026-11-21 1).md", "Plan (Ann の競合コピー 2026-11-21).md"),
    ],
)  # fmt: skip
def test_names_that_a_person_may_choose_are_doubtful(name: str) -> None:
    assert doubtful([name, "Plan.md"]) == [(name, "Plan.md")]
    assert doubtful([name]) == []


LINES = "".join(f"line {number} of many\n" for number in range(18))
TEXT = f"---\nid: a1\nupdated: 2026-11-01\n---\n# Plan\n\n- [ ] rent 📅 2026-11-30\nsee [[Ann]]\n{LINES}"
FORM = "---\ntype: visit\n---\n# Visit\n\n## Who\n\n## What\n\n## Next\n"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (TEXT, TEXT, True),
        (TEXT, TEXT.replace("\n", "\r\n") + "\n", True),
        (
            TEXT,
            TEXT.replace("[ ] rent 📅 2026-11-30", "[x] rent 📅 2026-11-30 ✅ 2026-11-29"),
            True,
        ),
        (TEXT, TEXT.replace("updated: 2026-11-01", "updated: 2026-11-02"), True),
        (TEXT, TEXT + "- one more line\n", True),
        (TEXT, TEXT.partition("# Plan")[2], True),
        (TEXT, TEXT.replace("id: a1", "id: a2"), False),
        (TEXT, TEXT.replace("# Plan", "# Other plan"), False),
        (TEXT, TEXT.replace("11-30", "12-01"), False),
        (TEXT, TEXT.replace("[[Ann]]", "[[Bob]]"), False),
        (TEXT, "".join(reversed(TEXT.splitlines(keepends=True))), False),
        (TEXT, TEXT.upper(), False),
        (TEXT, TEXT + TEXT, False),
        (FORM, FORM, False),  # just a template: two notes that nobody has filled in
        (FORM + "Anne\nthe roof\n", FORM + "Bela\nthe roof\n", False),
        ("a", "a", True),
        ("", "", False),
        (LINES * 9, LINES * 20, False),
    ],
)
def test_nearly_equal(one: str, other: str, equal: bool) -> None:
    assert nearly_equal(one, other) is equal
    assert nearly_equal(other, one) is equal


def test_long_notes_take_no_time() -> None:
    pairs = [
        ("ab\n" * 10**6, "ba\n" * 10**6),
        ("a\nb\n" * 10**6, "b\na\n" * 10**6),
        ("[[" * 10**6, "x [" * 10**6),
    ]
    assert takes_less(1.0, lambda: [nearly_equal(*pair) for pair in pairs])


FILE_NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), max_size=12
)


@given(st.lists(FILE_NAMES | st.sampled_from(STAMPED + UNSTAMPED + PEOPLE), max_size=8))
def test_laws(paths: list[str]) -> None:
    certain = conflicts(paths)
    for copy, original in certain.items():
        assert copy in paths
        assert copy != original
        assert len(original) < len(copy)
    for copy, original in doubtful(paths):
        assert copy not in certain
        assert {copy, original} <= set(paths)
        assert copy != original
    for path in paths:
        assert conflict_original(path) is None or path in certain


@pytest.mark.parametrize(
    "name",
    [
        *("(conflicted copy " * 14, "a'" * 100 + "conflict", " (" * 120 + "conflict)"),
        *("-a" * 120 + ".md", "x" * 10**6, ".sync-conflict-" * 16),
        "conflict" + " (a's conflicted copy" * 11,
    ],
)
def test_odd_names_take_no_time(name: str) -> None:
    def looked_at() -> None:
        for _ in range(20):
            conflicts([name, "Plan.md"])
            doubtful([name, "Plan.md"])

    assert takes_less(1.0, looked_at)


@given(
    FILE_NAMES.filter(
        lambda stem: (
            stem.strip() == stem != "" and "onflict" not in stem.casefold() and "." not in stem
        )
    )
)
def test_every_stamped_copy_finds_its_note(stem: str) -> None:
    for name in STAMPED:
        assert conflict_original(f"f/{stem}{name.removeprefix('Plan')}") == f"f/{stem}.md"
