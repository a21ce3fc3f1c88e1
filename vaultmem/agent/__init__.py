"""The agent: one process per vault that keeps the index up to date and answers searches."""
