"""PDQ, the hash of vpdq, of the pictures that fingerprints are made of. Runs in the environment of the others."""

from __future__ import annotations

import av
import pdqhash  # pyright: ignore[reportMissingImports]


def scan(path: str, threads: int) -> int:
    count = 0
    with av.open(path) as container:
        stream = container.streams.video[0]
        stream.thread_count, stream.thread_type = threads, "AUTO"
        for frame in container.decode(stream):
            if frame.time is not None and frame.time >= (count + 1) * 0.25:
                pdqhash.compute(frame.to_ndarray(format="rgb24"))
                count += 1
    return count
