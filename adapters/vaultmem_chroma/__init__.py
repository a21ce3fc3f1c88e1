"""Chroma as the server of the index of vectors that many vaults and machines share: `remote` speaks to it."""
