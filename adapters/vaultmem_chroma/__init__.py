"""Chroma as the index of vectors that many vaults and machines share.

`mirror` is the index, `remote` speaks to the server, `published` remembers what it has been given.
"""
