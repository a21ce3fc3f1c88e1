"""What JSON and YAML both hold."""

from hypothesis import strategies as st

from vaultmem.adapter import Value


def json_values(items: int, letters: int, leaves: int) -> st.SearchStrategy[Value]:
    """Values with at most so many items of a list or a map, letters of a key, and values in all."""
    text = st.characters(exclude_categories=["Cs"])
    numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        st.none() | st.booleans() | numbers | st.text(text),
        lambda inner: (
            st.lists(inner, max_size=items)
            | st.dictionaries(st.text(text, max_size=letters), inner, max_size=items)
        ),
        max_leaves=leaves,
    )
