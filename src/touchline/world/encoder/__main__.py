"""The process that draws, codes and sends one stream. The address comes by the pipe: all can read a command line."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from av.error import FFmpegError

from touchline.platform.children import answer, questions

from .model import Options, Target
from .publishing import publish


def main() -> None:
    for question in questions():
        try:
            answer("done", _answer(question))
        except (OSError, FFmpegError) as error:
            answer("failed", error.strerror or type(error).__name__)  # without the address, which has the key


def _answer(question: dict[str, Any]) -> dict[str, int]:
    target, options = Target.parse(question["url"]), Options(**question["options"])
    return asdict(publish(target, options, question["from_ms"], lambda sent: answer("heard", asdict(sent))))


if __name__ == "__main__":
    main()
