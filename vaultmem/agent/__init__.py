"""The sync agent: one process per vault that keeps the index true and answers searches."""
