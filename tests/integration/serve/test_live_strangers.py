"""A running node among strangers: what they send takes no memory to speak of, and others publish on. No key is to be
read anywhere."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import psutil
from imageio_ffmpeg import get_ffmpeg_exe  # pyright: ignore[reportMissingTypeStubs]

from tests.support.clickhouse_owner import free_port
from tests.support.nodes import NodeProcess
from tests.support.wait import eventually
from touchline.contracts.registry import StreamWithKey

from .ingest.conftest import INSTALLED, UNPACKED
from .ingest.publishers import SOUND, VIDEO
from .test_live import LiveSite, site

__all__ = ["site"]
MIB = 1024**2
MOST_GROWTH_BYTES = 64 * MIB  # of which a thousand connections may need a part
HANDSHAKE = b"\x03" + bytes(1536) + bytes(1536)
ENDLESS_STRING = struct.pack(">BBBBBBBBI", 3, 0, 0, 0, 0xFF, 0xFF, 0xFF, 20, 0) + b"\x0c\xff\xff\xff\xff"
UNFINISHED = b"".join(struct.pack(">BBBBBBBBI", 3 + n, 0, 0, 0, 0, 0xFF, 0xFF, 20, 0) + bytes(128) for n in range(30))
STRANGERS: Sequence[bytes] = (b"", HANDSHAKE[:100], HANDSHAKE, HANDSHAKE + UNFINISHED)
SHAMELESS: Sequence[bytes] = (
    bytes(range(256)) * 4096,
    HANDSHAKE + ENDLESS_STRING + b"x" * MIB,
    b"\x03" + os.urandom(MIB),
)
LIBRARY = {} if INSTALLED or not UNPACKED else {"PUBLISH_SRT_LIBRARY": str(UNPACKED[0])}
HAS_SRT = bool(INSTALLED or UNPACKED)


def family(node: NodeProcess) -> list[psutil.Process]:
    assert node.process
    root = psutil.Process(node.process.pid)
    return [root, *root.children(recursive=True)]


def memory(node: NodeProcess) -> int:
    assert node.process
    return psutil.Process(node.process.pid).memory_info().rss


@asynccontextmanager
async def published(address: str, form: str, secret: str) -> AsyncGenerator[None]:
    """By ffmpeg, which has the key from a file that nobody else can open."""
    options = os.memfd_create("options")
    os.write(options, f"{secret}\n".encode())
    inputs = ("-re", *VIDEO[:4], "-re", *SOUND[:4], *VIDEO[4:], *SOUND[4:])
    process = await asyncio.create_subprocess_exec(
        get_ffmpeg_exe(),
        *("-nostdin", "-loglevel", "quiet", *inputs, "-f", form, "-fpre", f"/dev/fd/{options}", address),
        pass_fds=(options,),
    )
    os.close(options)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):  # whoever was refused has left
            process.kill()
        await process.wait()


async def newest_part(site: LiveSite, node: NodeProcess, made: StreamWithKey) -> tuple[int, int]:
    lines = (await site.get(node, made.stream, "live.m3u8")).content.decode().splitlines()
    name = next(line for line in lines if line.startswith("#EXT-X-PRELOAD-HINT")).rpartition("part_")[2]
    sequence, _, part = name.partition(".")[0].partition("_")
    return int(sequence), int(part)


async def goes_on(site: LiveSite, node: NodeProcess, made: StreamWithKey) -> None:
    """Two more segments come. A player's request waits for them."""
    sequence, _ = await newest_part(site, node, made)
    answer = await site.get(node, made.stream, f"live.m3u8?_HLS_msn={sequence}")
    assert answer.status_code == 200
    assert (await newest_part(site, node, made)) > (sequence, 0)


async def shamelessly_sent(port: int, data: bytes) -> bool:
    """Whether the node hung up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with suppress(ConnectionError):
        writer.write(data)
        await writer.drain()
    try:
        return await reader.read() is not None
    except ConnectionError:
        return True
    finally:
        writer.close()


async def test_strangers_take_no_memory_and_keep_nobody_out(site: LiveSite) -> None:
    node, made = await site.node(LIVE_SEGMENT="1s"), await site.stream()
    port = site.rtmp_ports["node-1"]
    async with published(f"rtmp://127.0.0.1:{port}/live", "flv", f"rtmp_playpath={made.key}"):
        await site.until(made.stream, lambda row: bool(row.live and row.live.playable_at))
        before = memory(node)
        connections: list[asyncio.StreamWriter] = []
        most = before
        for number in range(1000):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            connections.append(writer)
            writer.write(STRANGERS[number % len(STRANGERS)])
            most = max(most, memory(node)) if number % 50 == 0 else most
        for data in 5 * [*SHAMELESS]:
            assert await shamelessly_sent(port, data)
            most = max(most, memory(node))
        await goes_on(site, node, made)
        most = max(most, memory(node))
        for writer in connections:
            writer.close()
        assert most - before < MOST_GROWTH_BYTES, f"{(most - before) / MIB:.0f} MiB"
        assert (await site.row(made.stream)).live


async def test_a_key_is_in_no_log_no_event_and_no_command_line(site: LiveSite) -> None:
    srt_port = free_port()
    node = await site.node(PUBLISH_SRT_PORT=str(srt_port), LIVE_SEGMENT="1s", **LIBRARY)
    rtmp = f"rtmp://127.0.0.1:{site.rtmp_ports['node-1']}/live"
    made = [await site.stream(record=True) for _ in range(1 + HAS_SRT)]
    old = await site.stream()
    await site.world.registry.rotate_stream_key(site.world.ours, old.stream.id)
    async with AsyncExitStack() as publishers:
        await publishers.enter_async_context(published(rtmp, "flv", f"rtmp_playpath={made[0].key}"))
        if HAS_SRT:
            by_srt = published(f"srt://127.0.0.1:{srt_port}", "mpegts", f"srt_streamid={made[1].key}")
            await publishers.enter_async_context(by_srt)
        for each in made:
            await site.until(each.stream, lambda row: bool(row.live and row.live.playable_at))
        async with published(rtmp, "flv", f"rtmp_playpath={old.key}"):  # refused
            await asyncio.to_thread(refused_once, node)
        seen = {"command lines": command_lines(), "environments": environments(node)}
    for each in made:
        await site.until(each.stream, lambda row: bool(row.live and row.live.broken_at))
    seen |= {"log": node.log, "events": await all_events(site)}
    assert "stream.playable" in seen["events"]
    assert str(made[0].stream.id) in seen["log"]
    for each in (*made, old):
        assert [where for where, text in seen.items() if str(each.key) in text] == []


def refused_once(node: NodeProcess) -> None:
    eventually(lambda: "publisher refused" in node.log)


def command_lines() -> str:
    """Of all processes, as everybody can read them."""
    lines: list[str] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            lines.append(" ".join(process.cmdline()))
    return "\n".join(lines)


def environments(node: NodeProcess) -> str:
    found: list[str] = []
    for process in family(node):
        with suppress(psutil.Error):
            found += process.environ().values()
    return "\n".join(found)


async def all_events(site: LiveSite) -> str:
    async with site.world.environment.database.system("test: read events") as transaction:
        rows = await (
            await transaction.connection.execute("SELECT event::text FROM platform.event_inbox event")
        ).fetchall()
    return "\n".join(row[0] for row in rows)
