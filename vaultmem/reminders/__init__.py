"""What is due in the vault: found, told on the desktop, kept in pending.md, answered."""
