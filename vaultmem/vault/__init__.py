"""The files of a vault: walked, read, written safely, watched, and what a kill cut off."""
