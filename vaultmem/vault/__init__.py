"""The files of a vault: listing, reading, safe writing, watching, and recovery after a kill."""
