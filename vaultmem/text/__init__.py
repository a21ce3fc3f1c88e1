"""The pure ground floor: text, times, secrets. No files, no clock, no engine."""
