"""Texts per second of vaultmem's embedding, and of plain fastembed with the same weights.

    python benchmarks/embedding.py [--texts 512] [--threads 2] [--rounds 2]

The texts are made up, the same on every machine, of mixed length as blocks of notes are. Both ways
run in turns in one process; the fastest round of each counts. Memory is the highest so far, so
ours, which runs first, is measured alone. Plain fastembed, with its batches of 256, may take 11 GB.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import numpy as np

from vaultmem.embedding.embed import Embedder, quiet_fastembed
from vaultmem.embedding.models import resolve_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

WORDS = [
    "garden", "meeting", "budget", "idea", "note", "project", "river", "bread", "winter", "letter",
    "music", "friend", "backup", "train", "invoice", "doctor", "window", "kitchen", "language",
    "history", "small", "green", "before", "under", "always", "because", "walked", "wrote",
    "called", "moved", "with", "from", "about", "the", "a", "of", "and", "to", "in", "is", "that",
]  # fmt: skip


def make_texts(count: int, seed: int = 1) -> list[str]:
    """Mostly a few lines, sometimes a long section."""
    rng = random.Random(seed)
    lengths = [min(400, max(2, int(rng.lognormvariate(3.2, 0.9)))) for _ in range(count)]
    return [" ".join(rng.choices(WORDS, k=length)) for length in lengths]


def peak_memory() -> float:
    """This process's highest memory so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def timed(embed: Callable[[], NDArray[np.float32]]) -> tuple[NDArray[np.float32], float, float]:
    """Vectors, seconds, and seconds of processor time."""
    wall, used = time.perf_counter(), time.process_time()
    vectors = embed()
    return vectors, time.perf_counter() - wall, time.process_time() - used


def main() -> None:
    """Print a line for each way, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    texts = make_texts(options.texts)
    with tempfile.TemporaryDirectory() as models:
        model = resolve_model("default", models)
        ours = Embedder(model, options.threads)
        plain = quiet_fastembed()(
            model.name,
            specific_model_path=model.folder,
            cache_dir=model.folder,
            providers=["CPUExecutionProvider"],
            threads=options.threads,
            lazy_load=True,
        )
        report(texts, options.rounds, ours, lambda: np.array(list(plain.embed(texts))))


def report(
    texts: list[str], rounds: int, ours: Embedder, plain: Callable[[], NDArray[np.float32]]
) -> None:
    """Run both ways in turns."""
    ours.embed(texts[:2])
    fastest = {"vaultmem": (1e9, 1e9), "plain fastembed": (1e9, 1e9)}
    memory: dict[str, float] = {}
    vectors: dict[str, NDArray[np.float32]] = {}
    for _ in range(rounds):
        for name, way in (("vaultmem", lambda: ours.embed(texts)), ("plain fastembed", plain)):
            vectors[name], wall, used = timed(way)
            fastest[name] = (min(fastest[name][0], wall), min(fastest[name][1], used))
            memory.setdefault(name, peak_memory())
    for name, (wall, used) in fastest.items():
        speed = f"{len(texts) / wall:8.1f} texts/s {used / len(texts) * 1000:8.2f} CPU ms/text"
        print(f"{name:16} {speed} {memory[name]:7.0f} MB peak")
    (wall, used), (plain_wall, plain_used) = fastest.values()
    faster, less = plain_wall / wall, plain_used / used
    print(f"{'ratio':16} {faster:8.2f} times faster {less:7.2f} times less CPU")
    alike = (vectors["vaultmem"] * vectors["plain fastembed"]).sum(axis=1).min()
    print(f"{'lowest cosine':16} {alike:8.6f} between both")


if __name__ == "__main__":
    main()
