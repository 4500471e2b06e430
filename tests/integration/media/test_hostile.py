"""What strangers send: each a typed error with clear words, nothing opened that it points at, nothing left behind."""

from __future__ import annotations

import os
import random
import socket
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import videos
from tests.support.hostile.bombs import eternal
from tests.support.videos import Studio
from touchline.kernel import NotFound, TouchlineError
from touchline.media.errors import DamagedVideo, InvalidMedia, MediaLimitExceeded, NoPictures, NotAVideo, TruncatedVideo
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings
from touchline.media.tasks import make_hls, make_poster, probe

NOISE = random.Random(7).randbytes(200_000)
PLAYLIST = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{}\n#EXT-X-ENDLIST\n"
DESCRIPTION = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns={}\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"
MANY_BYTES = {"preset": "ultrafast", "qp": "5"}


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def without_index(studio: Studio) -> Path:
    """The index is written last, so that a recording that was broken off has none."""
    return studio.cut(videos.MP4, 0.9)


def cut_behind_the_index(studio: Studio) -> Path:
    return studio.cut(videos.FAST_START, 0.8)


def scrambled(studio: Studio) -> Path:
    """A good index over noise."""
    content = bytearray(studio.make(videos.SILENT).read_bytes())
    start, end = content.index(b"mdat") + 4, content.index(b"moov") - 4
    content[start:end] = NOISE[: end - start]
    return studio.write("scrambled.mp4", bytes(content))


CASES: dict[str, tuple[Callable[[Studio], Path], type[TouchlineError], str]] = {
    "empty": (lambda studio: studio.write("empty.mp4", b""), NotAVideo, "the file is empty"),
    "one byte": (lambda studio: studio.write("byte.mp4", b"x"), NotAVideo, "not a known video container"),
    "text": (lambda studio: studio.write("text.mp4", "Dear Sir,\n" * 99), NotAVideo, "not a known video container"),
    "noise": (lambda studio: studio.write("noise.mp4", NOISE), NotAVideo, "not a known video container"),
    "zeros": (lambda studio: studio.write("zeros.mp4", bytes(100_000)), NotAVideo, "not a known video container"),
    "a folder": (lambda studio: studio.folder, NotAVideo, "not a regular file"),
    "sound": (lambda studio: studio.make(videos.SOUND_ONLY), NoPictures, "no video stream"),
    "mp3": (lambda studio: studio.write("sound.mp3", b"ID3\x04" + NOISE), NoPictures, "audio file"),
    "no index": (without_index, TruncatedVideo, "bytes are missing|index"),
    "only a header": (lambda studio: studio.write("head.mp4", header()), TruncatedVideo, "index"),
    "cut mdat": (cut_behind_the_index, TruncatedVideo, "bytes are missing at the end"),
    "cut matroska": (lambda studio: studio.cut(videos.MATROSKA, 0.7), TruncatedVideo, "missing at the end"),
    "cut webm": (lambda studio: studio.cut(videos.WEBM, 0.5), TruncatedVideo, "missing at the end"),
    "cut avi": (lambda studio: studio.cut(videos.AVI, 0.5), TruncatedVideo, "missing at the end"),
    "scrambled": (scrambled, DamagedVideo, "decoded"),
    "noise behind a header": (
        lambda studio: studio.write("a.mkv", b"\x1a\x45\xdf\xa3\x81x" + NOISE),
        InvalidMedia,
        "video",
    ),
    "noise in a stream": (lambda studio: studio.write("a.ts", stream_of_noise()), InvalidMedia, "video"),
}


def header() -> bytes:
    return struct.pack(">I4s4sI4s", 20, b"ftyp", b"isom", 512, b"isom")


def stream_of_noise() -> bytes:
    return b"".join(b"\x47" + NOISE[number * 187 : (number + 1) * 187] for number in range(1000))


@pytest.mark.parametrize("case", CASES)
async def test_a_typed_error_with_clear_words(case: str, studio: Studio, sandbox: Sandbox, output: Path) -> None:
    make, error, why = CASES[case]
    path = make(studio)
    with pytest.raises(error, match=why) as raised:
        await probe(sandbox, path)
    assert raised.value.hint
    with pytest.raises(error, match=why):
        await make_hls(sandbox, path, output)
    assert files(output) == []


async def test_a_file_that_is_not_there(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await probe(sandbox, tmp_path / "absent")


async def test_a_pipe_does_not_hang(sandbox: Sandbox, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotAVideo, match="not a regular file"):
        await probe(sandbox, tmp_path / "pipe")


@pytest.mark.parametrize("kind", ["file", "address"])
@pytest.mark.parametrize("form", ["playlist", "concat", "description"])
async def test_what_points_elsewhere_is_not_followed(
    kind: str, form: str, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/video.ts"
        target = str(studio.make(videos.TRANSPORT_STREAM)) if kind == "file" else address
        texts = {
            "playlist": PLAYLIST.format(target),
            "concat": f"ffconcat version 1.0\nfile '{target}'\n",
            "description": DESCRIPTION.format(target),
        }
        path = studio.write("points-elsewhere.mp4", texts[form])
        for work in (probe(sandbox, path), make_hls(sandbox, path, output), make_poster(sandbox, path, output)):
            with pytest.raises(NotAVideo):
                await work
        with pytest.raises(BlockingIOError):
            server.accept()
    assert files(output) == []


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"longest_video": "5s"}, "it lasts 6 s; 5 s are allowed"),
        ({"most_streams": 1}, "more than 1 streams"),
        ({"largest_file": "1MiB", "segment_duration": "20s"}, "an output file exceeds the size limit"),
        ({"largest_output": "1MiB"}, "its output exceeds 1.0 MB"),
        ({"largest_picture": 1_000_000}, "1920 x 1080 pixels; 1000000 are allowed"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_limits(setting: dict[str, object], why: str, studio: Studio, output: Path) -> None:
    large = replace(videos.MP4, name="many-bytes.mp4", size=(1920, 1080), rate=5, encoder=MANY_BYTES)
    async with Sandbox(MediaSettings.model_validate(setting)) as limited:
        with pytest.raises(MediaLimitExceeded, match=why):
            await make_hls(limited, studio.make(large), output)


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv", "webm", "avi", "ts", "mpg", "asf"])
async def test_streams_are_counted_in_every_container(ending: str, studio: Studio, output: Path) -> None:
    """Some demuxers leave out what is too much without a word, and find streams only as they read."""
    recipes = {"webm": videos.WEBM, "ts": videos.MP4, "mpg": replace(videos.INTERLACED_MPEG2, audio="libmp3lame")}
    recipe = replace(recipes.get(ending, videos.AVI), seconds=1.0)
    path = studio.sounds(replace(recipe, name=f"sounds.{ending}"), 5)
    async with Sandbox(MediaSettings(most_streams=4)) as limited:
        for work in (probe(limited, path), make_hls(limited, path, output), make_poster(limited, path, output)):
            with pytest.raises(MediaLimitExceeded, match="more than 4 streams"):
                await work
    assert files(output) == []
    async with Sandbox(MediaSettings(most_streams=6)) as enough:
        assert (await probe(enough, path)).duration_ms


async def test_eternal_videos(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    """Also where only a header says so, that players show to people."""
    claims = {name: content for name, content in eternal(studio.make(videos.SMALL).read_bytes()) if "tkhd" not in name}
    assert len(claims) == 3
    for name, content in claims.items():
        path = studio.write(f"{name}.mp4", content)
        for work in (probe(sandbox, path), make_hls(sandbox, path, output)):
            with pytest.raises(MediaLimitExceeded, match="lasts 1000000000 s; 86400 s are allowed"):
                await work


async def test_a_broken_picture_does_not_end_a_video(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    content = bytearray(studio.make(videos.WEBM).read_bytes())
    middle = len(content) // 2
    content[middle : middle + 2000] = NOISE[:2000]
    package = await make_hls(sandbox, studio.write("scratched.webm", bytes(content)), output)
    assert package.renditions[0].duration_ms > 3000
