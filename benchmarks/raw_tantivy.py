"""The least that indexing can cost: read every note, give its text to Tantivy, commit.

python benchmarks/raw_tantivy.py VAULT INDEX

One document a file with one field, through the product's own analyzer, and nothing else: no front
matter, no blocks, no links, no catalog. What `vaultmem sync` takes is compared with this.
"""

from __future__ import annotations

import os
import sys

import tantivy

from vaultmem.index import ANALYZER
from vaultmem.index.keyword import HEAP_BYTES, analyzer, words


def main(vault: str, folder: str) -> None:
    """Index `vault` into `folder`."""
    schema = tantivy.SchemaBuilder().add_text_field("body", tokenizer_name=ANALYZER).build()
    os.makedirs(folder)
    index = tantivy.Index(schema, path=folder)
    index.register_tokenizer(ANALYZER, analyzer())
    writer = index.writer(HEAP_BYTES, 1)
    for place, _, names in os.walk(vault):
        for name in names:
            if name.endswith(".md"):
                with open(os.path.join(place, name), encoding="utf-8") as file:
                    document = tantivy.Document()
                    document.add_text("body", words(file.read()))
                    writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


if __name__ == "__main__":
    main(*sys.argv[1:])
