"""The process that draws, codes and sends one stream. The address comes by the pipe: all can read a command line."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from av.error import FFmpegError

from touchline_world.child_process import read_requests, write_reply

from .model import EncoderOptions, StreamTarget
from .publisher import publish


def main() -> None:
    for question in read_requests():
        try:
            write_reply("done", _answer(question))
        except (OSError, FFmpegError) as error:
            write_reply("failed", error.strerror or type(error).__name__)  # without the address, which has the key


def _answer(question: dict[str, Any]) -> dict[str, int]:
    target, options = StreamTarget.parse(question["url"]), EncoderOptions(**question["options"])
    return asdict(publish(target, options, question["from_ms"], lambda sent: write_reply("heard", asdict(sent))))


if __name__ == "__main__":
    main()
