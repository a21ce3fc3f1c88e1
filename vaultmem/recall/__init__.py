"""Recall: what is known about a question, within a budget."""
