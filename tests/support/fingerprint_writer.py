"""A process that adds one video after the other to an index, and says so each time that one is committed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from touchline.media.fingerprint.index import IndexWriter
from touchline.media.fingerprint.model import Fingerprint


def video(number: int) -> tuple[str, Fingerprint]:
    random = np.random.default_rng(number)
    return f"video-{number:04}", Fingerprint(random.integers(1, 2**63, 20, dtype=np.uint64))


def main(folder: Path, begin: int, count: int) -> None:
    with IndexWriter.open(folder) as writer:
        for number in range(begin, begin + count):
            writer.add([video(number)])
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
