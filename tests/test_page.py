"""The page on the disk: no tick is lost, whoever writes when; two machines agree and then stop writing."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli_run import started
from tests.index_dump import other_state
from tests.kill_points import kill_everywhere, killed_after, moments
from vaultmem.errors import StateError
from vaultmem.index.state import State
from vaultmem.memories.item_answers import item_ids
from vaultmem.pending.pending_page import Page, Refreshed
from vaultmem.pending.ticks import Ack
from vaultmem.reminders.items import Item, render
from vaultmem.vault import conflicts
from vaultmem.vault.moves import sweep

NOW = datetime(2026, 11, 22, 10, tzinfo=UTC)
PATH = "vaultmem/pending.md"
COUNT = 60
IDS = item_ids([("a.md", str(number)) for number in range(COUNT)])
ITEMS = [Item(id_, "today", f"item {number:02}") for number, id_ in enumerate(IDS)]
FEW = ITEMS[:3]
STYLES = ["frontmatter", "outline"]

# Ticks open boxes as editors do, and prints which ones once the file is there.
TICKER = """
import os, random, re, sys, time
path, manner, many = sys.argv[1], sys.argv[2], int(sys.argv[3])
chance, ticked = random.Random(manner), []
print("ready", flush=True)
while len(ticked) < many:
    time.sleep(chance.uniform(0, 0.01))
    try:
        text = open(path, encoding="utf-8").read()
    except FileNotFoundError:
        continue
    open_ = [id_ for id_ in re.findall(r"^- \\[ \\] .*\\^(vm-[a-z2-7]{6})$", text, re.M) if id_ not in ticked]
    if not open_:
        continue
    id_ = chance.choice(open_)
    line = re.search(rf"^- \\[ \\] (.*\\^{id_})$", text, re.M)
    new = text.replace(line[0], "- [x] " + line[1])
    if manner == "rename":
        open(path + ".tmp", "w", encoding="utf-8").write(new)
        os.replace(path + ".tmp", path)
    elif manner == "in place":
        with open(path, "w", encoding="utf-8") as file:
            file.write(new)
    else:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"- [x] done elsewhere ^{id_}\\n")
    ticked.append(id_)
    print(id_, flush=True)
"""


class Machine:
    """A machine that shows what is not answered yet."""

    def __init__(self, vault: Path, style: str = "frontmatter") -> None:
        self.page = Page(State(str(vault)), PATH, style, "vaultmem")
        self.known: dict[str, Ack] = {}
        self.items: Sequence[Item] = FEW

    def record(self, acks: Mapping[str, Ack]) -> None:
        self.known.update(acks)

    def refresh(self) -> Refreshed:
        items = [item for item in self.items if item.id not in self.known]
        return self.page.refresh(items, NOW, self.record)


@pytest.fixture
def machine(vault: Path) -> Machine:
    (vault / "vaultmem").mkdir()
    os.makedirs(State(str(vault)).folder, exist_ok=True)
    return Machine(vault)


@pytest.fixture
def file(vault: Path) -> Path:
    return vault / PATH


@pytest.fixture
def second(vault: Path, machine: Machine, tmp_path: Path) -> Iterator[Machine]:  # noqa: ARG001 - after the first
    """Another machine with the same folder and its own state."""
    with other_state(tmp_path / "second"):
        os.makedirs(State(str(vault)).folder, exist_ok=True)
        yield Machine(vault)


def tick(file: Path, item: Item, box: str = "x") -> None:
    text = file.read_text("utf-8")
    assert f"- [ ] {item.text}" in text
    file.write_text(text.replace(f"- [ ] {item.text}", f"- [{box}] {item.text}"), "utf-8")


def test_nothing_is_written_before_the_answers_are_kept(machine: Machine, file: Path) -> None:
    """Those that a ledger cannot keep stay on the page."""
    machine.refresh()
    tick(file, FEW[0])
    before = file.read_bytes()
    seen: list[bytes] = []

    def fails(_: Mapping[str, Ack]) -> None:
        raise StateError("the disk is full")

    def record(acks: Mapping[str, Ack]) -> None:
        assert set(acks) == {FEW[0].id}
        seen.append(file.read_bytes())

    assert machine.page.refresh(FEW, NOW, fails).problems == ["the disk is full"]
    assert file.read_bytes() == before
    machine.page.refresh(FEW, NOW, record)
    assert seen == [before]
    assert file.read_bytes() != before


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_a_person_writes_stays_byte_for_byte(
    vault: Path, machine: Machine, file: Path, style: str, end: str
) -> None:
    machine = Machine(vault, style)
    machine.refresh()
    parts = (b"mine \xff\xfe not UTF-8", b"\t- [ ] own task   ", b"no end")
    notes = end.encode().join(parts)
    file.write_bytes(file.read_bytes().replace(b"\n", end.encode()) + notes)
    machine.items = FEW[:1]
    assert machine.refresh().written
    written = file.read_bytes()
    assert written.endswith(b"## Notes" + end.encode() + notes)
    assert written.count(b"\n") == written.count(end.encode())
    assert not machine.refresh().written


def silent(*machines: Machine) -> bool:
    return sum(one.refresh().written for one in machines) == 0


def test_two_machines_do_not_write_in_turns(machine: Machine, second: Machine, file: Path) -> None:
    machine.items, second.items = ITEMS[:3], [*ITEMS[1:3], ITEMS[5]]
    written = [one.refresh().written for _ in range(6) for one in (machine, second)]
    assert sum(written) <= 4
    assert not any(written[6:])
    second.items = machine.items  # what was missing has arrived
    second.refresh()
    assert file.read_text("utf-8") == render(ITEMS[:3], "frontmatter")
    assert silent(machine, second, machine, second)


COPIES = [
    "pending (conflicted copy).md", "pending (Ann's conflicted copy 2026-11-21).md",
    "pending.sync-conflict-20261122-101500-ABCDEFG.md", "pending (Conflicted copy vaultmem 202611221015).md", "pending 2.md",
]  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_what_is_ticked_and_typed_in_conflict_copies_comes_into_the_page(
    machine: Machine, file: Path, name: str
) -> None:
    machine.refresh()
    page = file.read_bytes()
    file.write_bytes(page + b"said on both\nsaid here\n")
    copy = file.with_name(name)
    typed = page.replace(b"## Notes\n", b"above\n## Notes\n")
    copy.write_bytes(typed + b"said on both\nsaid there\n\n- [ ] mine")
    tick(copy, FEW[2])
    tick(file, FEW[0])
    content = copy.read_bytes()
    assert set(machine.page.acks(NOW)) == {FEW[0].id, FEW[2].id}
    done = machine.refresh()
    assert set(machine.known) == {FEW[0].id, FEW[2].id}
    assert not copy.exists()
    assert not list(file.parent.glob("archive/*")), "nothing of it is lost"
    assert done.problems == []
    notes = "said on both\nsaid here\nsaid there\n\n- [ ] mine\nabove\n"
    assert file.read_text("utf-8") == render([FEW[1]], "frontmatter", notes)
    copy.write_bytes(content)  # the sync program brings it once more
    machine.refresh()
    assert file.read_text("utf-8") == render([FEW[1]], "frontmatter", notes)
    assert silent(machine)


def test_what_several_copies_say_comes_into_the_page_once(machine: Machine, file: Path) -> None:
    machine.refresh()
    file.write_bytes(file.read_bytes() + b"said on all\nsaid on all\n")
    page = file.read_bytes()
    for number, name in enumerate(COPIES):
        file.with_name(name).write_bytes(page + b"said elsewhere\n" + b"%d\n" % number)
    machine.refresh()
    lines = sorted(file.read_text("utf-8").partition("## Notes\n")[2].split())
    assert lines == sorted(f"0 1 2 3 4 {'said on all ' * 2} said elsewhere".split())


def test_a_tick_on_a_copy_in_the_moment_it_is_put_away_counts(
    machine: Machine, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.refresh()
    copy = file.with_name(COPIES[2])
    copy.write_bytes(file.read_bytes())
    real = conflicts.archive_file

    def put_away(*given: str) -> str:
        tick(copy, FEW[1])
        return real(*given)

    monkeypatch.setattr(conflicts, "archive_file", put_away)
    machine.refresh()
    assert set(machine.known) == {FEW[1].id}
    assert "- [x] item 01" in (file.parent / "archive" / COPIES[2]).read_text("utf-8")


@pytest.mark.parametrize("manner", ["rename", "in place", "append"])
def test_no_tick_is_lost_during_a_write(machine: Machine, file: Path, manner: str) -> None:
    many = 40
    machine.items = ITEMS
    machine.refresh()
    command = [sys.executable, "-c", TICKER, str(file), manner, str(many)]
    with started(command, stdout=subprocess.PIPE, text=True) as ticker:
        assert ticker.stdout
        assert ticker.stdout.readline() == "ready\n"
        while ticker.poll() is None:
            machine.refresh()
            machine.items = ITEMS[len(machine.known) % 2 :]  # something to write each time
        ticked = ticker.stdout.read().split()
    machine.items = ITEMS
    for _ in range(3):
        machine.refresh()
    assert len(ticked) == many
    assert set(ticked) <= set(machine.known)
    above = file.read_text("utf-8").partition("## Notes\n")[0]
    assert not [id_ for id_ in ticked if id_ in above]
    assert silent(machine)


class Kept(Machine):
    """Its answers are in a file, like those of a ledger."""

    def __init__(self, vault: Path) -> None:
        super().__init__(vault)
        self._file = vault.parent / "kept"

    def record(self, acks: Mapping[str, Ack]) -> None:
        with open(self._file, "ab", buffering=0) as kept:
            kept.write(" ".join([*acks, ""]).encode())

    def refresh(self) -> Refreshed:
        self.known = dict.fromkeys(self.recorded(), Ack("done"))
        return super().refresh()

    def recorded(self) -> list[str]:
        return self._file.read_text().split() if self._file.exists() else []


def after_a_kill(vault: Path, before: str, ticked: Sequence[Item]) -> Callable[[], None]:
    def check() -> None:
        sweep(str((vault / PATH).parent), older=0.0)
        file, kept = vault / PATH, Kept(vault)
        machine = Kept(vault)
        machine.refresh()
        assert set(kept.recorded()) >= {item.id for item in ticked}
        left = [item for item in FEW if item not in ticked]
        assert file.read_text("utf-8") == render(left, "frontmatter", "mine\n")
        assert not list(file.parent.glob("pending (*"))
        assert silent(machine)
        (vault.parent / "kept").unlink()  # and as it was before
        (vault / "vaultmem" / "archive" / COPIES[2]).unlink(missing_ok=True)
        (vault / "vaultmem" / COPIES[2]).write_text(before.replace("[ ] item 01", "[x] item 01"))
        file.write_text(before.replace("[ ] item 00", "[-] item 00"), "utf-8")

    return check


def test_a_kill_loses_nothing(vault: Path, machine: Machine, file: Path) -> None:
    """At any system call and at any moment."""
    before = render(FEW, "frontmatter", "mine\n")
    file.write_text(before, "utf-8")
    machine.refresh()
    check = after_a_kill(vault, before, FEW[:2])
    file.write_text(before.replace("[ ] item 00", "[-] item 00"), "utf-8")
    (file.parent / COPIES[2]).write_text(before.replace("[ ] item 01", "[x] item 01"))
    assert kill_everywhere(lambda: Kept(vault).refresh(), check, 3) > 20
    for moment in moments(40, 0.012):
        killed_after(moment, lambda: Kept(vault).refresh())
        check()
