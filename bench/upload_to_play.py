"""From the last byte to a playing video, beside what FFmpeg alone needs to repackage the same file.

60 s of 1080p H.264. The floor is `ffmpeg -c copy` to HLS on the local disk. Ours begins when all parts are in the
object store and somebody says so, and ends when a viewer has the playlists and the first segment.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
from imageio_ffmpeg import get_ffmpeg_exe
from support.report import percentile, report
from support.stack import Product, product

from touchline.apps.uploading.api import UploadApi
from touchline.apps.uploading.transfer import Transfer, Upload

ROUNDS = 5
LOOK_AGAIN_S = 0.02
OPERATOR = "admin@localhost"
PLAYBACK = "query ($id: String!) { playback(playbackId: $id) { __typename ... on Playback { manifestUrl } } }"


class Complete(UploadApi):
    """Notes when the upload was said to be complete."""

    at = 0.0

    async def complete(self, artifact_hash: str) -> None:
        self.at = time.monotonic()
        await super().complete(artifact_hash)


def ffmpeg(*arguments: str) -> float:
    begun = time.monotonic()
    subprocess.run([get_ffmpeg_exe(), "-hide_banner", "-loglevel", "error", "-y", *arguments], check=True)
    return time.monotonic() - begun


def make_video(path: Path) -> None:
    pictures = ("-f", "lavfi", "-i", "testsrc2=size=1920x1080:rate=30:duration=60")
    sound = ("-f", "lavfi", "-i", "sine=duration=60")
    codecs = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "60", "-c:a", "aac")
    ffmpeg(*pictures, *sound, *codecs, str(path))


def repackage(path: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return ffmpeg("-i", str(path), "-c", "copy", "-f", "hls", "-hls_time", "6", f"{folder}/index.m3u8")


async def playable(gateway: httpx.AsyncClient, playback_id: str) -> None:
    """When a viewer could begin: the playlists and the first segment are here."""
    while True:
        body = {"query": PLAYBACK, "variables": {"id": playback_id}}
        found: dict[str, Any] = (await gateway.post("/api/graphql", json=body)).json()["data"]["playback"]
        if found["__typename"] == "Playback":
            break
        await asyncio.sleep(LOOK_AGAIN_S)
    master = found["manifestUrl"]
    playlist = urljoin(master, await _first_line(gateway, master))
    segment = urljoin(playlist, await _first_line(gateway, playlist))
    (await gateway.get(segment)).raise_for_status()


async def _first_line(gateway: httpx.AsyncClient, url: str) -> str:
    text = (await gateway.get(url)).raise_for_status().text
    return next(line for line in text.splitlines() if line and not line.startswith("#"))


async def send_and_play(gateway: httpx.AsyncClient, path: Path, title: str) -> float:
    api = Complete(gateway)
    async with httpx.AsyncClient(timeout=60) as store:
        ticket = await Transfer(api, store, Upload(path, title), lambda text: None).run("bench")
    await playable(gateway, ticket.playback_id)
    return time.monotonic() - api.at


async def measure(made: Product, video: Path) -> dict[str, float | str]:
    scopes = ["--scope", "read", "--scope", "write"]
    token = made.touchline("tokens", "create", "bench", "--user", OPERATOR, *scopes)["token"]
    url = made.touchline("users", "link", OPERATOR)["url"].partition("/sign-in")[0]
    headers = {"Authorization": f"Bearer {token}"}
    floors, ours = [], []
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as gateway:
        for number in range(ROUNDS):
            floors.append(await asyncio.to_thread(repackage, video))
            ours.append(await send_and_play(gateway, video, f"Round {number}"))
    floor, our = percentile(floors, 0.5), percentile(ours, 0.5)
    return {
        "ffmpeg -c copy, median s": floor,
        "complete to playable, median s": our,
        "on top, median s (limit 2)": our - floor,
        "on top, worst s": max(ours) - floor,
        "ratio of what is on top to its limit": (our - floor) / 2,
    }


def main() -> None:
    with product() as made, tempfile.TemporaryDirectory() as folder:
        video = Path(folder) / "match.mp4"
        make_video(video)
        made.touchline("up", "--detach")
        os.environ["TOUCHLINE_DATA"] = str(made.data)
        report("upload_to_play", asyncio.run(measure(made, video)))


if __name__ == "__main__":
    main()
