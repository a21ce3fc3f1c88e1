"""The cost of writing, finding, dreaming over and undoing memories, and how it grows with their number.

    python benchmarks/memories.py [--memories 10000] [--state FOLDER] [--only write,storm,look,dream,past] [--semantic]
                                  [--prose]

Beside every write stands a raw script that writes the same bytes the safe way (a file of its own, fsync,
rename), beside every process `python -c pass`. The memories are made up (make_memories.py); with --prose they and what
is written are sentences of real texts (make_prose.py). With --semantic they are embedded first, and dreams and the
agent use the model.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import make_prose
from agent import Running
from make_memories import FOLDER, texts
from timing import (
    BARE,
    HERE,
    VAULTMEM,
    Row,
    Run,
    about,
    in_turns,
    print_table,
    quantile,
    ratios,
    run,
    surroundings,
    taken,
    typical,
)

PARTS = ("write", "storm", "look", "dream", "past")
JOBS = ("EXPIRE", "UPGRADE", "DECAY", "CONSOLIDATE", "DREAM")
RAW = """
import os, sys
folder, data = sys.argv[1], sys.argv[2].encode()
with open(folder + "/new", "wb") as file:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())
os.replace(folder + "/new", folder + "/" + os.urandom(8).hex() + ".md")
"""
READ_ALL = "import pathlib, sys; [p.read_bytes() for p in pathlib.Path(sys.argv[1]).rglob('*.md')]"


class Bench:
    """Vaults of memories, each made and indexed once, and what is measured on copies of them."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options = options
        self.work = work
        self.env = surroundings(work)
        self.env |= {f"VAULTMEM_JOBS_{name}": "off" for name in JOBS}
        if not options.semantic:
            self.env["VAULTMEM_EMBEDDING_MODEL"] = "off"

    @property
    def most(self) -> int:
        """The number of memories in the largest vault."""
        return int(self.options.memories)

    def vault(self, count: int) -> Path:
        """The vault with this many memories, which must not be changed."""
        made = self.work / f"made {count}{' of prose' * self.options.prose}"
        if not made.exists():
            unfinished = made.with_name(f"{made.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            maker = str(HERE / "make_memories.py")
            prose = ["--prose"] * self.options.prose
            run(
                [sys.executable, maker, str(unfinished), "--memories", str(count), *prose], self.env
            )
            unfinished.rename(made)
        return made

    @contextlib.contextmanager
    def copy(self, count: int, *, indexed: bool = True) -> Iterator[Path]:
        """A vault to work on, with its index."""
        copy = self.work / f"copy {count}"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.vault(count), copy)
        made = self.vault(count).name.removeprefix("made ")
        kept = self.work / f"state {made}{' with vectors' * self.options.semantic}"
        state = Path(self.env["VAULTMEM_STATE"])
        shutil.rmtree(state, ignore_errors=True)
        if kept.exists():
            shutil.copytree(kept, state)
        if indexed:
            flags = [] if self.options.semantic else ["--no-embed"]
            confirmed = "--confirm-removals"  # the stored index has another folder's name
            run([*VAULTMEM, "sync", confirmed, *flags, "--vault", str(copy)], self.env)
            if not kept.exists():
                shutil.copytree(state, kept)
        try:
            yield copy
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    @contextlib.contextmanager
    def agent(self, count: int) -> Iterator[Running]:
        """An agent of such a vault, once it has nothing left to do."""
        with self.copy(count) as vault:
            agent = Running(vault, self.env)
            try:
                agent.settle()
                yield agent
            finally:
                agent.close()

    def rows(self) -> Iterator[Row]:
        """All requested measurements."""
        parts: dict[str, Callable[[], Iterator[Row]]] = {
            "write": self.writes, "storm": self.storm, "look": self.looks, "dream": self.dreams, "past": self.past,
        }  # fmt: skip
        for name in self.options.only.split(","):
            yield from parts[name]()

    # Writing

    def writes(self) -> Iterator[Row]:
        """One client, with no memories, some, and many; then without an agent."""
        for count in dict.fromkeys((0, self.most // 10, self.most)):
            with self.agent(count) as agent:
                before = agent.process.cpu_times()
                mine, raw = _writes(agent, self._to_write())
                after = agent.process.cpu_times()
                used = (after.user + after.system - before.user - before.system) / len(mine)
                times = [a / b for a, b in zip(mine, raw, strict=True)]
                what = f"write through the agent at {count:,} memories"
                yield Row(what, "p50 ≤ 20 ms", _spread(mine), f"{median(times):.1f} × raw write")
                yield Row("  processor time of the agent for each", "", f"{used * 1000:.0f} ms")
                if count == self.most:
                    yield Row("  memory of the agent", "", f"{_memory(agent):.0f} MB")
            with self.copy(count) as vault:
                yield from self._write_alone(vault, count)

    def _to_write(self) -> list[str]:
        count = self.options.writes + 5
        return make_prose.sentences(count, self.most) if self.options.prose else texts(count)

    def _write_alone(self, vault: Path, count: int) -> Iterator[Row]:
        said = iter(texts(4 * self.options.pairs + 8, seed=5))
        write = lambda: run([*VAULTMEM, "write", next(said), "--vault", str(vault)], self.env)  # noqa: E731
        write()
        write()
        raw = partial(run, [sys.executable, "-c", RAW, str(vault), "text " * 100], self.env)
        mine, bare = in_turns(write, partial(run, BARE, self.env), self.options.pairs)
        again, theirs = in_turns(write, raw, self.options.pairs)
        took, beside = typical([*mine, *again]), f"{ratios(again, theirs).wall:.2f} × raw script"
        ratio = f"{ratios(mine, bare).wall:.2f} × bare Python, {beside}"
        yield Row(f"  vaultmem write at {count:,}, no agent", "", taken(took), ratio)

    def storm(self) -> Iterator[Row]:
        """Many assistants at once."""
        assistants, each = self.options.assistants, self.options.each
        with self.agent(self.most // 10) as agent:
            begun = time.perf_counter()
            took, written = _storm(agent, assistants, each)
            total = time.perf_counter() - begun
            files = [path.read_text("utf-8") for path in (agent.vault / FOLDER).rglob("*.md")]
        ids = Counter(
            line.split()[1]
            for text in files
            for line in text.split("\n")
            if line.startswith("vaultmem: ")
        )
        lost = sum(id_ not in ids for id_ in written)
        twice = sum(count > 1 for count in ids.values())
        twice += sum(count > 1 for count in Counter(written).values())
        label = f"{assistants} assistants × {each} writes at once"
        rate = f"{len(took) / total:.0f} a second"
        yield Row(label, "", f"{total:.1f} s, {rate}, {_spread(took)}")
        yield Row("  lost, duplicates", "0, 0", f"{lost}, {twice}")

    # Reading

    def looks(self) -> Iterator[Row]:
        """Read and list, with and without an agent; find by the beginning of an id."""
        with self.agent(self.most) as agent:
            for what, params in self._questions(agent):
                verb, _, name = what.partition(" ")
                ask = partial(agent.link.ask, "memory", verb=verb, params=params)
                took = [_timed(ask) for _ in range(self.options.repeats)]
                yield Row(f"{verb} {name}".strip() + f" at {self.most:,}", "", _spread(took))
            yield Row("  memory of the agent", "", f"{_memory(agent):.0f} MB")
            words = dict(self._questions(agent))
        id_ = str(words["read by the beginning of an id"]["id"])
        with self.copy(self.most) as vault:
            for command in (["read", id_], ["list"], ["list", "--limit", "20", "--tags", "x"]):
                yield self._looked(command, vault)

    def _looked(self, words: list[str], vault: Path) -> Row:
        command = [*VAULTMEM, *words, "--vault", str(vault)]
        first = run(command, self.env)
        mine, bare = in_turns(
            partial(run, command, self.env), partial(run, BARE, self.env), self.options.pairs
        )
        ratio = f"{ratios(mine, bare).wall:.2f} × bare Python; first {first.wall:.2f} s"
        label = f"vaultmem {' '.join(words)} at {self.most:,}, no agent"
        return Row(label, "≤ 1 s", taken(typical(mine)), ratio)

    def _questions(self, agent: Running) -> Iterator[tuple[str, dict[str, object]]]:
        listed = agent.link.ask("memory", verb="list", params={"limit": 20})["memories"]
        assert isinstance(listed, list)
        one = listed[-1]
        yield "read by id", {"id": one["id"]}
        yield "read by the beginning of an id", {"id": one["id"][:8]}
        yield "read by title", {"id": one["title"]}
        yield "list the newest 100", {}
        yield "list of a category", {"category": "people", "limit": 20}

    # Dreams

    def dreams(self) -> Iterator[Row]:
        """Each level over the same memories: previewed, done, and repeated."""
        for level in (1, 2, 3):
            with self.copy(self.most) as vault:
                read = run([sys.executable, "-c", READ_ALL, str(vault)], self.env)
                dream = ["dream", "--level", str(level), "--limit", "1000000"]
                shown = self._process([*dream, "--dry-run"], vault)
                yield _dreamt(f"dream {level} over {self.most:,}, --dry-run", "", shown, read)
                done = self._process(dream, vault)
                budget = "≤ 60 s CPU" if level == 2 else ""
                yield _dreamt(f"dream {level} over {self.most:,}", budget, done, read)
                yield _dreamt("  once more", "", self._process(dream, vault), read)

    def _process(self, words: Sequence[str], vault: Path) -> Run:
        return run([*VAULTMEM, *words, "--format", "json", "--vault", str(vault)], self.env)

    # History

    def past(self) -> Iterator[Row]:
        """The history of many batches, inside one process."""
        with self.copy(self.most // 10) as vault:
            for name in os.environ.keys() - self.env.keys():
                del os.environ[name]
            os.environ.update(self.env)
            yield from _past(vault, self.options.batches)


def _past(vault: Path, count: int) -> Iterator[Row]:
    from vaultmem import Vault
    from vaultmem.api.rpc import Reader, carry_out
    from vaultmem.pending.open_store import open_store

    with Vault(str(vault)) as opened:
        store = open_store(opened.state, opened.config, lambda _: None)
        with opened.state.lock():
            found = _timed(store.remember)
            yield Row("history of what was found", "", f"{found / 1000:.2f} s")
            wrote = [_timed(partial(carry_out, store, Reader(opened), "write", {"content": text}))
                     for text in texts(count, seed=3)]  # fmt: skip
            yield Row(f"{count:,} writes inside a process", "", _spread(wrote))
            took = _timed(store.remember)
            share = f"{took / count:.2f} ms each"
            yield Row(f"history of {count:,} batches", "", f"{took / 1000:.2f} s, {share}")
            for name, params in (
                ("history", {}),
                ("undo", {"last": True}),
                ("undo", {"last": True}),
            ):
                took = _timed(partial(carry_out, store, Reader(opened), name, params))
                yield Row(f"  {name} {'--last' * bool(params)}".rstrip(), "", f"{took:.0f} ms")


def _writes(agent: Running, contents: Sequence[str]) -> tuple[list[float], list[float]]:
    """Milliseconds of writes over the socket, and of raw writes of the same bytes."""
    mine, raw = [], []
    folder = agent.vault.with_name("raw")
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(contents):
        ask = partial(agent.link.ask, "memory", verb="write", params={"content": text, "by": "x"})
        begun = time.perf_counter()
        written = ask()
        took = (time.perf_counter() - begun) * 1000
        data = (agent.vault / str(written["path"])).read_bytes()
        plain = _timed(partial(_raw_write, folder, number, data))
        if number >= 5:
            mine.append(took)
            raw.append(plain)
        time.sleep(0.01)
    shutil.rmtree(folder)
    return mine, raw


def _raw_write(folder: Path, number: int, data: bytes) -> None:
    with (folder / "new").open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    (folder / "new").replace(folder / f"{number}.md")


def _storm(agent: Running, assistants: int, each: int) -> tuple[list[float], list[str]]:
    """Milliseconds of each write, and the returned ids."""
    from agent import Link

    said = texts(assistants * each, seed=4)
    took: list[float] = []
    written: list[str] = []

    def work(number: int) -> None:
        link = Link(agent.path)
        for text in said[number * each : (number + 1) * each]:
            begun = time.perf_counter()
            params = {"content": text, "agent": f"assistant {number}"}
            found = link.ask("memory", verb="write", params=params)
            took.append((time.perf_counter() - begun) * 1000)
            written.append(str(found["id"]))
        link.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(assistants)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took, written


def _timed(action: Callable[[], object]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    action()
    return (time.perf_counter() - begun) * 1000


def _memory(agent: Running) -> float:
    return float(agent.process.memory_info().rss / 1e6)


def _spread(took: Sequence[float]) -> str:
    return f"p50 {median(took):.1f} ms, p90 {quantile(took, 0.9):.1f} ms"


def _dreamt(what: str, budget: str, took: Run, read: Run) -> Row:
    measured = f"CPU {took.cpu:.1f} s, {took.wall:.1f} s, {took.memory:.0f} MB"
    return Row(what, budget, measured, f"{took.cpu / read.cpu:.1f} × reading the files")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--state", type=Path, help="where vaults are kept for the next run")
    parser.add_argument("--only", default=",".join(PARTS), help="write, storm, look, dream, past")
    parser.add_argument("--writes", type=int, default=100, help="through an agent")
    parser.add_argument("--pairs", type=int, default=11, help="runs of each whole process")
    parser.add_argument("--repeats", type=int, default=50, help="of each question")
    parser.add_argument("--assistants", type=int, default=20)
    parser.add_argument("--each", type=int, default=50, help="writes of each assistant")
    parser.add_argument("--batches", type=int, default=1000, help="for the history")
    parser.add_argument("--semantic", action="store_true", help="with vectors: embeds all first")
    parser.add_argument("--prose", action="store_true", help="with sentences of real texts")
    options = parser.parse_args()
    if unknown := set(options.only.split(",")) - set(PARTS):
        parser.error(f"--only knows {', '.join(PARTS)}, not {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="vaultmem-memories-") as temporary:
        work = options.state or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        bench = Bench(options, work)
        print(about(bench.vault(options.memories)))
        print_table(list(bench.rows()))


if __name__ == "__main__":
    main()
