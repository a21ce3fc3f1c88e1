"""Exact search equals brute force, whatever the filter and however large the file."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.vector_samples import Vectors, folder, keys, store, vector_of, vectors_of
from vaultmem.notes.blocks import text_hash
from vaultmem.vectors import exact
from vaultmem.vectors.exact import nearest, row_numbers

__all__ = ["folder", "store"]  # fixtures


def brute_force(
    matrix: Vectors, query: Vectors, k: int, rows: list[int]
) -> list[tuple[int, float]]:
    scored = [(row, float(np.dot(matrix[row].astype(float), query))) for row in rows]
    return sorted(scored, key=lambda hit: (-hit[1], hit[0]))[:k]


@settings(max_examples=examples(60))
@given(st.data())
def test_exact_search_equals_brute_force(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 60))
    k = data.draw(st.integers(0, 70))
    matrix = vectors_of(keys(0, count))
    query = vector_of(text_hash("question"))
    allowed = data.draw(st.none() | st.lists(st.integers(-3, 80)))
    inside = range(count) if allowed is None else sorted({n for n in allowed if 0 <= n < count})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "ROWS_AT_ONCE", data.draw(st.integers(1, 20)))
        patch.setattr(exact, "PICKED_AT_ONCE", data.draw(st.integers(1, 5)))
        forms: list[exact.Allowed | None] = [allowed]
        if allowed is not None:
            mask = np.zeros(count, dtype=np.bool_)
            mask[list(inside)] = True
            forms += [np.array(allowed, dtype=np.int64), mask]
        for form in forms:
            found = nearest(matrix, query, k, row_numbers(form, count))
            expected = brute_force(matrix, query, k, list(inside))
            assert [row for row, _ in found] == [row for row, _ in expected]
            assert np.allclose([c for _, c in found], [c for _, c in expected], atol=1e-6)


def test_rows_that_are_not_numbers_come_last() -> None:
    matrix = np.eye(3, dtype=np.float32)
    matrix[0] = np.nan
    assert nearest(matrix, np.array([1, 0, 0], np.float32), 3, None)[-1] == (0, -1.0)


FLAT = """
import resource, sys
import numpy as np
from pathlib import Path
from vaultmem.vectors.exact import nearest
from vaultmem.vectors.exact import RowFile
rows = 100_000
file = RowFile(Path(sys.argv[1]), 384)
matrix = file.matrix(rows)
query = np.ones(384, np.float32)
nearest(matrix[:100], query, 3, None)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
nearest(matrix, query, 10, None)
nearest(matrix, query, 10, np.arange(0, rows, 5))
nearest(matrix, query, 10, np.arange(0, rows, 2))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(matrix.nbytes >> 20, peak >> (20 if sys.platform == "darwin" else 10))
"""


def test_memory_stays_flat_however_large_the_file(tmp_path: Path) -> None:
    path = tmp_path / "vectors.f32"
    path.touch()
    os.truncate(path, 100_000 * 384 * 4)  # a hole: no disk space is used
    said = subprocess.check_output([sys.executable, "-c", FLAT, str(path)], timeout=60)
    size, grown = map(int, said.split())
    assert size > 140
    assert grown < 60
