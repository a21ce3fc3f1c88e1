"""The index: catalog, keyword index, vectors, and what keeps them equal to the notes."""

ANALYZER = (
    "vaultmem-3"  # a new name for every change of the analyzer or the schema: it forces a rebuild
)
ORD_BITS = 20  # a block's number is the note's << ORD_BITS | the ordinal of the block in its note
