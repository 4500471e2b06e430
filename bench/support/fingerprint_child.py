"""In one process, in turns: decoding alone, and the work of the child that takes fingerprints. Its input is the video.

python taking.py ROUNDS THREADS < video.mp4        prints seconds as JSON, of the clock and of the processor
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import av

from touchline.media.child.channel import Channel, Output
from touchline.media.child.survey import survey
from touchline.media.settings import MediaSettings, child_options


class Aside(Channel):
    """Nobody listens, and files go to the folder that it stands in."""

    def __init__(self) -> None:
        self._percent = -1

    def create(self, name: str) -> Output:
        return Output(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC), name, self)

    def _say(self, message: dict[str, Any]) -> None: ...


def decode(threads: int) -> None:
    """All pictures, and nothing done with them."""
    os.lseek(0, 0, os.SEEK_SET)
    with av.open("fd:", format="mov,mp4,m4a,3gp,3g2,mj2", options={"protocol_whitelist": "fd"}) as container:
        stream = container.streams.video[0]
        stream.thread_count, stream.thread_type = threads, "AUTO"
        for _ in container.decode(stream):
            pass


def timed(work: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main(rounds: int, threads: int) -> None:
    options = asdict(child_options(MediaSettings(threads=threads)))
    works: dict[str, Callable[[], object]] = {"decoding": lambda: decode(threads)}
    for name, fast, style in (("dense", False, "dense"), ("careful", False, "careful"), ("fast", True, "dense")):
        order = {"video": options, "survey": {"fast": fast, "styles": [style]}}
        works[name] = lambda order=order: survey(order, Aside())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for work in works.values():
            work()
        turns = [{name: timed(work) for name, work in works.items()} for _ in range(rounds)]
        os.chdir("/")
    print(json.dumps(turns))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
