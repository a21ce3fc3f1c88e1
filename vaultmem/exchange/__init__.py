"""Import and export of memories, and ingestion from other programs."""
