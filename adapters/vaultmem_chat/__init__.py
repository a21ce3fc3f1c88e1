"""Conversations with language models: requests, turns, facts learned, summaries."""
