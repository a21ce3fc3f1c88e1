"""The files of a vault: walked, read, written safely, watched; front matter and properties."""
