"""Two machines that change the same memories without knowing of each other: after a sync each memory is there once, and
what a person deleted, did or undid stays so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.two_machines import HOUR, Pair, carry_out, pair, pass_time, reminded
from vaultmem import now
from vaultmem.errors import VaultmemError

__all__ = ["pair", "pass_time"]  # fixtures


def dream_everywhere(pair: Pair) -> None:
    for machine in pair.machines:
        with machine.opened() as vault:
            vault.dream(2)


def test_undo_says_where_a_change_was_made_and_takes_it_back_by_content(pair: Pair) -> None:
    with pair.laptop.opened() as vault:
        memory = vault.write("Anne prefers trains to planes", by="claude")
    pair.agree()
    with pair.desktop.opened() as vault:
        (beginning,) = vault.history()
        with pytest.raises(VaultmemError, match="nothing to undo"):
            vault.undo(last=True)
        with pytest.raises(VaultmemError, match="nothing is known before it"):
            vault.undo(beginning["commit"])
        assert [each["id"] for each in vault.memories()] == [memory["id"]]
    with pair.laptop.opened() as vault:
        name = vault.tag(memory["id"], "rail", by="codex") and pair.laptop.page.stem
        vault.history()
    path = f"{pair.laptop.vault}/{memory['path']}"
    changed = Path(path).read_bytes()
    pair.agree()
    (pair.desktop.vault / "vaultmem/people").mkdir()
    own = pair.desktop.vault / "vaultmem/people/By hand.md"
    own.write_text("A person wrote this here meanwhile\n")
    with pair.desktop.opened() as vault:
        latest = vault.history()[0]
        assert (latest["machine"], latest["by"]) == (name, "you")  # and something by hand
        [undone] = vault.undo(last=True)["undone"]
        assert undone["machine"] == name
    here = pair.desktop.vault / memory["path"]
    assert b"rail" in changed
    assert b"rail" not in here.read_bytes()
    assert own.exists()
    pair.agree()
    assert b"rail" not in Path(path).read_bytes()
    with pair.laptop.opened() as vault:
        assert vault.history()[0]["machine"] == pair.desktop.page.stem
        vault.undo(last=True)
    assert b"rail" in Path(path).read_bytes()
    with pair.laptop.opened() as vault:
        assert "machine" in vault.undo(last=True)["undone"][0]
    assert b"rail" not in Path(path).read_bytes()


def test_no_machine_repeats_what_was_undone_on_another(
    pair: Pair, pass_time: Callable[[], None]
) -> None:
    with pair.laptop.opened() as vault:
        path = vault.write("Anne prefers trains to planes", by="claude")["path"]
        vault.history()
    pair.agree()
    with pair.desktop.opened() as vault:
        assert vault.dream(1)["changes"]
    pair.agree()
    with pair.laptop.opened() as vault:
        vault.undo(last=True)
    pair.agree()
    pass_time()
    for machine in pair.machines:
        with machine.opened() as vault:
            assert vault.dream(1)["changes"] == []
            assert [each["path"] for each in vault.memories()] == [path]


def test_an_undo_that_restores_what_another_machine_wrote_is_no_change_of_that_machine(
    pair: Pair, pass_time: Callable[[], None]
) -> None:
    """Else the next undo would undo it, instead of the change before that."""
    with pair.laptop.opened() as vault:
        path = vault.write("Anne prefers trains to planes", by="claude")["path"]
        memory = vault.memories()[0]["id"]
        vault.history()
    pair.agree()
    with pair.desktop.opened() as vault:
        vault.tag(memory, "rail", by="codex")
        vault.history()
    pair.agree()
    with pair.laptop.opened() as vault:
        vault.history()
        for word in ("red", "blue"):
            pass_time()
            vault.tag(memory, word)
        pass_time()
        words = [vault.undo(last=True)["undone"][0]["why"] for _ in range(3)]
        assert words[:2] == ["tag Anne prefers trains to planes"] * 2
        assert words[2].startswith("edited")
        assert not vault.read(memory)["tags"]
    assert b"rail" not in (pair.laptop.vault / path).read_bytes()


def test_undoing_a_removal_makes_no_second_file_of_a_memory_that_moved(pair: Pair) -> None:
    """Here the move comes from another machine before the history knows of the file."""
    with pair.laptop.opened() as vault:
        vault.write("Anne prefers trains to planes", by="claude")
    pair.agree()
    with pair.desktop.opened() as vault:
        [filed] = vault.dream(1)["changes"]
    pair.agree()
    with pair.laptop.opened() as vault:
        removal = vault.history()[0]
        assert removal["why"] == "removed outside vaultmem"
        refused = vault.undo(removal["commit"])["refused"]
        assert filed["target"] in refused[0]["reason"]
    files = (pair.laptop.vault / "vaultmem").rglob("Anne*.md")
    assert [each.relative_to(pair.laptop.vault).as_posix() for each in files] == [filed["target"]]


def test_a_memory_that_both_file_while_a_sync_program_moves_it_is_not_doubled(pair: Pair) -> None:
    """A new file comes before the old one goes, and a dream comes in between."""
    with pair.laptop.opened() as vault:
        memory = vault.write("Anne prefers trains to planes", by="claude")
    pair.agree()
    with pair.desktop.opened() as vault:
        [filed] = vault.dream(1)["changes"]
    new = (pair.desktop.vault / filed["target"]).read_bytes()
    pair.syncing.put(pair.laptop.vault / filed["target"], new)
    with pair.laptop.opened() as vault:
        report = vault.dream(2)
        assert (report["changes"], report["aside"]) == ([], 2)
    pair.agree()
    with pair.laptop.opened() as vault:
        assert [each["id"] for each in vault.memories()] == [memory["id"]]
        assert vault.memories()[0]["path"] == filed["target"]


def test_a_memory_that_one_machine_filed_and_another_edited_is_one_memory(
    pair: Pair, pass_time: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync program brings both files, as each machine made one and removed none that the other has."""
    with pair.laptop.opened() as vault:
        anne = vault.write("Anne lives in Bristol", by="claude")["id"]
        bob = vault.write("Bob prefers trains to planes", by="claude")["id"]
    pair.agree()
    with pair.desktop.opened() as vault:
        assert vault.dream(1)["counts"] == {"move": 2}
        vault.history()
    pass_time()
    with pair.laptop.opened() as vault:
        vault.edit(anne, "Anne lives in Porto")
        vault.tag(bob, "rail")
        vault.history()
    pair.agree()
    for _ in range(3):
        monkeypatch.setenv("VAULTMEM_NOW", str(now.seconds() + HOUR))
        dream_everywhere(pair)
        pair.agree()
    for machine in pair.machines:
        with machine.opened() as vault:
            live = {one["id"]: one for one in vault.memories()}
            assert live.keys() == {anne, bob}
            assert (live[anne]["content"], live[bob]["tags"]) == ("Anne lives in Porto", ["rail"])
            assert {one["category"] for one in live.values()} == {"people", "preferences"}
            assert "Anne lives in Bristol" in [
                one["content"] for one in vault.memories(deleted=True)
            ]


def test_what_one_machine_has_archived_is_not_brought_back_by_a_dream_elsewhere(
    pair: Pair, pass_time: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is aware of the other: one file is moved to the archive, the other to a category."""
    with pair.laptop.opened() as vault:
        memory = vault.write("Anne prefers trains to planes", by="claude")["id"]
        edited = vault.write("Bob prefers buses", by="claude")["id"]
    pair.agree()
    pass_time()
    with pair.laptop.opened() as vault:
        vault.delete(memory)
        vault.delete(edited)
    pass_time()
    with pair.desktop.opened() as vault:
        vault.dream(1)
        vault.edit(edited, "Bob prefers trams")
    monkeypatch.setenv("VAULTMEM_NOW", str(now.seconds() + HOUR))
    for _ in range(3):
        pair.agree()
        dream_everywhere(pair)
    for machine in pair.machines:
        with machine.opened() as vault:
            assert [each["id"] for each in vault.memories()] == [edited]
            assert memory in [each["id"] for each in vault.memories(deleted=True)]
    assert not pair.syncing.run()
    with pair.laptop.opened() as vault:
        vault.restore(memory)  # though the archive has it twice


def test_what_is_done_stays_done_though_another_machine_edited_its_file_meanwhile(
    pair: Pair, pass_time: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync program brings the edited file back; a person who brings it back reopens it."""
    item = reminded(pair)
    memory = "water the plants"
    with pair.laptop.opened() as vault:
        vault.done(item)
    with pair.desktop.opened() as vault:
        pass_time()
        vault.tag(memory, "garden")
    monkeypatch.setenv("VAULTMEM_NOW", str(now.seconds() + HOUR))
    for _ in range(3):
        pair.agree()
        assert [carry_out(machine) for machine in pair.machines] == [[], []]
    for machine in pair.machines:
        assert not (machine.vault / "vaultmem/reminders/water the plants.md").exists()
    with pair.desktop.opened() as vault:
        vault.reopen(item)
    for _ in range(2):
        pair.agree()
        assert [carry_out(machine) for machine in pair.machines] == [[item], [item]]
