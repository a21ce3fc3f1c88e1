"""The index beside the vault: catalog, keyword index, vectors, and what keeps them equal to the notes."""
