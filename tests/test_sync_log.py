"""The laws of the sync log: machines agree whatever order pages come in, however often, and whatever was lost, copied
or written by strangers."""

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from vaultmem.memories.item_answers import Answer, item_ids
from vaultmem.synclog.log_entries import (
    BEFORE,
    Entries,
    Entry,
    Notified,
    Page,
    Reads,
    Reinforced,
    Written,
    collect,
    is_writable,
    merge_entries,
    own_entries,
    plain,
    read,
    render,
)
from vaultmem.text.times import stamp

AT = "2026-11-22T10:00:00Z"
STYLES = ["frontmatter", "outline"]
ITEMS = item_ids([("a.md", str(number)) for number in range(3)])
MEMORIES = ["24ed4878-85a3-49bb-aae6-8d90fb1a057c", "kept.by_hand-7"]
MACHINES = ["laptop-3fa2c1", "desktop-77b0e4", "server-000001"]
WHEN = st.integers(0, 4).map(lambda s: stamp(1_800_000_000 + s)) | st.integers(
    0, 5_000_000_000
).map(lambda s: stamp(s + 946_684_800))
ANSWERS = st.builds(
    Answer,
    st.sampled_from(ITEMS),
    st.sampled_from(["open", "done", "dropped", "snoozed"]),
    WHEN,
    st.text(max_size=12),
    st.sampled_from(["", "2026-11-25", "2026-11-25T09:00", "soon"]),
    st.text(max_size=40),
).map(plain)
OTHERS: st.SearchStrategy[Entry] = st.one_of(
    st.builds(
        Notified,
        st.sampled_from(ITEMS),
        WHEN,
        st.integers(0, 999_999),
        st.sampled_from(["", "2026-11-22T09:00", "2026-11-22"]),
    ),
    st.builds(Written, st.just("9f86d081884c7d65"), st.just(MACHINES[0]), WHEN, st.just("claude")),
    st.builds(Reinforced, st.sampled_from(MEMORIES), WHEN),
)


def reads_of(machine: str) -> st.SearchStrategy[Reads]:
    who = st.sampled_from([machine, BEFORE])
    return st.builds(Reads, st.sampled_from(MEMORIES), who, st.integers(0, 999_999), WHEN)


def entries_of(machine: str, most: int = 8) -> st.SearchStrategy[Entries]:
    return st.lists(st.one_of(ANSWERS, OTHERS, reads_of(machine)), max_size=most).map(collect)


@given(entries_of(MACHINES[0], 20))
@settings(max_examples=examples(100))
def test_a_page_says_all_of_its_entries_in_both_editors(entries: Entries) -> None:
    assert all(map(is_writable, entries.values()))
    for style in STYLES:
        page = Page(MACHINES[0], AT, entries)
        assert read(render(page, style)) == page


@given(*(entries_of(machine) for machine in MACHINES))
@settings(max_examples=examples(120))
def test_merging_is_commutative_associative_and_idempotent(
    one: Entries, other: Entries, third: Entries
) -> None:
    every = merge_entries(one, other, third)
    for order in itertools.permutations((one, other, third)):
        assert merge_entries(*order) == every
    assert merge_entries(one, merge_entries(other, third)) == every
    assert merge_entries(merge_entries(one, other), third) == every
    assert merge_entries(every, every, one) == every


# --- Machines that write, sync, lose files and get copies, in any order


class Machine:
    """What a machine keeps to itself, and the page that it writes; with the pure functions that it uses."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.known: Entries = {}
        self.vault: dict[str, str] = {}  # texts of pages by file name

    def add(self, entries: Iterable[Entry]) -> None:
        own = [entry for entry in entries if getattr(entry, "machine", self.name) == self.name]
        self.known = merge_entries(self.known, collect(own))

    def settle(self) -> None:
        pages = [page for text in self.vault.values() if (page := read(text))]
        of_others = [one.entries for one in pages if one.machine != self.name]
        own = merge_entries(*(one.entries for one in pages if one.machine == self.name))
        self.known = merge_entries(self.known, own, *of_others)
        wanted = {
            key: one
            for key, one in self.known.items()
            if getattr(one, "machine", BEFORE) in (self.name, BEFORE)
        }
        page = Page(self.name, "", own_entries(wanted, own, of_others))
        self.vault[f"{self.name}.md"] = render(page, "frontmatter")


STEP = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(range(3)), st.lists(ANSWERS | OTHERS, max_size=3)),
    st.tuples(st.just("read"), st.sampled_from(range(3)), st.lists(reads_of("?"), max_size=2)),
    st.tuples(st.just("settle"), st.sampled_from(range(3)), st.none()),
    st.tuples(st.just("sync"), st.sampled_from(range(3)), st.sampled_from(range(3))),
    st.tuples(st.just("copy"), st.sampled_from(range(3)), st.sampled_from(range(3))),
    st.tuples(st.just("lose"), st.sampled_from(range(3)), st.sampled_from(range(3))),
    st.tuples(st.just("cut"), st.sampled_from(range(3)), st.integers(0, 400)),
)


def do(machines: list[Machine], step: tuple[str, int, object], number: int) -> None:
    what, index, more = step
    machine = machines[index]
    if what in ("add", "read"):
        assert isinstance(more, list)
        machine.add(one._replace(machine=machine.name) if what == "read" else one for one in more)
    elif what == "settle":
        machine.settle()
    elif what == "cut":  # a half-written page
        assert isinstance(more, int)
        name = f"{machine.name}.md"
        machine.vault[name] = machine.vault.get(name, "")[:more]
    else:
        assert isinstance(more, int)
        other = machines[more]
        name = f"{other.name}.md"
        if what == "sync" and name in other.vault:
            machine.vault[name] = other.vault[name]
        elif what == "copy" and name in other.vault:
            copy = f"{other.name}.sync-conflict-20261122-10150{number % 10}-ABCDEFG.md"
            machine.vault[copy] = other.vault[name]
        elif what == "lose":
            machine.vault.pop(name, None)


def sync_all(machines: list[Machine]) -> None:
    for machine in machines:
        machine.settle()
    for one, other in itertools.permutations(machines, 2):
        one.vault[f"{other.name}.md"] = other.vault[f"{other.name}.md"]
    for machine in machines:
        machine.settle()


@given(st.lists(STEP, max_size=25))
@settings(max_examples=examples(120))
def test_machines_agree_and_then_are_silent(steps: list[tuple[str, int, object]]) -> None:
    machines = [Machine(name) for name in MACHINES]
    said: list[Entry] = []
    for number, step in enumerate(steps):
        do(machines, step, number)
        said += [one for machine in machines for one in machine.known.values()]
    sync_all(machines)
    assert machines[0].known == machines[1].known == machines[2].known == collect(said)
    sync_all(machines)
    before = [dict(machine.vault) for machine in machines]
    sync_all(machines)
    assert [machine.vault for machine in machines] == before


# --- Strangers


@given(st.binary(max_size=400), entries_of(MACHINES[0]))
@settings(max_examples=examples(120))
def test_no_bytes_break_a_page_or_what_it_says(junk: bytes, entries: Entries) -> None:
    text = junk.decode("utf-8", "replace")
    read(text, AT)
    page = read(f"{render(Page(MACHINES[0], '', entries), 'frontmatter')}\n{text}\n")
    assert page is not None
    assert entries.items() <= merge_entries(page.entries, entries).items()


@pytest.mark.parametrize(
    "line",
    [
        f"{ITEMS[0]} done {AT}", f"- {ITEMS[0]} done 2026-13-22T10:00:00Z",
        f"- {ITEMS[0]} done 9999-11-22T10:00:00Z by you", f"- {ITEMS[0]} finished {AT} by you",
        f"- {ITEMS[0]} told {AT} x", f"- ../../etc/passwd read 3x, last {AT}",
        f"- {MEMORIES[0]} read ٣x, last {AT}", f"- {MEMORIES[0]} proposal open {AT}",
    ],
)  # fmt: skip
def test_what_is_no_line_of_ours_says_nothing(line: str) -> None:
    page = read(f"generated: vaultmem\nmachine: {MACHINES[0]}\n{line}\n")
    assert page is not None
    assert not page.entries
    assert read(f"{line}\n") is None


@pytest.mark.parametrize("style", STYLES)
def test_the_page_can_be_read_by_people(style: str) -> None:
    entries = collect(
        [
            Answer(ITEMS[0], "done", AT, "you", "", "call Anne"),
            Notified(ITEMS[1], AT, 3, "2026-11-22T09:00"),
            Reads(MEMORIES[0], MACHINES[0], 12, AT),
            Reads(MEMORIES[0], BEFORE, 40, AT),
            Written("9f86d081884c7d65", MACHINES[0], AT, "claude"),
            Reinforced(MEMORIES[0], AT),
        ]
    )
    lines = render(Page(MACHINES[0], AT, entries), style).split("\n")
    assert f"- {ITEMS[0]} done {AT} by you: call Anne" in lines
    assert f"- {ITEMS[1]} told {AT} 3x for 2026-11-22T09:00" in lines
    assert f"- {MEMORIES[0]} read 12x, last {AT}" in lines
    assert f"- {MEMORIES[0]} read 40x before, last {AT}" in lines
    assert f"- 9f86d081884c7d65 written {AT} by claude" in lines
    assert f"- {MEMORIES[0]} reinforced {AT}" in lines
    assert any(MACHINES[0] in line for line in lines[:4])
