"""`python -m vaultmem`."""

from vaultmem.cli import entry

entry()
