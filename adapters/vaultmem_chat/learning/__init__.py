"""What is learned from turns: queued, asked about, reconciled with what is known."""
