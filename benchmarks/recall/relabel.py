"""Update the line numbers of a labelled set after an edit, by finding every anchor again.

python benchmarks/recall/relabel.py VAULT QUERIES.jsonl
"""

import json
import sys
from pathlib import Path


def refreshed(label: dict[str, object], lines: list[str]) -> dict[str, object]:
    """The label, moved to its anchor's current place; a whole-note label stays whole."""
    anchor = str(label["anchor"])
    found = [number for number, line in enumerate(lines, 1) if anchor in line]
    if len(found) != 1:
        raise SystemExit(
            f"{label['path']}: the anchor {anchor!r} is there {len(found)} times, not once"
        )
    first, last = int(str(label["line"])), int(str(label["end_line"]))
    whole = first == 1 and found[0] > 1
    line, end_line = (1, len(lines)) if whole else (found[0], found[0] + last - first)
    return {**label, "line": line, "end_line": end_line}


def main(vault: Path, queries: Path) -> None:
    """Rewrite the set in place; stop at the first anchor that is gone or no longer unique."""
    records = [json.loads(row) for row in queries.read_text(encoding="utf-8").splitlines()]
    for record in records:
        record["relevant"] = [
            refreshed(
                label,
                (vault / label["path"]).read_text(encoding="utf-8", errors="replace").splitlines(),
            )
            for label in record["relevant"]
        ]
    rows = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    queries.write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
