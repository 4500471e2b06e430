"""Both ends of a reader: ffmpeg as the publisher, and an admission that keeps what it is given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO

import av
from imageio_ffmpeg import get_ffmpeg_exe  # pyright: ignore[reportMissingTypeStubs]

from touchline.kernel import Conflict, Forbidden, InvalidInput
from touchline.serve.live.model import PublishRequest

KEY = "tlk_0123456789abcdefghijklmnopqrstuvwxyz"
WRONG_KEY = "tlk_wrongwrongwrongwrongwrongwrong"
PATIENCE_S = 60.0
VIDEO = ("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25")
SOUND = ("-f", "lavfi", "-i", "sine=frequency=440", "-c:a", "aac")


@dataclass
class KeptStream:
    """A sink."""

    request: PublishRequest
    refuse_after: int | None = None
    data: bytearray = field(default_factory=bytearray)
    ends: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    grew: asyncio.Event = field(default_factory=asyncio.Event)

    async def write(self, data: bytes) -> None:
        assert not self.ends
        self.data += data
        self.grew.set()
        if self.refuse_after is not None and len(self.data) >= self.refuse_after:
            raise InvalidInput("the video codec is not supported", why="hevc")

    async def end(self) -> None:
        self.ends += 1
        self.ended.set()

    async def until(self, size: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.data) < size:
                self.grew.clear()
                await self.grew.wait()

    async def until_ended(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.ended.wait()


class Doorkeeper:
    """An admission that knows one key, for one publisher at a time."""

    def __init__(self, refuse_after: int | None = None) -> None:
        self.streams: list[KeptStream] = []
        self.came = asyncio.Event()
        self._refuse_after = refuse_after

    async def __call__(self, request: PublishRequest) -> KeptStream:
        if request.key != KEY:
            raise Forbidden("wrong stream key", hint="Copy the stream key from the page of the stream.")
        if any(not one.ends for one in self.streams):
            raise Conflict("the stream is live already")
        self.streams.append(KeptStream(request, self._refuse_after))
        self.came.set()
        return self.streams[-1]

    async def stream(self) -> KeptStream:
        async with asyncio.timeout(PATIENCE_S):
            await self.came.wait()
        self.came.clear()
        return self.streams[-1]


@dataclass(frozen=True)
class Ended:
    code: int
    words: str


@dataclass
class Publisher:
    process: asyncio.subprocess.Process

    async def ended(self) -> Ended:
        async with asyncio.timeout(PATIENCE_S):
            _, words = await self.process.communicate()
        return Ended(self.process.returncode or 0, words.decode())


@asynccontextmanager
async def publisher(
    url: str,
    container: str,
    *,
    seconds: float | None = 2,
    pace: bool = False,
    video: tuple[str, ...] = VIDEO,
    sound: tuple[str, ...] = SOUND,
) -> AsyncGenerator[Publisher]:
    """ffmpeg, until the block ends. Without a length it sends at the pace of the clock until it is killed."""
    length = ["-t", str(seconds)] if seconds is not None else []
    read = ["-re"] if seconds is None or pace else []
    command = [*read, *video[:4], *read, *sound[:4], *video[4:], *sound[4:], *length, "-f", container, url]
    process = await asyncio.create_subprocess_exec(
        get_ffmpeg_exe(),
        *("-nostdin", "-hide_banner", "-loglevel", "error"),
        *command,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Publisher(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def decoded(data: bytes, width: int = 320) -> dict[str, int]:
    """How many frames of each kind it holds."""
    counts = {"video": 0, "audio": 0}
    with av.open(BytesIO(data), "r") as container:
        for frame in container.decode(video=0):
            counts["video"] += frame.width == width
    with av.open(BytesIO(data), "r") as container:
        for _ in container.decode(audio=0):
            counts["audio"] += 1
    return counts
