"""Addresses of streams: what is one, and what of it may be shown."""

from __future__ import annotations

import asyncio
import signal
import socket
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import psutil
import pytest
from av.video.frame import VideoFrame
from imageio_ffmpeg import get_ffmpeg_exe

from touchline.kernel import InvalidInput
from touchline_world.encoder.model import EncoderOptions, Protocol, StreamProgress, StreamTarget
from touchline_world.encoder.publisher import GOAL_EVERY, TAKE_MS, EndlessMatch
from touchline_world.encoder.service import StreamReports, stream
from touchline_world.videos.model import TakeKind
from touchline_world.videos.sound import SOUND_HZ


@pytest.mark.parametrize(
    ("url", "protocol", "shown"),
    [
        ("rtmp://localhost/live/sk-12345678", Protocol.RTMP, "rtmp://localhost/live/…"),
        ("rtmp://user:word@host:1935/live/sk-12345678", Protocol.RTMP, "rtmp://host:1935/live/…"),
        ("rtmps://host/live/sk-12345678?x=sk-2", Protocol.RTMPS, "rtmps://host/live/…"),
        ("srt://host:9000?streamid=sk-12345678&passphrase=hidden-words", Protocol.SRT, "srt://host:9000"),
    ],
)
def test_a_target_shows_where_it_goes_but_not_its_key(url: str, protocol: Protocol, shown: str) -> None:
    target = StreamTarget.parse(url)
    assert (target.protocol, target.shown) == (protocol, shown)
    assert "sk-12345678" in target.secrets
    assert not any(secret in f"{target.shown} {target!r}" for secret in target.secrets)


@pytest.mark.parametrize("url", ["", "http://host/live", "srt://host", "rtmp://", "rtmp://host:port/live", "host:1935"])
def test_anything_else_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        StreamTarget.parse(url)
    assert not url or url not in str(caught.value)


def test_what_is_secret_of_srt_is_in_no_address() -> None:
    target = StreamTarget.parse(
        "srt://host:9000?latency=200000&streamid=%23!::r=sk-1,m=publish&passphrase=hidden-words"
    )
    assert target.public_url == "srt://host:9000?latency=200000"
    assert target.secret_options == (("srt_streamid", "#!::r=sk-1,m=publish"), ("passphrase", "hidden-words"))


SIZE = (160, 90)


def test_any_moment_can_be_asked_for() -> None:
    one, other = EndlessMatch(3, SIZE), EndlessMatch(3, SIZE)
    late = TAKE_MS + 40
    one.picture(0)
    assert np.array_equal(one.picture(late), other.picture(late))
    assert not np.array_equal(one.picture(late), one.picture(0))


def test_clock_and_score_go_on_from_take_to_take() -> None:
    takes = [EndlessMatch(3, SIZE).take(number) for number in range(3 * GOAL_EVERY)]
    assert [take.clock_ms for take in takes] == [number * TAKE_MS for number in range(3 * GOAL_EVERY)]
    assert all(one.score_after == other.score_before for one, other in pairwise(takes))
    for take in takes:
        scored = sum(take.score_after) - sum(take.score_before)
        assert scored == (1 if take.kind is TakeKind.GOAL else 0)


def test_sound_has_no_gap_between_takes() -> None:
    programme, edge = EndlessMatch(3, SIZE), TAKE_MS * SOUND_HZ // 1000
    part = programme.sound(edge - 100, 1024)
    assert part.shape == (2, 1024)
    assert np.array_equal(part[:, 100:], programme.sound(edge, 924))


KEY = "sk-never-shown"
SMALL = EncoderOptions(seed=3, height=90, kilobits=400)
ENOUGH_BYTES = 80_000  # about a second of it


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
                frames = [frame for frame in packet.decode() if isinstance(frame, VideoFrame)]
                looks |= {frame.to_ndarray(format="gray8").tobytes() for frame in frames}
    return times["video"], times["audio"], looks


async def arrived(path: Path, count: int = 1) -> None:
    while await asyncio.to_thread(lambda: path.stat().st_size if path.exists() else 0) < count:
        await asyncio.sleep(0.05)


async def given_up(work: asyncio.Task[StreamProgress]) -> None:
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work


def check(path: Path) -> None:
    pictures, sound, looks = received(path)
    for times in (pictures, sound):
        assert times == sorted(set(times))
        assert len(times) > 3
    assert len(looks) > 1, "they move"


@pytest.mark.parametrize("options", [SMALL, replace(SMALL, loop_ms=400)], ids=["drawn", "a loop"])
async def test_rtmp(tmp_path: Path, options: EncoderOptions) -> None:
    url, path = f"rtmp://127.0.0.1:{free_port(socket.SOCK_STREAM)}/live/{KEY}", tmp_path / "got.flv"
    server = await rtmp_listener(url, path)
    work = asyncio.create_task(stream(StreamTarget.parse(url), options))
    await arrived(path, ENOUGH_BYTES)
    await given_up(work)
    await ended(server)
    check(path)


async def test_srt(tmp_path: Path) -> None:
    address, path = f"srt://127.0.0.1:{free_port(socket.SOCK_DGRAM)}", tmp_path / "got.ts"
    server = await listener("-f", "data", "-i", f"{address}?mode=listener", path=path, copied="data")
    work = asyncio.create_task(stream(StreamTarget.parse(f"{address}?streamid={KEY}"), SMALL))
    await arrived(path, ENOUGH_BYTES)
    assert KEY not in command_lines()
    await given_up(work)
    await ended(server)
    check(path)


def command_lines() -> str:
    """Of all processes, as everybody can read them."""
    lines: list[str] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            lines.append(" ".join(process.cmdline()))
    return "\n".join(lines)


async def test_it_comes_back_after_the_server_was_away(tmp_path: Path) -> None:
    url, paths = f"rtmp://127.0.0.1:{free_port(socket.SOCK_STREAM)}/live/{KEY}", [tmp_path / f"{n}.flv" for n in (1, 2)]
    sending: asyncio.Queue[StreamProgress] = asyncio.Queue()
    broken: asyncio.Queue[str] = asyncio.Queue()
    server = await rtmp_listener(url, paths[0])
    told = StreamReports(sending.put_nowait, lambda why, rest: broken.put_nowait(why))
    work = asyncio.create_task(stream(StreamTarget.parse(url), SMALL, told))
    before = await sending.get()
    server.kill()
    await server.wait()
    assert KEY not in await broken.get()
    while not sending.empty():
        before = sending.get_nowait()
    server = await rtmp_listener(url, paths[1])
    after = await sending.get()
    await arrived(paths[1])
    await given_up(work)
    await ended(server)
    assert after.pictures == 1
    assert after.at_ms > before.at_ms, "the match went on"
