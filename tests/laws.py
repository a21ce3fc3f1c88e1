"""How many examples a law is tried on. They are the same each time, so that a run judges the change and not the luck;
VAULTMEM_LAWS=new tries others, which is how cases are found that nobody thought of."""

import os

from hypothesis import strategies as st

WHOLE = "VAULTMEM_LAWS" in os.environ  # run more of them; .ci/run sets it
NEW = os.environ.get("VAULTMEM_LAWS") == "new"


def examples(count: int) -> int:
    """A sixth of this many; half in .ci/run, and all where they are new."""
    return max(12, count // (1 if NEW else 2 if WHOLE else 6))


def some(count: int) -> int:
    """A third, for what takes longer: kills, each of which starts and heals something."""
    return count if WHOLE else -(-count // 3)


def points(last: int, step: int) -> range:
    """Moments at which something is killed: each `step`, or every third of those."""
    return range(1, last, step if WHOLE else 3 * step)


# Whatever JSON can hold.
JSON: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)  # fmt: skip
