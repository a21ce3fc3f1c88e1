"""All benchmarks, as one Markdown table.

    python benchmarks/run.py [--notes 10000] [--folder FOLDER]

Beside the first index stands that of other programs, on the PATH: `hvk` (pip install headless-vault-kit).
qmd (npm install -g @tobilu/qmd) needs bun; the table says only whether it is here. Takes a few minutes. Says what was
measured and what we aim at, and fails for nothing but an error.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import index
import search
import timing
from timing import print_markdown


def main() -> None:
    """Print the table."""
    parser = timing.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    search.arguments(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vaultmem-bench-") as temporary:
        folder = options.folder or Path(temporary) / "vault"
        heading, indexing = index.measure(options.notes, folder, options.rounds)
        peers = index.measure_peers(folder, options.rounds)
        _, searching = search.measure(options, folder)
    print(f"{heading}\n")
    print_markdown([*indexing, *peers, *searching])


if __name__ == "__main__":
    main()
