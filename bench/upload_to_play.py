"""From the last byte to a playing video, beside what FFmpeg alone needs to repackage the same file.

60 s of 1080p H.264, at the bit-rates of a download and of a camera. The floor is `ffmpeg -c copy` to HLS on the local
disk. Ours begins when all parts are in the object store and somebody says so, and ends when a viewer, who hears live
that it is ready, has the playlists and the first segment.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
from imageio_ffmpeg import get_ffmpeg_exe
from support.report import percentile, report
from support.stack import product
from websockets import Subprotocol
from websockets.asyncio.client import ClientConnection, connect

from touchline.apps.gateway_client import GatewayClient
from touchline.apps.upload_file import Upload
from touchline.apps.upload_transfer import Transfer, UploadApi

ROUNDS = 7
LIMIT_S = 1.5  # on top, while the videos of the rounds before are still being read
MEGABITS = (5, 8)
OPERATOR = "admin@localhost"
LIVE = "subscription { liveVodLifecycle { artifactHash stage } }"
PLAYBACK = "query ($id: String!) { playback(playbackId: $id) { __typename ... on Playback { manifestUrl } } }"


class Complete(UploadApi):
    """Notes when the upload was said to be complete."""

    at = 0.0

    async def complete(self, artifact_hash: str, checksums: list[str]) -> None:
        self.at = time.monotonic()
        await super().complete(artifact_hash, checksums)


def ffmpeg(*arguments: str) -> float:
    begun = time.monotonic()
    subprocess.run([get_ffmpeg_exe(), "-hide_banner", "-loglevel", "error", "-y", *arguments], check=True)
    return time.monotonic() - begun


def make_video(path: Path, megabits: int) -> None:
    pictures = ("-f", "lavfi", "-i", "testsrc2=size=1920x1080:rate=30:duration=60")
    sound = ("-f", "lavfi", "-i", "sine=duration=60")
    rate = ("-b:v", f"{megabits}M", "-maxrate", f"{megabits}M", "-bufsize", f"{2 * megabits}M")
    codecs = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "60", *rate, "-c:a", "aac")
    ffmpeg(*pictures, *sound, *codecs, str(path))


def repackage(path: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return ffmpeg("-i", str(path), "-c", "copy", "-f", "hls", "-hls_time", "6", f"{folder}/index.m3u8")


@asynccontextmanager
async def live(url: str, token: str) -> AsyncGenerator[ClientConnection]:
    """What a page hears."""
    address = f"{url.replace('http', 'ws', 1)}/api/graphql"
    async with connect(address, subprotocols=[Subprotocol("graphql-transport-ws")], proxy=None) as socket:
        await socket.send(json.dumps({"type": "connection_init", "payload": {"accessToken": token}}))
        await socket.recv()
        await socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": LIVE}}))
        yield socket


async def until_ready(socket: ClientConnection, artifact_hash: str) -> None:
    async for message in socket:
        event: dict[str, Any] = json.loads(message).get("payload", {}).get("data", {}).get("liveVodLifecycle", {})
        if (event.get("artifactHash"), event.get("stage")) == (artifact_hash, "ready"):
            return


async def watch(gateway: httpx.AsyncClient, playback_id: str) -> None:
    """What a viewer needs to begin: the playlists and the first segment."""
    body = {"query": PLAYBACK, "variables": {"id": playback_id}}
    found: dict[str, Any] = (await gateway.post("/api/graphql", json=body)).json()["data"]["playback"]
    master = found["manifestUrl"]
    playlist = urljoin(master, await _first_line(gateway, master))
    segment = urljoin(playlist, await _first_line(gateway, playlist))
    (await gateway.get(segment)).raise_for_status()


async def _first_line(gateway: httpx.AsyncClient, url: str) -> str:
    text = (await gateway.get(url)).raise_for_status().text
    return next(line for line in text.splitlines() if line and not line.startswith("#"))


async def send_and_play(gateway: httpx.AsyncClient, token: str, path: Path, title: str) -> float:
    api = Complete(GatewayClient(gateway, str(gateway.base_url)))
    async with live(str(gateway.base_url).rstrip("/"), token) as socket, httpx.AsyncClient(timeout=60) as store:
        ticket = await Transfer(api, store, Upload(path, title), lambda text: None).run("bench")
        await until_ready(socket, ticket.artifact_hash)
    await watch(gateway, ticket.playback_id)
    return time.monotonic() - api.at


async def measure(gateway: httpx.AsyncClient, token: str, video: Path, label: str) -> dict[str, float | str]:
    floors: list[float] = []
    ours: list[float] = []
    for number in range(ROUNDS):
        floors.append(await asyncio.to_thread(repackage, video))
        ours.append(await send_and_play(gateway, token, video, f"{label}, round {number}"))
    floor, our = percentile(floors, 0.5), percentile(ours, 0.5)
    return {
        f"{label}: ffmpeg -c copy, median s": floor,
        f"{label}: complete to playable, median s": our,
        f"{label}: on top, median s (limit {LIMIT_S})": our - floor,
        f"{label}: on top, quickest s": min(ours) - floor,
        f"{label}: ratio of what is on top to its limit": (our - floor) / LIMIT_S,
    }


async def measure_all(url: str, token: str, folder: Path) -> dict[str, float | str]:
    figures: dict[str, float | str] = {}
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as gateway:
        for megabits in MEGABITS:
            video = folder / f"{megabits}.mp4"
            await asyncio.to_thread(make_video, video, megabits)
            figures |= await measure(gateway, token, video, f"{megabits} Mbit/s")
    return figures


def main() -> None:
    with product() as made, tempfile.TemporaryDirectory() as folder:
        made.touchline("up", "--detach")
        os.environ["TOUCHLINE_DATA"] = str(made.data)
        scopes = ["--scope", "read", "--scope", "write"]
        token = made.touchline("tokens", "create", "bench", "--user", OPERATOR, *scopes)["token"]
        url = made.touchline("users", "link", OPERATOR)["url"].partition("/sign-in")[0]
        report("upload_to_play", asyncio.run(measure_all(url, token, Path(folder))))


if __name__ == "__main__":
    main()
