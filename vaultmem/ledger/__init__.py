"""The ledger: what no note says, namely reads, decisions and findings."""
