"""The index: the catalog, the keyword index, and what keeps them equal to the notes."""

from vaultmem.errors import ModelError
from vaultmem.text.times import OFF

# Renamed with every change of the analyzer, the schema or the definition of a block: forces a rebuild.
ANALYZER = "vaultmem-8"
LOCAL = "local"  # index.backend: search only this machine's vectors
ORD_BITS = 20  # a block's number is its note's << ORD_BITS | its ordinal in the note
ASKS = 16  # added to a block's stored size if it is a short question
DOUBLED = 2 * ASKS  # the same for each time that the number of its note's blocks doubles,
MOST_DOUBLED = 12  # up to this many times


def refuse_if_off(model: str) -> None:
    """Raise ModelError if the setting says that there is no model; called before anything heavy is imported."""
    if model == OFF:
        raise ModelError("Search by meaning is switched off. Set embedding.model to `default`.")
