"""One module, one engine; each third-party package has exactly one owner here."""
