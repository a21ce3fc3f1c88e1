"""How long the agent takes from save to search, under a storm of saves and at rest, and the cost of a search through
it.

python benchmarks/agent.py [--notes 10000] [--folder FOLDER] [--saves 60] [--storm 5000] [--idle 20]

Everything is measured from outside, with the agent as a process of its own. The notes that are saved are
the benchmark's own, in a folder of the vault that is removed in the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import psutil
import timing
from queries import make_queries, neighbours
from timing import (
    BARE,
    VAULTMEM,
    Row,
    about,
    print_table,
    quantile,
    ready_vault,
    run,
    surroundings,
    typical,
    whole_process,
)

OWN = "Measured saves"
LOOK_EVERY = 0.004  # seconds
BARE_EVERY = 50  # questions
PATIENCE = 60.0


class Link:
    """A connection to the agent."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._lines = self._socket.makefile("r", encoding="utf-8")

    def ask(self, method: str, **params: object) -> dict[str, object]:
        """A method's result."""
        self._socket.sendall(
            json.dumps({"id": 1, "method": method, "params": params}).encode() + b"\n"
        )
        reply = json.loads(self._lines.readline())
        if "result" not in reply:
            raise SystemExit(f"{method} failed: {reply}")
        return dict(reply["result"])

    def finds(self, word: str) -> bool:
        """Whether a search for a word has a result."""
        return bool(self.ask("search", query=word, limit=1, keyword=True)["count"])

    def close(self) -> None:
        """Close the connection."""
        self._lines.close()
        self._socket.close()


class Running:
    """A vault's agent as a process."""

    def __init__(self, vault: Path, env: dict[str, str]) -> None:
        self.vault = vault
        self.path = _socket_path(vault, env)
        started = time.perf_counter()
        self.child = subprocess.Popen(
            [*VAULTMEM, "serve", "--vault", str(vault)], env=env, stderr=subprocess.DEVNULL
        )
        while True:
            with contextlib.suppress(OSError):
                self.link = Link(self.path)
                break
            time.sleep(0.002)
        self.link.ask("ping")
        self.ready = time.perf_counter() - started
        self.process = psutil.Process(self.child.pid)

    def settle(self) -> None:
        """Wait until it is up to date."""
        while True:
            told = self.link.ask("status")["agent"]
            assert isinstance(told, dict)
            if told["current"] and not told["embedding"]["running"]:
                return
            time.sleep(0.1)

    def close(self) -> None:
        """End it, and check that it ends in time."""
        self.link.close()
        self.child.terminate()
        self.child.wait(10)


def _socket_path(vault: Path, env: dict[str, str]) -> str:
    code = "import sys; from vaultmem import paths; print(paths.socket_path(sys.argv[1]))"
    found = subprocess.run(
        [sys.executable, "-c", code, str(vault)],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.strip()


def saves(agent: Running, count: int) -> list[float]:
    """Seconds from the end of a save until a search finds it; half of the saves are renames."""
    rng = random.Random(7)
    notes = [agent.vault / OWN / f"Saved {number}.md" for number in range(10)]
    notes[0].parent.mkdir(exist_ok=True)
    for note in notes:
        note.write_text(f"# {note.stem}\n\nThe first words.\n", "utf-8")
    time.sleep(3)
    took = []
    for number in range(count):
        word = f"zq{rng.getrandbits(40):x}"
        note = rng.choice(notes)
        text = f"{note.read_text('utf-8')}\nA line with {word}.\n"
        if number % 2:
            other = note.with_name(f".{note.name}.new")
            other.write_text(text, "utf-8")
            other.replace(note)
        else:
            note.write_text(text, "utf-8")
        took.append(_until_found(agent.link, word))
        time.sleep(rng.uniform(0.05, 0.4))
    return took


def _until_found(link: Link, word: str) -> float:
    started = time.perf_counter()
    while not link.finds(word):
        if time.perf_counter() - started > PATIENCE:
            raise SystemExit(f"{word} was not found within {PATIENCE:.0f} s")
        time.sleep(LOOK_EVERY)
    return time.perf_counter() - started


def storm(agent: Running, count: int, words: Sequence[str]) -> tuple[float, float, list[float]]:
    """Save this many notes as fast as possible. Returns the seconds that took, the seconds after the last one until
    all are found, and the milliseconds of searches meanwhile."""
    folder = agent.vault / OWN / "Storm"
    folder.mkdir(parents=True, exist_ok=True)
    ended = threading.Event()
    searches: list[float] = []
    asking = threading.Thread(target=_keep_asking, args=(agent.path, words, ended, searches))
    asking.start()
    started = time.perf_counter()
    for number in range(count):
        text = f"# Storm {number}\n\nA note of the storm with storm{number}x. [[Storm {number // 2}]]\n"
        (folder / f"Storm {number}.md").write_text(text, "utf-8")
    written = time.perf_counter()
    checks = [*random.Random(3).sample(range(count), min(count, 40)), count - 1]
    for number in checks:
        _until_found(agent.link, f"storm{number}x")
    found = time.perf_counter()
    ended.set()
    asking.join()
    return written - started, found - written, searches


def _keep_asking(
    path: str, words: Sequence[str], ended: threading.Event, took: list[float]
) -> None:
    link = Link(path)
    while not ended.is_set():
        for word in words:
            started = time.perf_counter()
            link.ask("search", query=word, limit=10, keyword=True)
            took.append((time.perf_counter() - started) * 1000)
            time.sleep(0.005)
            if ended.is_set():
                break
    link.close()


def asked(link: Link, questions: Sequence[str], repeats: int, **how: object) -> list[float]:
    """Milliseconds that each question takes over the socket; the median of several rounds."""
    rounds = []
    for _ in range(repeats + 1):
        times = []
        for question in questions:
            started = time.perf_counter()
            link.ask("search", query=question, limit=10, **how)
            times.append((time.perf_counter() - started) * 1000)
        rounds.append(times)
    return [median(times) for times in zip(*rounds[1:], strict=True)]


def each_once(agent: Running, questions: Sequence[str], env: dict[str, str]) -> Row:
    """The time of questions that were not asked before, and their processor time, also compared with bare Python: the
    same search takes twice as long on a busy machine."""
    before, took, bare = agent.process.cpu_times(), [], []
    for number, question in enumerate(questions):
        if number % BARE_EVERY == 0:
            bare.append(run(BARE, env))
        started = time.perf_counter()
        agent.link.ask("search", query=question, limit=10, keyword=True)
        took.append((time.perf_counter() - started) * 1000)
    after, cpu = agent.process.cpu_times(), typical(bare).cpu * 1000
    used = 1000 * (after.user + after.system - before.user - before.system) / len(questions)
    label = f"  {len(questions):,} questions, each once"
    ratio = f"CPU {used:.2f} ms each, {used / cpu:.2f} × bare Python"
    return Row(label, "p50 ≤ 1.5 ms, p99 ≤ 3 ms", _spread(took, "ms"), ratio)


def at_rest(agent: Running, seconds: float) -> tuple[float, float]:
    """The agent's percentage of a processor while nothing happens, and its memory in MB."""
    before, started = agent.process.cpu_times(), time.perf_counter()
    time.sleep(seconds)
    after = agent.process.cpu_times()
    used = after.user + after.system - before.user - before.system
    share = 100 * used / (time.perf_counter() - started)
    return share, agent.process.memory_info().rss / 1e6


def whole(vault: Path, env: dict[str, str], pairs: int) -> Row:
    """`vaultmem search WORD` as a whole process, compared with `python -c pass`."""
    word = make_queries(vault)["rare word"][0]
    command = [*VAULTMEM, "search", "--keyword", word, "--vault", str(vault)]
    run(command, env)
    search = partial(run, command, env)
    return whole_process(
        "vaultmem search WORD, whole process", "≤ 3.5 × bare Python", search, env, pairs
    )


def _spread(took: Sequence[float], unit: str) -> str:
    places = 2 if unit == "ms" else 3
    figures = (("p50", median(took)), ("p99", quantile(took, 0.99)), ("max", max(took)))
    return ", ".join(f"{name} {value:.{places}f} {unit}" for name, value in figures)


def rows(options: argparse.Namespace, vault: Path, env: dict[str, str]) -> Iterator[Row]:
    """All measurements, one after the other."""
    agent = Running(vault, env)
    try:
        yield Row("from start to the first answer", "≤ 0.3 s", f"{agent.ready:.2f} s")
        agent.settle()
        yield whole(vault, env, options.pairs)
        questions = [query for each in make_queries(vault).values() for query in each]
        keyword = asked(agent.link, questions, options.repeats, keyword=True)
        yield Row("a search by keyword over the socket", "p50 ≤ 1 ms", _spread(keyword, "ms"))
        yield each_once(agent, neighbours(vault, options.questions), env)
        if options.semantic:
            agent.link.ask("search", query=questions[0], semantic=True)
            hybrid = asked(agent.link, questions, options.repeats, semantic=True)
            yield Row("a search by keyword and meaning", "p50 ≤ 15 ms", _spread(hybrid, "ms"))
        took = saves(agent, options.saves)
        yield Row("from save to search", "p50 ≤ 0.35 s, p99 ≤ 0.6 s", _spread(took, "s"))
        written, found, searches = storm(agent, options.storm, questions)
        label = f"{options.storm:,} notes saved in {written:.1f} s"
        yield Row(
            f"{label}, all searchable", "≤ 2 s after the last", f"{found:.2f} s after the last"
        )
        yield Row("  searches meanwhile", "p99 ≤ 50 ms", _spread(searches, "ms"))
        time.sleep(options.rest)  # until the writer has freed its memory
        agent.settle()
        share, memory = at_rest(agent, options.idle)
        limit = 250 if options.semantic else 80
        yield Row(f"at rest for {options.idle:.0f} s", "0.0 %", f"{share:.2f} % of a processor")
        yield Row("  memory", f"≤ {limit} MB", f"{memory:.0f} MB")
    finally:
        agent.close()
        shutil.rmtree(vault / OWN, ignore_errors=True)
        run([*VAULTMEM, "sync", "--no-embed", "--confirm-removals", "--vault", str(vault)], env)


def measure(options: argparse.Namespace, folder: Path | None) -> tuple[str, list[Row]]:
    """A heading and the rows."""
    with tempfile.TemporaryDirectory(prefix="vaultmem-agent-") as temporary:
        work = Path(temporary)
        env = surroundings(options.state or work)
        if not options.semantic:
            env["VAULTMEM_EMBEDDING_MODEL"] = "off"
        vault = ready_vault(folder or work / "vault", options.notes, env)
        run(
            [
                *VAULTMEM,
                "sync",
                *([] if options.semantic else ["--no-embed"]),
                "--vault",
                str(vault),
            ],
            env,
        )
        return about(vault), list(rows(options, vault, env))


def main() -> None:
    """Print the table."""
    parser = timing.parser(__doc__)
    parser.add_argument("--state", type=Path, help="where state is kept for the next run")
    parser.add_argument("--pairs", type=int, default=21, help="runs of each whole process")
    parser.add_argument("--repeats", type=int, default=5, help="of each question")
    parser.add_argument("--questions", type=int, default=1000, help="that are searched for once")
    parser.add_argument("--saves", type=int, default=60)
    parser.add_argument("--storm", type=int, default=5000)
    parser.add_argument("--rest", type=float, default=45.0, help="seconds after the storm")
    parser.add_argument("--idle", type=float, default=20.0, help="seconds")
    parser.add_argument(
        "--semantic", action="store_true", help="with vectors: embeds all notes first"
    )
    options = parser.parse_args()
    heading, measured = measure(options, options.folder)
    print(heading)
    print_table(measured)


if __name__ == "__main__":
    main()
