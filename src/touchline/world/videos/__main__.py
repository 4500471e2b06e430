"""The maker of videos: a process of its own that is told takes and copies, and puts the files into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from touchline.platform.children import answer, questions

from .documents import recipes_in
from .making import make


def main() -> None:
    for question in questions():
        try:
            _answer(question)
        except Exception as error:
            answer("failed", f"{type(error).__name__}: {error}")


def _answer(question: dict[str, Any]) -> None:
    folder = Path(question["folder"])
    if "labels" in question:
        from .labels import write_labels

        write_labels(folder, question["labels"], lambda done, of: answer("heard", [done, of]))
    else:
        make(recipes_in(question["recipes"]), folder, lambda done, of: answer("heard", [done, of]))
    answer("done", True)


if __name__ == "__main__":
    main()
