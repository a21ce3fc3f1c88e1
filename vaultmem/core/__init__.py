"""Pure decisions: no I/O, no clock, no third party."""
