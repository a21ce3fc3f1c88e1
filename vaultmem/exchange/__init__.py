"""Memories in and out: import, export, ingest, sources."""
