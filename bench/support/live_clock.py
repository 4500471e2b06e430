"""A publisher whose pictures show the time: so many milliseconds since 1970, in black and white blocks along the top.

The address comes by standard input, since everybody can read a command line. `BLOCKS` is what a page reads.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

import av
import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

WIDTH, HEIGHT, RATE, KEYFRAME_EVERY = 1280, 720, 30, 60
CLOCK_BITS, CHECK_BITS = 32, 8
BLOCKS = CLOCK_BITS + CHECK_BITS
BLOCK_WIDTH, BLOCK_HEIGHT = WIDTH // BLOCKS, 64
SOUND_HZ, SOUND_PIECE = 48_000, 1024
OPTIONS = {"preset": "ultrafast", "tune": "zerolatency", "g": str(KEYFRAME_EVERY), "sc_threshold": "0", "b": "2500k"}


def with_clock(background: NDArray[np.uint8], milliseconds: int) -> NDArray[np.uint8]:
    clock = milliseconds % 2**CLOCK_BITS
    check = sum(clock.to_bytes(4, "big")) % 2**CHECK_BITS
    bits = f"{clock:0{CLOCK_BITS}b}{check:0{CHECK_BITS}b}"
    picture = background.copy()
    for number, bit in enumerate(bits):
        picture[:BLOCK_HEIGHT, number * BLOCK_WIDTH : (number + 1) * BLOCK_WIDTH] = 255 if bit == "1" else 0
    return picture


def publish(url: str) -> None:
    """Until nobody takes it any more. The clock is read when a picture is drawn: before it is encoded."""
    background = np.random.default_rng(1).integers(60, 200, (HEIGHT // 16, WIDTH // 16, 3), np.uint8)
    background = background.repeat(16, axis=0).repeat(16, axis=1)
    with av.open(url, "w", format="flv") as output:
        pictures = output.add_stream("libx264", rate=RATE, options=OPTIONS)  # pyright: ignore[reportUnknownMemberType]
        pictures.width, pictures.height, pictures.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        pictures.codec_context.time_base = Fraction(1, RATE)
        sound = output.add_stream("aac", rate=SOUND_HZ, layout="stereo")  # pyright: ignore[reportUnknownMemberType]
        begun, number, heard = time.monotonic(), 0, 0
        while True:
            time.sleep(max(0.0, begun + number / RATE - time.monotonic()))
            picture = with_clock(np.roll(background, 4 * number, axis=1), time.time_ns() // 1_000_000)
            frame = VideoFrame.from_ndarray(picture, "rgb24")
            frame.pts = number
            for packet in pictures.encode(frame):
                output.mux(packet)
            while heard * RATE <= number * SOUND_HZ:
                silence = av.AudioFrame.from_ndarray(np.zeros((2, SOUND_PIECE), np.float32), "fltp", "stereo")
                silence.sample_rate, silence.pts = SOUND_HZ, heard
                for packet in sound.encode(silence):
                    output.mux(packet)
                heard += SOUND_PIECE
            number = max(number + 1, int((time.monotonic() - begun) * RATE))


if __name__ == "__main__":
    publish(sys.stdin.readline().strip())
