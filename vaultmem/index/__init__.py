"""The index: the catalog, the keyword index, and what keeps them equal to the notes."""

from vaultmem.errors import ModelError
from vaultmem.text.times import OFF

# A new name for every change of the analyzer, the schema or what a block is: it forces a rebuild.
ANALYZER = "vaultmem-7"
LOCAL = "local"  # index.backend of who searches the vectors of this machine alone
ORD_BITS = 20  # a block's number is the note's << ORD_BITS | the ordinal of the block in its note
ASKS = 16  # is added to the words of a short question in what is stored as the size of a block


def refuse_if_off(model: str) -> None:
    """Raise ModelError where the setting says that there is no model; asked before anything heavy is imported."""
    if model == OFF:
        raise ModelError("Search by meaning is switched off. Set embedding.model to `default`.")
