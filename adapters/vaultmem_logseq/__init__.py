"""Reads a Logseq file graph (0.10.x) as Logseq itself reads it."""

from __future__ import annotations

from vaultmem_logseq.rules import LogseqDialect

dialect = LogseqDialect()
