"""Chroma as the server of an index of vectors that many vaults and machines share; `remote` is the client."""
