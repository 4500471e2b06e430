"""The process that renders videos: it is sent takes and copies, and writes the files into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from touchline_world.child_process import read_requests, write_reply

from .model import recipes_in
from .renderer import make


def main() -> None:
    for question in read_requests():
        try:
            _answer(question)
        except Exception as error:
            write_reply("failed", f"{type(error).__name__}: {error}")


def _answer(question: dict[str, Any]) -> None:
    folder = Path(question["folder"])
    if "labels" in question:
        from .labels import write_labels

        write_labels(folder, question["labels"], lambda done, of: write_reply("heard", [done, of]))
    else:
        make(recipes_in(question["recipes"]), folder, lambda done, of: write_reply("heard", [done, of]))
    write_reply("done", True)


if __name__ == "__main__":
    main()
