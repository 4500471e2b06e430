"""Videos whose pictures carry their number, and what an independent program decodes of a file."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import av
import imageio_ffmpeg
import numpy as np
from av.video.frame import VideoFrame

from .videos import AVI, MATROSKA, MP4, QUICKTIME, ROTATED, SAMPLE_RATE, TRANSPORT_STREAM, UNEVEN, WEBM, Recipe

BITS, SIDE = 8, 16
CAPTIONS = """1
00:00:00,500 --> 00:00:01,500
<script>alert(1)</script> & {\\an8}one
two --> three

2
00:00:02,000 --> 00:00:03,250
Tor! Müller ⚽

"""
_BLACK = ("drawbox", f"x=0:y=0:w={BITS * SIDE}:h={SIDE}:color=black:t=fill")


def _bit(number: int) -> tuple[str, str]:
    shown = f"gte(mod(n\\,{2 << number})\\,{1 << number})"
    return "drawbox", f"x={number * SIDE}:y=0:w={SIDE}:h={SIDE}:color=white:t=fill:enable={shown}"


def numbered(recipe: Recipe) -> Recipe:
    """The number of each picture in black and white, from the left: the lowest bit first."""
    numbers = (_BLACK, *(_bit(number) for number in range(BITS)))
    return replace(recipe, name=f"numbered-{recipe.name}", filters=(*numbers, *recipe.filters))


NUMBERED = numbered(MP4)
NUMBERED_STREAM = numbered(TRANSPORT_STREAM)
NUMBERED_MATROSKA = numbered(MATROSKA)
NUMBERED_WEBM = numbered(WEBM)
NUMBERED_AVI = numbered(AVI)
NUMBERED_UNEVEN = numbered(UNEVEN)
# Keyframes that pictures before them, in the order of showing, need too: decoding cannot be cut there.
NUMBERED_OPEN = replace(
    NUMBERED,
    name="numbered-open.mp4",
    encoder={"preset": "veryfast", "g": "25", "x264-params": "open-gop=1:scenecut=0:min-keyint=25"},
)
NUMBERED_MAIN = replace(
    NUMBERED, name="numbered-main.mp4", encoder={"preset": "veryfast", "g": "50", "profile": "main"}
)
NUMBERED_PCM = replace(numbered(QUICKTIME), name="numbered-pcm.mov", audio="pcm_s16le")
NUMBERED_ROTATED = numbered(ROTATED)


def pictures(path: Path, size: tuple[int, int]) -> np.ndarray:
    """The brightness of all of them, as stored; a warning of the decoder is an error."""
    arguments = ["-noautorotate", "-i", str(path), "-map", "0:v", "-fps_mode", "passthrough"]
    data = _decoded([*arguments, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"])
    width, height = size
    return np.frombuffer(data, np.uint8).reshape(-1, height * 3 // 2, width)[:, :height]


def originals(path: Path, size: tuple[int, int]) -> np.ndarray:
    """The same by the library, which reads every container that the tests make."""
    with av.open(str(path)) as container:
        return np.stack([frame.to_ndarray(format="yuv420p")[: size[1]] for frame in container.decode(video=0)])


def sound(path: Path) -> np.ndarray:
    arguments = ["-i", str(path), "-map", "0:a", "-ac", "1", "-ar", str(SAMPLE_RATE)]
    return np.frombuffer(_decoded([*arguments, "-f", "f32le", "-"]), np.float32)


def numbers(shown: np.ndarray) -> list[int]:
    centres = shown[:, SIDE // 2, SIDE // 2 : BITS * SIDE : SIDE] > 127
    return [int(sum(1 << place for place, bit in enumerate(picture) if bit)) for picture in centres]


def likeness(one: np.ndarray, other: np.ndarray) -> float:
    """Peak signal to noise, in decibels; equal pictures are 100."""
    error = float(np.mean((one.astype(float) - other.astype(float)) ** 2))
    return 100.0 if error == 0 else 10 * np.log10(255**2 / error)


def luma(frame: VideoFrame) -> np.ndarray:
    return frame.to_ndarray(format="gray").astype(float)


def combs(frames: Iterable[np.ndarray]) -> float:
    """How much neighbouring lines differ, beside lines of the same field: above one where two moments are woven."""
    pairs = [(np.abs(frame[1:] - frame[:-1]).mean(), np.abs(frame[2:] - frame[:-2]).mean()) for frame in frames]
    near, far = np.sum(pairs, axis=0)
    return float(near / far)


def with_captions(path: Path, target: Path, codec: str) -> Path:
    """The same video, and words that look like more than words."""
    texts = target.with_suffix(".srt")
    texts.write_text(CAPTIONS)
    inputs, kept = ["-i", str(path), "-i", str(texts)], ["-map", "0", "-map", "1", "-c", "copy", "-c:s", codec]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *inputs, *kept]
    subprocess.run([*command, "-metadata:s:s:0", "language=deu", str(target)], check=True)
    return target


def run(*arguments: str) -> None:
    _decoded(list(arguments))


def _decoded(arguments: list[str]) -> bytes:
    program = imageio_ffmpeg.get_ffmpeg_exe()
    answer = subprocess.run([program, "-v", "warning", *arguments], capture_output=True, check=True, timeout=60)
    assert answer.stderr == b"", answer.stderr.decode()
    return answer.stdout
