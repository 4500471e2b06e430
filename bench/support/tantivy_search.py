"""What `bench/search.py` compares with: tantivy, in this process, by its own scores. Runs in its own environment."""

from __future__ import annotations

import json
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
    times: dict[str, list[float]] = {}
    for kind, asked in json.loads((folder / "questions.json").read_text()).items():
        for text in asked:
            begun = time.perf_counter()
            found = searcher.search(question(index, schema, kind, text), 20)
            for _, address in found.hits:
                searcher.doc(address)
            times.setdefault(kind, []).append((time.perf_counter() - begun) * 1000)
    size = sum(file.stat().st_size for file in place.iterdir())
    sys.stdout.write(json.dumps({"times": times, "bytes": size}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
