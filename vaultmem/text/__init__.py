"""Pure functions on text, times and secrets. They use no files, no clock and no engine."""
