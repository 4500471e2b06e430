"""What the child makes of a publisher's bytes: parts, segments, and what of them is refused."""

from __future__ import annotations

import asyncio
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from io import BytesIO

import av
import pytest
from imageio_ffmpeg import get_ffmpeg_exe  # pyright: ignore[reportMissingTypeStubs]

from touchline.media.errors import InvalidMedia
from touchline.media.live import InitMessage, LiveFormat, LiveReader, Message, PartMessage, PosterMessage
from touchline.media.sandbox import Sandbox

SECOND = timedelta(seconds=1)
FLV_HEAD = 13
TAG_HEAD = 11


@dataclass
class Taken:
    inits: list[tuple[InitMessage, bytes]] = field(default_factory=list[tuple[InitMessage, bytes]])
    parts: list[tuple[PartMessage, bytes]] = field(default_factory=list[tuple[PartMessage, bytes]])
    posters: list[bytes] = field(default_factory=list[bytes])

    async def __call__(self, message: Message, content: bytes) -> None:
        match message:
            case InitMessage():
                self.inits.append((message, content))
            case PartMessage():
                self.parts.append((message, content))
            case PosterMessage():
                self.posters.append(content)

    @property
    def messages(self) -> list[PartMessage]:
        return [message for message, _ in self.parts]

    def frames(self) -> int:
        """As a player decodes what has one header."""
        data = self.inits[0][1] + b"".join(content for _, content in self.parts)
        with av.open(BytesIO(data), "r") as container:
            return sum(1 for _ in container.decode(video=0))


@cache
def made(container: str, seconds: int = 6, *options: str) -> bytes:
    """25 pictures a second, a keyframe each second, and sound."""
    inputs = ("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi", "-i", "sine=frequency=440")
    codecs = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "25", "-c:a", "aac")
    command = [get_ffmpeg_exe(), "-v", "error", *inputs, *codecs, *options, "-t", str(seconds), "-f", container, "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def tags(flv: bytes) -> Iterator[tuple[int, bytes]]:
    """The time in milliseconds, and the whole tag."""
    place = FLV_HEAD
    while place < len(flv):
        length = TAG_HEAD + int.from_bytes(flv[place + 1 : place + 4]) + 4
        time = int.from_bytes(flv[place + 4 : place + 7]) | flv[place + 7] << 24
        yield time, flv[place : place + length]
        place += length


def retimed(flv: bytes, moved: Callable[[int], int]) -> bytes:
    found = [flv[:FLV_HEAD]]
    for time, tag in tags(flv):
        new = moved(time)
        found.append(tag[:4] + (new & 0xFFFFFF).to_bytes(3) + bytes([new >> 24]) + tag[8:])
    return b"".join(found)


async def read(sandbox: Sandbox, data: bytes, container: str = "flv") -> Taken:
    taken = Taken()
    wanted = LiveFormat(container, 2 * SECOND, SECOND / 2, 10 * SECOND, 3 * SECOND, SECOND, 160)
    reader = LiveReader(sandbox, wanted, taken)
    running = asyncio.create_task(reader.run())
    for place in range(0, len(data), 7919):
        await reader.write(data[place : place + 7919])
    await reader.end()
    async with asyncio.timeout(120):
        await running
    return taken


@pytest.mark.parametrize("container", ["flv", "mpegts"])
async def test_parts_are_short_and_segments_begin_with_keyframes(sandbox: Sandbox, container: str) -> None:
    taken = await read(sandbox, made(container), container)
    assert [(each.width, each.height, each.codecs) for each, _ in taken.inits] == [(320, 180, taken.inits[0][0].codecs)]
    assert taken.inits[0][0].codecs.endswith(",mp4a.40.2")
    assert all(each.duration_us <= 500_000 for each in taken.messages)
    assert [each.start_us for each in taken.messages if each.begins_segment] == [0, 2_000_000, 4_000_000]
    assert all(each.independent for each in taken.messages if each.begins_segment)
    assert sum(each.ends_segment for each in taken.messages) == 3
    assert sum(each.frames for each in taken.messages) == taken.frames() == 150
    assert taken.messages[-1].keyframe_gap_us == 1_000_000
    assert not any(each.discontinuity or each.dropped_frames for each in taken.messages)
    assert taken.posters[0].startswith(b"\xff\xd8")


@pytest.mark.parametrize(
    "moved",
    [
        lambda time: time + 3_600_000 if time >= 3000 else time,
        lambda time: time + 9_000_000 - 3000 if time < 3000 else time - 3000,
        lambda time: time % 3000 + 500_000,
    ],
    ids=["jumps", "runs back", "repeats"],
)
async def test_times_that_jump_or_run_back_are_a_discontinuity(sandbox: Sandbox, moved: Callable[[int], int]) -> None:
    taken = await read(sandbox, retimed(made("flv"), moved))
    assert [each.start_us for each in taken.messages if each.discontinuity] == [0]
    assert all(each.duration_us <= 1_000_000 for each in taken.messages)
    assert sum(each.frames for each in taken.messages) >= 149
    lasted = sum(each.duration_us for each in taken.messages)
    assert lasted == pytest.approx(6_000_000, abs=200_000)


async def test_times_that_stand_still_make_no_endless_part(sandbox: Sandbox) -> None:
    taken = await read(sandbox, retimed(made("flv", 30), lambda time: min(time, 1000)))
    assert max(each.frames for each in taken.messages) <= 501
    assert sum(each.frames for each in taken.messages) == 750


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "rare keyframes": (lambda: made("flv", 14, "-g", "1000"), "more than 10 s apart"),
    "codec": (lambda: made("flv", 2, "-c:v", "flv1"), "set the encoder to H.264"),
    "sound codec": (lambda: made("flv", 2, "-c:a", "libmp3lame"), "set the encoder to AAC"),
    "profile": (lambda: made("flv", 2, "-pix_fmt", "yuv444p"), "does not play in browsers"),
    "only sound": (lambda: made("flv", 2, "-vn"), "no video"),
    "garbage": (lambda: random.Random(1).randbytes(300_000), ""),
    "garbage in tags": (lambda: made("flv")[:FLV_HEAD] + random.Random(2).randbytes(300_000), ""),
}


@pytest.mark.parametrize("kind", REFUSED)
async def test_what_cannot_be_played_is_refused_and_says_why(sandbox: Sandbox, kind: str) -> None:
    data, why = REFUSED[kind]
    with pytest.raises(InvalidMedia) as refused:
        await read(sandbox, data())
    assert why in refused.value.why


async def test_a_publisher_that_sends_nothing_is_no_error(sandbox: Sandbox) -> None:
    assert (await read(sandbox, made("flv")[:FLV_HEAD])).parts == []


async def test_a_publisher_that_is_cut_off_leaves_what_came(sandbox: Sandbox) -> None:
    data = made("flv")
    taken = await read(sandbox, data[: len(data) * 2 // 3])
    assert 90 <= sum(each.frames for each in taken.messages) <= 110
    assert taken.messages[-1].ends_segment


async def test_a_child_that_is_given_up_ends(sandbox: Sandbox) -> None:
    """And whoever writes on is not stuck."""
    taken = Taken()
    wanted = LiveFormat("flv", 2 * SECOND, SECOND / 2, 10 * SECOND, 3 * SECOND, SECOND, 160)
    reader = LiveReader(sandbox, wanted, taken)
    running = asyncio.create_task(reader.run())
    await reader.write(made("flv"))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    async with asyncio.timeout(60):
        await reader.write(made("flv"))
