"""The sync log: what the machines of one vault must agree on, as one page per machine in the memory folder."""
