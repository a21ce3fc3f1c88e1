"""Reads a Logseq file graph (0.10.x) as Logseq itself reads it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultmem.adapter import Folder, Rules

CONFIG = "logseq/config.edn"
HOME = ("pages/", "journals/", "logseq/")
MIRROR = "mirror/markdown/"  # of a graph in Logseq's database: written by Logseq, never read


class LogseqDialect:
    """The entry point of the package. It imports little, as it is asked at each start whether it claims the vault."""

    name = "logseq"
    home = HOME

    def claims(self, root: Folder) -> int:
        """2 for a file graph, else 0."""
        return 2 if root.exists(CONFIG) else 0

    def open(self, root: Folder) -> Rules:
        """The rules of this graph; an unreadable config.edn gives Logseq's defaults."""
        from vaultmem_logseq.config_edn import from_config
        from vaultmem_logseq.graph_rules import LogseqRules

        return LogseqRules(from_config(root.read(CONFIG)))


dialect = LogseqDialect()
