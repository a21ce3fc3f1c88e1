"""The sync log: what the machines of one vault must agree on, one page for each machine in the memory folder."""
