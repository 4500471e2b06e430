"""What `bench/search.py` compares with: tantivy, in this process, by its own scores. Runs in its own environment.

It indexes the texts of a folder, says how large the index is, and answers each line of its input, a kind and a text,
with the milliseconds that the first page took.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any


def question(index: Any, schema: Any, kind: str, text: str) -> Any:
    import tantivy  # pyright: ignore[reportMissingImports]

    if kind == "typo":
        return tantivy.Query.fuzzy_term_query(schema, "text", text, distance=1, transposition_cost_one=True)
    if kind == "prefix":
        return tantivy.Query.regex_query(schema, "text", f"{text}.*")
    return index.parse_query(f'"{text}"' if kind == "phrase" else text, ["text"])


def main(folder: Path) -> None:
    import tantivy  # pyright: ignore[reportMissingImports]

    schema = tantivy.SchemaBuilder().add_text_field("text", stored=True).build()
    place = folder / "tantivy"
    place.mkdir()
    index = tantivy.Index(schema, path=str(place))
    writer = index.writer(200_000_000)
    with (folder / "texts.txt").open() as texts:
        for text in texts:
            writer.add_document(tantivy.Document(text=text.strip()))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    print(sum(file.stat().st_size for file in place.iterdir()), flush=True)
    for line in sys.stdin:
        kind, _, text = line.strip().partition(" ")
        begun = time.perf_counter()
        for _, address in searcher.search(question(index, schema, kind, text), 20).hits:
            searcher.doc(address)
        print((time.perf_counter() - begun) * 1000, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
