"""The ledger: reads, decisions and findings, which no note contains."""
