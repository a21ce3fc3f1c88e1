"""What is due in the vault: extracted, notified, listed in pending.md, answered."""
