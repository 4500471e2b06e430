"""The encoder against real listeners: what arrives is a stream with moving pictures and sound, also after a break."""

from __future__ import annotations

import asyncio
import signal
import socket
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from pathlib import Path

import av
import pytest
from imageio_ffmpeg import get_ffmpeg_exe

from touchline.world.encoder.model import Options, Sent, Target
from touchline.world.encoder.service import Told, stream

KEY = "sk-never-shown"
QUICK = Options(seed=3, height=90, speed=3, kilobits=400, length_ms=6_000)
SHOWN_MS = 1_500


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


async def listener(*source: str, path: Path, copied: str) -> Process:
    """Writes what arrives as it is: MPEG-TS crashes this build when it is parsed."""
    command = ("-loglevel", "quiet", "-nostdin", *source, "-map", "0", "-c", "copy", "-flush_packets", "1")
    return await asyncio.create_subprocess_exec(
        get_ffmpeg_exe(), *command, "-f", copied, "-y", str(path), stdout=DEVNULL, stderr=DEVNULL
    )


def rtmp_listener(url: str, path: Path) -> asyncio.Task[Process]:
    return asyncio.create_task(listener("-listen", "1", "-f", "flv", "-i", url, path=path, copied="flv"))


async def ended(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    await process.wait()


def received(path: Path) -> tuple[list[int], list[int], set[bytes]]:
    """Times of pictures and sound as they came, and what the pictures look like."""
    times: dict[str, list[int]] = {"video": [], "audio": []}
    looks: set[bytes] = set()
    with av.open(str(path)) as video:
        for packet in video.demux():
            if packet.pts is not None and packet.time_base is not None:
                times[packet.stream.type].append(round(packet.pts * packet.time_base * 1000))
            if packet.stream.type == "video":
                looks |= {frame.to_ndarray(format="gray8").tobytes() for frame in packet.decode()}
    return times["video"], times["audio"], looks


def has_something(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def check(path: Path) -> None:
    assert has_something(path)
    pictures, sound, looks = received(path)
    for times in (pictures, sound):
        assert times == sorted(set(times))
        assert times[-1] - times[0] > SHOWN_MS
    assert len(looks) > 2, "they move"


async def test_rtmp(tmp_path: Path) -> None:
    url, path = f"rtmp://127.0.0.1:{free_port(socket.SOCK_STREAM)}/live/{KEY}", tmp_path / "got.flv"
    server = await rtmp_listener(url, path)
    sent = await stream(Target.parse(url), QUICK)
    await ended(server)
    assert sent.at_ms > SHOWN_MS
    check(path)


async def test_srt(tmp_path: Path) -> None:
    address, path = f"srt://127.0.0.1:{free_port(socket.SOCK_DGRAM)}", tmp_path / "got.ts"
    server = await listener("-f", "data", "-i", f"{address}?mode=listener", path=path, copied="data")
    await stream(Target.parse(f"{address}?streamid={KEY}"), QUICK)
    await ended(server)
    check(path)


async def test_it_comes_back_after_the_server_was_away(tmp_path: Path) -> None:
    url, paths = f"rtmp://127.0.0.1:{free_port(socket.SOCK_STREAM)}/live/{KEY}", [tmp_path / f"{n}.flv" for n in (1, 2)]
    sending: asyncio.Queue[Sent] = asyncio.Queue()
    broken: asyncio.Queue[str] = asyncio.Queue()
    server = await rtmp_listener(url, paths[0])
    told = Told(sending.put_nowait, lambda why, rest: broken.put_nowait(why))
    work = asyncio.create_task(stream(Target.parse(url), Options(seed=3, height=90, kilobits=400), told))
    before = await sending.get()
    server.kill()
    await server.wait()
    assert KEY not in await broken.get()
    while not sending.empty():
        before = sending.get_nowait()
    server = await rtmp_listener(url, paths[1])
    after = await sending.get()
    while not await asyncio.to_thread(has_something, paths[1]):
        await asyncio.sleep(0.05)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await ended(server)
    assert after.pictures == 1
    assert after.at_ms > before.at_ms, "the match went on"
