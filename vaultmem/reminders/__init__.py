"""What is due: extracted from notes, scheduled, notified."""
