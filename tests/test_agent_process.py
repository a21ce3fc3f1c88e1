"""The agent as a process: what is saved is found, what is removed is not, and nothing that happens to it does harm."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent_run import PATIENCE, Agent, agent_on, differing, ending, launched, until
from tests.cli_run import one_line, process
from tests.laws import some
from tests.mounting import mounts, runs_with_mounts
from vaultmem import client, paths
from vaultmem.index.state import State

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc or namespaces of Linux")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state root for the agents of this module."""
    root = tmp_path_factory.mktemp("agents")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTMEM_STATE", str(root / "state"))
        patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        patch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
        yield root


def fill(vault: Path, count: int = 60) -> Path:
    """A vault of both editors, with links between its notes."""
    for file, text in ((".obsidian/app.json", "{}"), ("logseq/config.edn", "{}")):
        put(vault / file, text)
    for number in range(count):
        text = f"# Note {number}\n\nApple roof [[Note {(number + 1) % count}]] #t{number % 5}\n\n- [ ] task {number}\n"
        put(vault / f"base{number % 3}" / f"Note {number}.md", text)
    return vault


def put(file: Path, text: str | bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.fixture(scope="module")
def live(own: Path) -> Iterator[Agent]:
    """One agent for all that people and editors do to notes."""
    with agent_on(fill(own / "vault", 400)) as agent:  # a few may go without a question
        yield agent.watches()


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


class Reader(threading.Thread):
    """Searches all the time, and keeps what it saw."""

    def __init__(self, agent: Agent, words: str) -> None:
        super().__init__(daemon=True)
        self.agent, self.words = agent, words
        self.seen: list[frozenset[str]] = []
        self.remarks: set[str] = set()
        self.errors: list[str] = []
        self.ending = threading.Event()

    def run(self) -> None:
        while not self.ending.is_set():
            try:
                said = self.agent.call("search", query=self.words, limit=100)
                self.seen.append(frozenset(one["path"] for one in said["results"]))
                self.remarks.update(said.get("remarks") or [])
            except Exception as error:  # noqa: BLE001 - whatever it is, the test shall say it
                self.errors.append(repr(error))
            time.sleep(0.005)  # the index is to get on meanwhile


@pytest.fixture(autouse=True)
def no_settings(own: Path) -> Iterator[None]:  # noqa: ARG001 - its settings are meant
    """What one test sets does not reach the next."""
    yield
    Path(paths.config_file()).unlink(missing_ok=True)


@contextlib.contextmanager
def reading(agent: Agent, words: str) -> Iterator[Reader]:
    """Somebody searches during the block, and never gets an error."""
    reader = Reader(agent, words)
    reader.start()
    try:
        until(lambda: reader.seen or reader.errors)
        yield reader
    finally:
        reader.ending.set()
        reader.join(PATIENCE)
    assert not reader.errors, (reader.errors[:3], agent.process.poll(), agent.err()[-2000:])


# What people and editors do to notes


def test_editors_save_in_many_ways(live: Agent, scratch: Path) -> None:
    folder = live.vault / "edited"
    for name in "place atomic hidden vim logseq sync".split():
        put(folder / f"{name}.md", f"before{name} stays\n")
    live.finds(
        "stays", *(f"edited/{name}.md" for name in "place atomic hidden vim logseq sync".split())
    )
    with reading(live, "stays") as reader:
        for temp, name in (
            ("atomic.md.tmp", "atomic"),
            (".hidden.md.swp", "hidden"),
            (".syncthing.sync.md.tmp", "sync"),
        ):
            put(folder / temp, f"after{name} stays\n").replace(folder / f"{name}.md")
        (folder / "vim.md").rename(folder / "vim.md~")
        put(folder / "vim.md", "aftervim stays\n")
        (folder / "vim.md~").unlink()
        shutil.copy(folder / "logseq.md", put(live.vault / "logseq/bak/edited/logseq.md", ""))
        put(folder / "logseq.md", "afterlogseq stays\n")
        for name in "atomic hidden vim logseq sync".split():
            live.finds(f"after{name}", f"edited/{name}.md")
            live.finds(f'"before{name}"')
        assert all(len(found) == 6 for found in reader.seen)
    with (folder / "place.md").open("w") as file:
        for part in ("afterplace is ", "written ", "slowly, ", "lastword\n"):
            file.write(part)
            file.flush()
            time.sleep(0.2)
    live.finds("lastword afterplace", "edited/place.md")
    live.finds('"beforeplace"')
    live.settles(scratch)


def test_an_emptied_note_is_found_until_it_stays_empty(live: Agent) -> None:
    note = put(live.vault / "moment" / "Empty.md", "steadfast words, enough of them to shrink\n")
    live.finds("steadfast", "moment/Empty.md")
    with reading(live, "steadfast") as reader:
        for step in ("", "steadf", "steadfast words, enough of them to shrink, and more: hurrah\n"):
            note.write_text(step)
            time.sleep(0.35)
        live.finds("hurrah", "moment/Empty.md")
    assert all(found == {"moment/Empty.md"} for found in reader.seen)
    note.write_text("")
    live.finds("steadfast")


def test_a_move_is_no_deletion(live: Agent, scratch: Path) -> None:
    vault = live.vault
    put(vault / "from" / "Wanderer.md", "wanderer\n")
    for number in range(12):
        put(vault / "deep" / "in" / f"d{number % 3}" / f"Deep {number}.md", "fathoms\n")
    live.finds("wanderer", "from/Wanderer.md")
    until(lambda: len(live.found("fathoms")) == 12)
    with reading(live, "wanderer") as reader, reading(live, "fathoms") as deep:
        here = vault / "from" / "Wanderer.md"
        for to in (
            "from/Other.md",
            "from/other.md",
            "far/away/other.md",
            "far/away/OTHER.md",
            "Back.md",
        ):
            (vault / to).parent.mkdir(parents=True, exist_ok=True)
            here = here.rename(vault / to)
            live.finds("wanderer", to)
        for old, new in (("deep", "Deep"), ("Deep/in", "Deep/IN"), ("Deep", "from/deep")):
            (vault / old).rename(vault / new)
            until(lambda new=new: all(path.startswith(new) for path in live.found("fathoms")))  # type: ignore[misc]
    assert all(reader.seen)
    names = [{path.rpartition("/")[2] for path in found} for found in deep.seen]
    assert all(len(found) == 12 for found in names)
    live.settles(scratch)


def test_new_folders_with_all_that_is_in_them(live: Agent, scratch: Path) -> None:
    vault = live.vault
    for number in range(8):
        put(vault / "new" / "a" / f"b{number}" / "c" / "d" / f"Leaf {number}.md", "foliage\n")
    shutil.copytree(vault / "base0", vault / "copied" / "here")
    wanted = {f"new/a/b{number}/c/d/Leaf {number}.md" for number in range(8)}
    live.finds("foliage", *wanted)
    shutil.move(vault / "new" / "a", vault.parent / "outside")
    live.finds("foliage")
    shutil.move(vault.parent / "outside", vault / "again")
    live.finds("foliage", *(path.replace("new/a", "again") for path in wanted))
    shutil.rmtree(vault / "again")
    live.finds("foliage")
    live.settles(scratch)


@linux
def test_names_of_all_kinds(live: Agent, scratch: Path) -> None:
    folder = live.vault / "names"
    names = [
        "Cafe\u0301.md",
        "\u8ba1\u5212.md",
        "line\nbreak.md",
        "quo\"te's.md",
        "caf?.md",
        " space .md",
        "100%.md",
    ]
    for name in names:
        put(folder / name, "onomastics\n")
    put(live.vault / "e\u0301tage" / "\u6865" / "Floor.md", "onomastics\n")
    shown = {f"names/{name}".replace("Cafe\u0301", "Caf\u00e9") for name in names} | {
        "\u00e9tage/\u6865/Floor.md"
    }
    live.finds("onomastics", *shown)
    bytes_only = os.fsencode(folder) + b"/caf\xe9.md"
    Path(os.fsdecode(bytes_only)).write_text("onomastics")
    odd = Path(os.fsdecode(os.fsencode(live.vault) + b"/fold\xe9r"))
    put(odd / "In.md", "onomastics\n")
    put(odd / "deeper" / "In.md", "onomastics\n")
    live.settles(scratch)
    live.finds("onomastics", *shown)
    Path(os.fsdecode(bytes_only)).unlink()
    put(folder / "Cafe\u0301.md", "changed\n")
    live.finds("onomastics", *shown - {"names/Caf\u00e9.md"})
    shutil.rmtree(odd)
    (folder / "line\nbreak.md").unlink()
    live.finds("onomastics", *shown - {"names/Caf\u00e9.md", "names/line\nbreak.md"})
    live.settles(scratch)


def test_what_takes_the_place_of_a_note(live: Agent, scratch: Path) -> None:
    folder = live.vault / "swap"
    for name in ("Link.md", "Folder.md", "Dir/In.md", "Both.md"):
        put(folder / name, f"swapped{name[0].lower()}\n")
    live.finds("swappedl", "swap/Link.md")
    live.finds("swappedd", "swap/Dir/In.md")
    (folder / "Link.md").unlink()
    (folder / "Link.md").symlink_to(live.vault / "base0" / "Note 0.md")
    (folder / "Folder.md").unlink()
    put(folder / "Folder.md" / "Inner.md", "swappedf\n")
    (folder / "Dir").rename(live.vault.parent / "Dir")
    (folder / "Dir").symlink_to(live.vault.parent / "Dir", target_is_directory=True)
    live.finds("swappedl")
    live.finds("swappedf", "swap/Folder.md/Inner.md")
    live.finds("swappedd")
    live.settles(scratch)
    (folder / "Link.md").unlink()
    put(folder / "Link.md", "swappedl again\n")
    shutil.rmtree(folder / "Folder.md")
    put(folder / "Folder.md", "swappedf again\n")
    (folder / "Dir").unlink()
    (live.vault.parent / "Dir").rename(folder / "Dir")
    live.finds("swappedl", "swap/Link.md")
    live.finds("swappedf", "swap/Folder.md")
    live.finds("swappedd", "swap/Dir/In.md")
    live.settles(scratch)


def test_deletions_are_applied_after_a_moment(live: Agent, scratch: Path) -> None:
    for number in range(6):
        put(live.vault / "doomed" / f"D{number}.md", "ephemeral\n")
    until(lambda: len(live.found("ephemeral")) == 6)
    with reading(live, "ephemeral") as reader:
        (live.vault / "doomed" / "D0.md").unlink()
        time.sleep(0.5)
        put(live.vault / "doomed" / "D0.md", "ephemeral, and back\n")
        until(lambda: live.found('"and back" ephemeral'))
    assert all(len(found) == 6 for found in reader.seen), "a note that comes back was never away"
    (live.vault / "doomed" / "D1.md").unlink()
    live.finds("ephemeral", *(f"doomed/D{number}.md" for number in (0, 2, 3, 4, 5)))
    shutil.rmtree(live.vault / "doomed")
    live.finds("ephemeral")
    live.settles(scratch)


def test_settings_of_the_editors_count_at_once(live: Agent, scratch: Path) -> None:
    both = ("secret/Plan.md", "pages/secret/Page.md")
    for path in both:
        put(live.vault / path, "clandestine\n")
    live.finds("clandestine", *both)
    for file, on, left in (
        (".obsidian/app.json", '{"userIgnoreFilters": ["secret/"]}', both[1:]),
        ("logseq/config.edn", '{:hidden ["/pages/secret"]}', both[:1]),
    ):
        with reading(live, "task") as reader:
            put(live.vault / file, on)
            live.finds("clandestine", *left)
            put(live.vault / file, "{}")
            live.finds("clandestine", *both)
        assert all(reader.seen)
    live.settles(scratch)


def test_a_branch_is_checked_out(own: Path, scratch: Path) -> None:
    vault = fill(own / "repository", 3)

    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false", *words],
            cwd=vault, check=True, capture_output=True,
        )  # fmt: skip

    for number in range(300):
        put(vault / f"g{number % 40}" / f"Git {number}.md", f"mainline of {number}\n")
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["commit", "-qm", "1"],
        ["checkout", "-qb", "side"],
    ):
        git(*words)
    for number in range(300):
        if number % 50:
            put(vault / f"g{number % 40}" / f"Git {number}.md", f"sideline of {number}\n")
    for number in range(30):
        put(vault / "only here" / f"Extra {number}.md", "sideline\n")
    (vault / "g0" / "Git 0.md").unlink()
    for words in (["add", "-A"], ["commit", "-qm", "2"], ["checkout", "-q", "main"]):
        git(*words)
    with agent_on(vault) as agent:
        agent.watches()
        agent.finds("sideline")
        for branch in ("side", "main"):
            git("checkout", "-q", branch)
            agent.settles(scratch)
            agent.finds('"mainline of 0"', *(["g0/Git 0.md"] if branch == "main" else []))
        for number in range(300):
            put(vault / "many" / f"m{number}" / "One.md", "multitude\n")
        agent.settles(scratch)
        put(vault / "many" / "m299" / "Two.md", "latecomer\n")
        agent.finds("latecomer", "many/m299/Two.md")


# A vault that vanishes


def test_a_vault_that_vanishes_keeps_its_index(own: Path, scratch: Path) -> None:
    vault = fill(own / "vanishing", 50)
    (vault / "most").mkdir()
    for part in ("base0", "base1", "base2"):
        (vault / part).rename(vault / "most" / part)
    with agent_on(vault) as agent:
        agent.watches()
        whole = agent.found("apple")
        away = vault.rename(own / "elsewhere")
        until(lambda: agent.status()["vanished"])
        assert agent.found("apple") == whole
        away.rename(vault)
        until(lambda: not agent.status()["vanished"])
        (vault / "most").rename(own / "kept")
        until(lambda: agent.status()["vanished"])
        assert agent.found("apple") == whole
        said = process("search", "apple", "--vault", str(vault), "--format", "json")
        assert "are gone from" in said.err
        shown = process("status", "--vault", str(vault), "--format", "text").out
        assert "--confirm-removals" in shown
        (own / "kept").rename(vault / "most")
        until(lambda: not agent.status()["vanished"])
        agent.settles(scratch)


SOON_GONE = "from vaultmem.agent import reconciler; from vaultmem.agent import debounce as pace; pace.GONE_WAIT, reconciler.GONE_RETRY = 0.4, 2.0"


def test_notes_that_go_one_after_the_other(own: Path, scratch: Path) -> None:
    vault = fill(own / "dwindling", 90)
    with agent_on(vault, SOON_GONE) as agent:
        agent.watches()
        for number in range(60):
            (vault / f"base{number % 3}" / f"Note {number}.md").unlink()
            if number % 10 == 9:
                until(lambda: agent.is_current() or agent.status()["vanished"])
                time.sleep(0.1)
        until(lambda: agent.status()["vanished"])
        left = agent.found("apple")
        assert len(left) >= 90 - 20
        refused = process("sync", "--no-embed", "--vault", str(vault))
        assert refused.code == 1
        assert "--confirm-removals" in one_line(refused)
        assert agent.found("apple") == left
        accepted = process("sync", "--no-embed", "--confirm-removals", "--vault", str(vault))
        assert accepted.code == 0, accepted.err
        assert len(agent.found("apple")) == 30
        assert agent.status()["vanished"] is None
        agent.settles(scratch)


IMPATIENT = f"{SOON_GONE}; from vaultmem.agent import debounce as losses; losses.WINDOW, reconciler.GONE_RETRY = 5.0, 0.5"


def test_what_is_kept_is_not_given_up_with_time(own: Path, scratch: Path) -> None:
    vault = fill(own / "dripping", 90)
    notes = [vault / f"base{number % 3}" / f"Note {number}.md" for number in range(30)]
    texts = [note.read_text() for note in notes]
    with agent_on(vault, IMPATIENT) as agent:
        agent.watches()
        for note in notes[:18]:
            note.unlink()
        until(lambda: len(agent.found("apple")) == 72)
        for note in notes[18:]:
            note.unlink()
        until(lambda: agent.status()["vanished"])
        put(vault / "base0" / "Meanwhile.md", "interim\n")
        agent.finds("interim", "base0/Meanwhile.md")
        time.sleep(6.0)  # longer than losses are remembered, and some looks at everything
        assert len(agent.found("apple")) >= 70  # with the first 18, two more are believed at most
        assert agent.status()["vanished"]
        for note, text in zip(notes[18:], texts[18:], strict=True):
            put(note, text)
        until(lambda: not agent.status()["vanished"])
        agent.settles(scratch)


def test_notes_are_read_though_most_are_gone_at_the_start(own: Path, scratch: Path) -> None:
    vault = fill(own / "halved", 60)
    with agent_on(vault) as agent:
        agent.watches()
        assert agent.ends() == 0
    away = (vault / "base1").rename(own / "base1 of halved")
    put(vault / "base0" / "Note 0.md", "elsewhere\n")
    put(vault / "New.md", "newcomer\n")
    (vault / "base2" / "Note 2.md").unlink()
    with agent_on(vault) as agent:
        agent.finds("newcomer", "New.md")
        agent.finds("elsewhere", "base0/Note 0.md")
        assert agent.status()["vanished"]
        assert len(agent.found("apple")) == 59
        refused = process("sync", "--no-embed", "--vault", str(vault))
        assert refused.code == 1
        assert "--confirm-removals" in one_line(refused)
        away.rename(vault / "base1")
        until(lambda: not agent.status()["vanished"])
        agent.settles(scratch)


def test_the_manifest_is_lost(own: Path, scratch: Path) -> None:
    vault = fill(own / "manifest", 20)
    with agent_on(vault) as agent:
        agent.watches()
        (agent.state / "manifest.json").unlink()
        put(vault / "Late.md", "belated\n")
        until((agent.state / "manifest.json").exists)
        agent.finds("belated", "Late.md")
        agent.settles(scratch)
        assert State(str(vault)).is_complete()
        assert len([*agent.state.glob("gen-*")]) == 1


# One agent for a vault


def test_a_second_agent_names_the_first(live: Agent) -> None:
    second = process("serve", "--vault", str(live.vault))
    assert second.code == 1
    assert f"process {live.process.pid}" in one_line(second)
    assert live.pid() == live.process.pid


def test_of_two_started_at_once_one_lives(own: Path) -> None:
    vault = fill(own / "twice", 5)
    for _ in range(3):
        with contextlib.ExitStack() as both:
            pair = [both.enter_context(ending(launched(vault, own / f"{n}.err"))) for n in range(2)]
            until(lambda pair=pair: sum(one.process.poll() is None for one in pair) == 1)  # type: ignore[misc]
            lives, ended = sorted(pair, key=lambda one: one.process.poll() is not None)
            assert ended.process.returncode == 1
            lives.answers()
            assert f"process {lives.process.pid}" in ended.err()


def test_what_a_dead_agent_leaves_is_no_hindrance(own: Path) -> None:
    vault = fill(own / "leftover", 5)
    with agent_on(vault) as agent:
        socket = Path(paths.socket_path(str(vault)))
        agent.watches()
        agent.process.kill()
        agent.process.wait()
        assert socket.exists()
        assert (agent.state / "lock").exists()
    assert process("search", "apple", "--vault", str(vault)).code == 0
    assert socket.exists()
    (agent.state / "lock").write_text(str(os.getpid()))
    half = agent.state / "gen-half"  # an index that it was building anew
    half.mkdir()
    with agent_on(vault) as agent:
        until(lambda: len(agent.found("apple")) == 5)
        until(lambda: not half.exists())


def test_a_sync_beside_the_agent_goes_through_it_and_searches_go_on(
    own: Path, scratch: Path
) -> None:
    vault = fill(own / "swapping", 40)
    with agent_on(vault) as agent, contextlib.ExitStack() as readers:
        agent.watches()
        all_of = [
            readers.enter_context(reading(agent, words)) for words in ("apple", "roof task", "#t1")
        ]
        for turn in range(8):
            put(vault / "base0" / "Note 0.md", f"apple roof task {turn} #t1\n")
            if turn % 2:
                time.sleep(0.3)
            agent.call("sync", rebuild=True, embed=False)
        for words in ([], ["--rebuild"]):
            done = process("sync", "--no-embed", *words, "--vault", str(vault), "--format", "json")
            assert done.code == 0, done.err
            assert done.data["rebuilt"] is bool(words)
        readers.close()
        assert all(len(found) >= 8 for reader in all_of for found in reader.seen)
        assert agent.pid() == agent.process.pid
        assert len([*agent.state.glob("gen-*")]) == 1
        agent.settles(scratch)


LINGERING = """
import time
from vaultmem.index import state
real = state.State.adopt
def adopt(*words, **given):
    real(*words, **given)
    time.sleep(1.0)
state.State.adopt = adopt
"""


def test_a_search_right_after_the_old_index_was_removed(own: Path) -> None:
    """The new index is in force, and the searcher that is open has yet to hear of it."""
    vault = fill(own / "lingering", 10)
    with agent_on(vault, f"exec({LINGERING!r}, {{}})") as agent:
        agent.watches()
        assert len(agent.found("apple")) == 10
        before = State(str(vault)).generation()
        put(vault / "base0" / "Note 0.md", "apple, changed\n")
        time.sleep(
            1.0
        )  # the searcher has not seen this; to ask whether it is indexed would show it
        rebuild = threading.Thread(target=lambda: agent.call("sync", rebuild=True, embed=False))
        rebuild.start()
        until(lambda: State(str(vault)).generation() != before)
        try:
            assert len(agent.found("apple")) == 10
        finally:
            rebuild.join()


HOLDING = """
import sys
from vaultmem.index.state import State
with State(sys.argv[1]).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_sync_that_runs_is_waited_for(own: Path) -> None:
    vault = fill(own / "patient", 5)
    words = [sys.executable, "-c", HOLDING, str(vault)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with ending(launched(vault, own / "patient.err")) as agent:
            until(lambda: f"process {holder.pid}) is at work on this vault" in agent.err())
            holder.stdin.close()
            assert holder.wait(PATIENCE) == 0
            agent.answers()
            until(lambda: len(agent.found("apple")) == 5)


@pytest.fixture(scope="module")
def large(own: Path) -> Path:
    """A vault whose first indexing takes a while."""
    vault = own / "large"
    (vault / ".obsidian").mkdir(parents=True)
    for number in range(800):
        text = (
            f"# Page {number}\n\napple roof [[Page {number * 7 % 800}]]\n\n"
            + "word of filling " * 60
        )
        put(vault / f"f{number % 30}" / f"Page {number}.md", text)
    return vault


def test_the_end_comes_soon_and_clean_in_the_middle_of_work(
    large: Path, own: Path, scratch: Path
) -> None:
    """Every moment of the first indexing will do: the next start goes on from what was reached."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTMEM_STATE", str(own / "ended"))
        state = State(str(large))
        for turn in range(6):
            number = (signal.SIGTERM, signal.SIGINT)[turn % 2]
            agent = launched(large, own / "ended.err")
            with ending(agent):
                agent.answers()
                time.sleep(0.13 * turn)
                assert agent.ends(number) == 0, agent.err()
            if turn == 3:
                shutil.rmtree(state.folder)
            assert "Traceback" not in agent.err()
        with agent_on(large) as agent:
            until(agent.is_current)
            assert not differing(large, scratch)
            assert state.is_complete()
            assert agent.ends() == 0


def test_the_first_notes_are_found_before_the_last_are_read(large: Path, own: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTMEM_STATE", str(own / "first"))
        few = "from vaultmem.agent import reconciler; reconciler.FIRST_BATCH = 20"
        with agent_on(large, few) as agent:
            early = until(
                lambda: [one for one in [agent.asked("search", "apple")] if one.data["results"]]
            )[0]
            assert "the first indexing is not finished" in early.err
            until(lambda: State(str(large)).is_complete())
            assert not agent.asked("search", "apple").err


def schedule(agent: Agent) -> object:
    """When the first job runs; nothing while the agent begins anew."""
    with contextlib.suppress(client.AgentError, TypeError):
        return next((job["schedule"] for job in agent.status()["jobs"]), None)
    return None


def test_settings_that_change_make_it_begin_anew(own: Path) -> None:
    vault = fill(own / "settled", 5)
    config = Path(paths.config_file())
    with agent_on(vault) as agent:
        agent.watches()
        until(lambda: schedule(agent) == "5m")
        put(config, "jobs:\n  reconcile: 7m\n")
        agent.process.send_signal(signal.SIGHUP)
        until(lambda: schedule(agent) == "7m")
        assert agent.pid() == agent.process.pid
        assert len(agent.found("apple")) == 5
        put(config, "jobs:\n  reconcile: 9m\n")
        assert process("search", "apple", "--vault", str(vault)).code == 0
        until(lambda: schedule(agent) == "9m")
        config.unlink()


def test_broken_settings_are_survived(own: Path) -> None:
    vault = fill(own / "unsettled", 5)
    config = Path(paths.config_file())
    with agent_on(vault) as agent:
        agent.watches()
        put(config, "jobs: [broken\n")
        agent.process.send_signal(signal.SIGHUP)
        until(lambda: str(config) in agent.err())
        config.unlink()
        until(lambda: agent.pid() == agent.process.pid)
        put(vault / "Late.md", "belated\n")
        until(lambda: agent.found("belated"))


def test_state_that_is_deleted_under_it_comes_back(own: Path, scratch: Path) -> None:
    vault = fill(own / "stateless", 20)
    with agent_on(
        vault, patch="from vaultmem.agent import agent; agent.CHECK_EVERY = 0.5"
    ) as agent:
        agent.watches()
        with reading(agent, "apple") as reader:
            gone = own / "gone"
            agent.state.rename(gone)  # at once: what it writes meanwhile would keep the folder
            shutil.rmtree(gone, ignore_errors=True)
            until(lambda: "restarting" in agent.err())
            reader.ending.set()
            reader.join()
            reader.errors.clear()  # it was away for a moment while it began anew
        until(lambda: agent.pid() == agent.process.pid and len(agent.found("apple")) == 20)
        put(vault / "Late.md", "belated\n")
        agent.finds("belated", "Late.md")
        agent.settles(scratch)
        assert process("serve", "--vault", str(vault)).code == 1


# Clocks

JUMPING = """
import os, time
from vaultmem.agent import scheduler as clock
real, flag = time.time, os.environ["CLOCK_FLAG"]
def shown():
    return real() + (float(open(flag).read() or 0) if os.path.exists(flag) else 0.0)
time.time = shown
clock.Timing._field_defaults.update(now=shown, jitter=0.1, heartbeat=0.1)
"""


def test_the_clock_may_jump(own: Path, tmp_path: Path, scratch: Path) -> None:
    """The computer sleeps, somebody sets the clock back, summer time ends: it is compared, and goes on."""
    vault, flag = fill(own / "jumping", 20), tmp_path / "flag"
    with agent_on(
        vault, f"exec({JUMPING!r}, {{}})", CLOCK_FLAG=str(flag), TZ="Europe/Berlin"
    ) as agent:
        agent.watches()
        until(lambda: schedule(agent), what="no job is planned, so no clock is compared")
        for hours, way in ((30, "forward"), (29, "back"), (-400, "back"), (0, "forward")):
            put(tmp_path / "new flag", str(hours * 3600.0)).rename(flag)
            until(lambda way=way: f"the clock went {way} by" in agent.err())  # type: ignore[misc]
            put(vault / "Hour.md", f"hourglass{hours + 500}\n")
            agent.finds(f"hourglass{hours + 500}", "Hour.md")
        assert agent.err().count("the clock went") >= 3
        agent.settles(scratch)


def test_a_note_from_the_future_is_read_once_and_again_when_it_changes(
    own: Path, scratch: Path
) -> None:
    """As after the clock was set back: such a time proves nothing, and may not keep the agent busy."""
    vault = fill(own / "future", 5)
    note, ahead = put(vault / "Ahead.md", "tomorrow aaa\n"), time.time_ns() + 86_400 * 10**9
    os.utime(note, ns=(ahead, ahead))
    with agent_on(vault, VAULTMEM_DEBUG="1") as agent:
        agent.watches()
        agent.finds("tomorrow aaa", "Ahead.md")
        note.write_text("tomorrow bbb\n")
        os.utime(note, ns=(ahead, ahead))
        agent.finds('"tomorrow bbb"', "Ahead.md")
        agent.settles(scratch)
        until(agent.is_current)
        assert agent.status()["waiting"] == 0


# A disk that is full, or cannot be written


SMALL_DISK = """
import os, subprocess, sys, time
from pathlib import Path
from tests.agent_run import agent_on, until

vault, place, scratch = map(Path, sys.argv[1:])

def mount(*words):
    subprocess.run(["mount", *words], check=True)

mount("-t", "tmpfs", "-o", "size=4m", "none", str(place))
os.environ["VAULTMEM_STATE"] = str(place / "s")
with agent_on(vault, "from vaultmem.agent import reconciler; reconciler.RETRY_AFTER = 0.5") as agent:
    agent.watches()

    def trouble_is_told(note, word):
        until(lambda: " error " in agent.err(), what="no error in the log")
        assert agent.found("apple") == whole
        assert not agent.found(word)
        assert agent.status()["last_error"]
        assert agent.process.poll() is None

    def catches_up(path, word):
        until(lambda: word and agent.found(word) == {path}, what=agent.err())
        until(agent.is_current)
        assert agent.found("apple") == whole
        agent.settles(scratch)

    whole = agent.found("apple")
    filler = place / "filler"
    with filler.open("wb", 0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    for number in range(40):
        (vault / f"Crowd {number}.md").write_text(f"overflowing {number} " * 400)
    trouble_is_told(vault, "overflowing")
    filler.unlink()
    until(lambda: len(agent.found("overflowing")) == 40, what=agent.err())
    agent.settles(scratch)

    agent.said.write_text("")
    mount("--bind", str(place), str(place))
    mount("-o", "remount,bind,ro", str(place))
    (vault / "Frozen.md").write_text("frozen solid")
    trouble_is_told(vault, "frozen")
    mount("-o", "remount,bind,rw", str(place))
    catches_up("Frozen.md", "frozen")
    assert "Traceback" not in agent.err()
    assert agent.ends() == 0
"""


@mounts
def test_a_full_disk_and_one_that_cannot_be_written_are_survived(own: Path, scratch: Path) -> None:
    vault, place = fill(own / "crowded", 30), own / "disk"
    place.mkdir()
    runs_with_mounts(SMALL_DISK, vault, place, scratch)


# Flatness


SOAK = float(os.environ.get("VAULTMEM_SOAK", some(3)))  # seconds


@linux
def test_it_does_not_grow(own: Path, scratch: Path) -> None:
    """Thousands of edits and searches, and in the end the files, threads and memory of the beginning."""
    vault = fill(own / "soaked", 300)
    with agent_on(vault) as agent:
        agent.watches()
        measured = [
            work_on(agent, 0, some(3))
        ]  # warm: searchers are open, the writer has its memory
        turn, end = 1, time.monotonic() + SOAK
        while time.monotonic() < end:
            measured.append(work_on(agent, turn, SOAK / 8))
            turn += 1
        agent.call("sync", rebuild=True, embed=False, confirm_removals=True)
        measured.append(agent.numbers())
        print(*measured, agent.status()["requests"], sep="\n")
        files, threads, memory = zip(*measured, strict=True)
        assert max(files[1:]) <= files[0] + 6
        assert max(threads[1:]) <= threads[0] + 3
        assert memory[-1] < memory[0] + 40_000_000
        assert memory[-1] < memory[len(memory) // 2] + 20_000_000
        agent.settles(scratch)


def work_on(agent: Agent, turn: int, seconds: float) -> tuple[int, int, int]:
    """Edit and search for a while, wait until it is done, and measure."""
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        number += 1
        note = agent.vault / f"base{number % 3}" / f"Note {number % 300}.md"
        put(
            note,
            f"# Note {number % 300}\n\napple roof {turn} {number} [[Note {number % 7}]]\n"
            + "more of it " * (number % 90),
        )
        if number % 10 == 0:
            extra = put(agent.vault / f"extra{number % 4}" / f"Extra {number}.md", "apple\n")
            extra.rename(extra.with_suffix(".MD" if number % 20 else ".md"))
            shutil.rmtree(agent.vault / f"extra{(number + 10) % 4}", ignore_errors=True)
        agent.call("search", query=f"apple {number % 50}")
        if number % 500 == 0:
            agent.call("sync", rebuild=number % 2000 == 0, embed=False, confirm_removals=True)
    for left in agent.vault.glob("extra*"):
        shutil.rmtree(left)
    agent.call("sync", embed=False, confirm_removals=True)
    until(agent.is_current)
    return agent.numbers()
