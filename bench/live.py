"""Live streams: how far a page is behind, what a stream costs, and how soon it and its clips can be played.

Glass to page: a publisher draws the time into its pictures (`support/live_clock.py`), Chromium plays the stream by
hls.js as the page does, and each picture that it shows is read: the clock of the machine less the clock in the picture,
so that encoding, sending, cutting, waiting and decoding are all in it. Processor time: of the node and all its
processes, with streams of 1080p at 5 Mbit/s and without, beside one `ffmpeg -c copy` to HLS for each. First segment:
from the start of a publisher until a viewer, who asks the gateway, has the playlists and a closed segment. Clips: the
last 30 s, from the request until a viewer, who hears that the clip is ready, has its first segment.

`--only` names parts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from uuid import uuid4

import httpx
import psutil
from imageio_ffmpeg import get_ffmpeg_exe
from playwright.async_api import async_playwright
from support.live_clock import BLOCK_HEIGHT as CLOCK_HEIGHT, BLOCKS, HEIGHT
from support.report import percentile, report
from support.stack import Product, product
from support.viewers import free_port
from websockets import Subprotocol
from websockets.asyncio.client import ClientConnection, connect

PARTS = ("page", "cpu", "first", "clips")
ROOT = Path(__file__).parents[1]
HLS = ROOT / "web" / "node_modules" / "hls.js" / "dist" / "hls.min.js"
CLOCK = ROOT / "bench" / "support" / "live_clock.py"
OPERATOR = "admin@localhost"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
READY_S = 60
CLIP_S = 30
Figures = dict[str, float | str]

CREATE = """mutation ($input: CreateStreamInput!) { createStream(input: $input) {
  ... on StreamWithKey { streamKey stream { streamId playbackId } } } }"""
URLS = "query { publishUrls }"
RESOLVE = """query ($id: String!) { resolveViewerEndpoint(playbackId: $id) {
  ... on ViewerEndpoints { primary { url } } } }"""
CLIP = """mutation ($input: CreateClipInput!) { createClip(input: $input) {
  __typename ... on Clip { clipHash playbackId } ... on Problem { message } } }"""
CLIPS = "subscription { liveClipLifecycle { clipHash stage } }"
PLAYBACK = "query ($id: String!) { playback(playbackId: $id) { __typename ... on Playback { manifestUrl } } }"
PLAYER = """
([url, blocks, share]) => {
  const video = document.querySelector("video");
  const canvas = new OffscreenCanvas(blocks * 8, 8).getContext("2d", { willReadFrequently: true });
  window.behind = [];
  window.unreadable = 0;
  window.stalls = 0;
  video.addEventListener("waiting", () => { if (window.behind.length) window.stalls += 1; });
  const read = (_, { expectedDisplayTime }) => {
    video.requestVideoFrameCallback(read);
    canvas.drawImage(video, 0, 0, video.videoWidth, video.videoHeight * share, 0, 0, blocks * 8, 8);
    const pixels = canvas.getImageData(0, 0, blocks * 8, 8).data;
    const bits = Array.from({ length: blocks }, (_, n) => (pixels[4 * (4 * blocks * 8 + n * 8 + 4)] > 127 ? 1 : 0));
    const number = (from, until) => bits.slice(from, until).reduce((sum, bit) => sum * 2 + bit, 0);
    const clock = number(0, 32), check = number(32, 40);
    const sum = ((clock >>> 24) + ((clock >>> 16) & 255) + ((clock >>> 8) & 255) + (clock & 255)) % 256;
    if (sum !== check) { window.unreadable += 1; return; }
    const shown = Math.round(performance.timeOrigin + expectedDisplayTime);
    window.behind.push(((shown % 2 ** 32) - clock + 2 ** 32) % 2 ** 32);
  };
  video.requestVideoFrameCallback(read);
  window.hls = new Hls({ lowLatencyMode: true });
  hls.loadSource(url);
  hls.attachMedia(video);
  video.play();
}
"""


@dataclass(frozen=True)
class Sizes:
    seconds: float  # of one measurement
    streams: int
    rounds: int


@dataclass(frozen=True)
class LiveStream:
    stream_id: str
    playback_id: str
    address: str  # with its key


@dataclass(frozen=True)
class Running:
    made: Product
    url: str
    token: str

    @asynccontextmanager
    async def viewer(self) -> AsyncGenerator[Viewer]:
        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60, trust_env=False) as gateway:
            yield Viewer(self, gateway)

    @property
    def node(self) -> psutil.Process:
        [pid] = [part["pid"] for part in self.made.touchline("status")["parts"] if part["name"] == "node"]
        return psutil.Process(pid)


@dataclass(frozen=True)
class Viewer:
    there: Running
    gateway: httpx.AsyncClient

    async def ask(self, document: str, **variables: Any) -> dict[str, Any]:
        answer = await self.gateway.post("/api/graphql", json={"query": document, "variables": variables})
        return answer.raise_for_status().json()["data"]

    async def stream(self) -> LiveStream:
        wanted = {"idempotencyKey": uuid4().hex, "title": "A match"}
        made = (await self.ask(CREATE, input=wanted))["createStream"]
        url = next(url for url in (await self.ask(URLS))["publishUrls"] if url.startswith("rtmp"))
        stream = made["stream"]
        return LiveStream(stream["streamId"], stream["playbackId"], f"{url}/{made['streamKey']}")

    async def live_url(self, stream: LiveStream) -> str:
        """Of its master playlist at its node, as soon as it is live."""
        async with asyncio.timeout(READY_S):
            while True:
                found = (await self.ask(RESOLVE, id=stream.playback_id))["resolveViewerEndpoint"]
                if found:
                    return found["primary"]["url"]
                await asyncio.sleep(0.02)

    async def text(self, url: str) -> str:
        """Where it is not there yet, as soon as it is."""
        async with asyncio.timeout(READY_S):
            while not (answer := await self.gateway.get(url)).is_success:
                await asyncio.sleep(0.02)
        return answer.text

    async def first_segment(self, master: str) -> None:
        """Of a live stream: as soon as one is closed."""
        playlist = urljoin(master, _first_line(await self.text(master)))
        async with asyncio.timeout(READY_S):
            while True:
                text = await self.text(playlist)
                if names := re.findall(r"^segment_\d+\.m4s$", text, re.MULTILINE):
                    break
                [(number, part)] = re.findall(r"PRELOAD-HINT:.*part_(\d+)_(\d+)\.m4s", text)
                playlist = f"{playlist.partition('?')[0]}?_HLS_msn={number}&_HLS_part={part}"
        [header] = re.findall(r'#EXT-X-MAP:URI="([^"]+)"', text)
        for name in (header, names[0]):
            (await self.gateway.get(urljoin(master, name))).raise_for_status()


def _first_line(text: str) -> str:
    return next(line for line in text.splitlines() if line and not line.startswith("#"))


def ffmpeg(*arguments: str) -> list[str]:
    return [get_ffmpeg_exe(), "-nostdin", "-hide_banner", "-loglevel", "error", "-y", *arguments]


def make_match(path: Path) -> None:
    """20 s of 1080p at 5 Mbit/s."""
    pictures = ("-f", "lavfi", "-i", "testsrc2=size=1920x1080:rate=30:duration=20")
    sound = ("-f", "lavfi", "-i", "sine=duration=20:sample_rate=48000")
    rate = ("-b:v", "5M", "-minrate", "5M", "-maxrate", "5M", "-bufsize", "5M", "-x264-params", "nal-hrd=cbr")
    codecs = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "60", *rate, "-c:a", "aac")
    subprocess.run(ffmpeg(*pictures, *sound, *codecs, str(path)), check=True)


@contextmanager
def sent(match: Path, address: str) -> Generator[None]:
    """Again and again, at the pace of the clock."""
    command = ffmpeg("-re", "-stream_loop", "-1", "-i", str(match), "-c", "copy", "-f", "flv", address)
    with started(command):
        yield


@contextmanager
def started(command: Sequence[str]) -> Generator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    with ended(process):
        yield process


@contextmanager
def ended(process: subprocess.Popen[Any]) -> Generator[None]:
    try:
        yield
    finally:
        process.kill()
        process.wait()


# --- From glass to page.


@contextmanager
def clock_published(address: str) -> Generator[None]:
    publisher = subprocess.Popen([sys.executable, str(CLOCK)], stdin=subprocess.PIPE, text=True)
    with ended(publisher):
        assert publisher.stdin
        publisher.stdin.write(f"{address}\n")
        publisher.stdin.close()
        yield


async def measure_page(there: Running, sizes: Sizes) -> Figures:
    async with there.viewer() as viewer, async_playwright() as playwright:
        stream = await viewer.stream()
        with clock_published(stream.address):
            url = await viewer.live_url(stream)
            await viewer.text(url)
            found = next(filter(None, map(shutil.which, CHROMIUM)), None)
            flags = ["--no-sandbox", "--disable-gpu", "--autoplay-policy=no-user-gesture-required"]
            browser = await playwright.chromium.launch(executable_path=found, args=flags)
            page = await browser.new_page()
            await page.set_content("<video muted></video>")
            await page.add_script_tag(path=HLS)
            await page.evaluate(PLAYER, [url, BLOCKS, CLOCK_HEIGHT / HEIGHT])
            await page.wait_for_function("() => window.behind.length > 0", timeout=READY_S * 1000)
            await asyncio.sleep(sizes.seconds)
            behind, unreadable, stalls = await page.evaluate("() => [behind, unreadable, stalls]")
            await browser.close()
    seconds = [each / 1000 for each in behind]
    return {
        "glass to page: pictures read": float(len(seconds)),
        "glass to page: pictures that could not be read": float(unreadable),
        "glass to page: stalls": float(stalls),
        "glass to page: p50 s": percentile(seconds, 0.5),
        "glass to page: p95 s (at most 4)": percentile(seconds, 0.95),
        "glass to page: most s": max(seconds),
    }


# --- Processor time.


def processor_s(processes: Sequence[psutil.Process]) -> dict[int, float]:
    """Of each of them, and of all that they have started."""
    taken: dict[int, float] = {}
    for root in processes:
        for process in (root, *root.children(recursive=True)):
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            taken[process.pid] = times.user + times.system
    return taken


async def cores(processes: Sequence[psutil.Process], seconds: float) -> tuple[float, float]:
    """How much of a core they take: by themselves, and by what they have started."""
    before, begun = processor_s(processes), time.monotonic()
    await asyncio.sleep(seconds)
    after, lasted = processor_s(processes), time.monotonic() - begun
    taken = {pid: (seconds - before.get(pid, 0.0)) / lasted for pid, seconds in after.items()}
    own = sum(taken[process.pid] for process in processes)
    return own, sum(taken.values()) - own


async def measure_cpu(there: Running, sizes: Sizes, match: Path, folder: Path) -> Figures:
    node = there.node
    idle = await cores([node], sizes.seconds / 2)
    async with there.viewer() as viewer:
        with ExitStack() as publishers:
            streams = [await viewer.stream() for _ in range(sizes.streams)]
            for stream in streams:
                publishers.enter_context(sent(match, stream.address))
            for stream in streams:
                await viewer.first_segment(await viewer.live_url(stream))
            own, sandboxed = await cores([node], sizes.seconds)
    ours = (own + sandboxed - sum(idle)) / sizes.streams
    plain = await measure_plain(sizes, match, folder)
    return {
        "cpu: the node without streams, % of a core": 100 * sum(idle),
        f"cpu: a stream of {sizes.streams}, % of a core": 100 * ours,
        "cpu: of it in the node's own process": 100 * (own - idle[0]) / sizes.streams,
        "cpu: of it in the sandbox": 100 * (sandboxed - idle[1]) / sizes.streams,
        "cpu: ffmpeg -c copy to HLS, % of a core": 100 * plain,
        "ratio cpu, a stream to ffmpeg (at most 1.5)": ours / plain,
        "1080p streams a core": 1 / ours,
    }


async def measure_plain(sizes: Sizes, match: Path, folder: Path) -> float:
    """One ffmpeg for each publisher takes RTMP and writes the same segments."""
    made: list[psutil.Process] = []
    with ExitStack() as stack:
        for number in range(sizes.streams):
            output = folder / f"plain-{number}"
            output.mkdir()
            address = f"rtmp://127.0.0.1:{free_port()}/live/plain"
            hls = ("-f", "hls", "-hls_segment_type", "fmp4", "-hls_time", "2", "-hls_list_size", "10")
            flags = ("-hls_flags", "delete_segments+program_date_time")
            command = ffmpeg("-listen", "1", "-i", address, "-c", "copy", *hls, *flags, str(output / "index.m3u8"))
            made.append(psutil.Process(stack.enter_context(started(command)).pid))
            await _until(lambda process=made[-1]: bool(process.net_connections()))
            stack.enter_context(sent(match, address))
        await _until(lambda: all((folder / f"plain-{n}" / "index.m3u8").exists() for n in range(sizes.streams)))
        return sum(await cores(made, sizes.seconds)) / sizes.streams


async def _until(is_so: Any) -> None:
    async with asyncio.timeout(READY_S):
        while not is_so():
            await asyncio.sleep(0.05)


# --- How soon.


async def measure_first(there: Running, sizes: Sizes, match: Path) -> Figures:
    taken: list[float] = []
    async with there.viewer() as viewer:
        for _ in range(sizes.rounds):
            stream = await viewer.stream()
            begun = time.monotonic()
            with sent(match, stream.address):
                await viewer.first_segment(await viewer.live_url(stream))
                taken.append(time.monotonic() - begun)
    return {
        "publish to first segment: p50 s": percentile(taken, 0.5),
        "publish to first segment: most s (at most 3)": max(taken),
    }


async def measure_clips(there: Running, sizes: Sizes, match: Path) -> Figures:
    cut: list[float] = []
    taken: list[float] = []
    async with there.viewer() as viewer, hearing(there) as heard:
        stream = await viewer.stream()
        with sent(match, stream.address):
            await viewer.first_segment(await viewer.live_url(stream))
            await asyncio.sleep(CLIP_S + 2)
            for _ in range(sizes.rounds):
                begun = time.monotonic()
                wanted = {"streamId": stream.stream_id, "mode": "CLIP_NOW", "durationSeconds": CLIP_S}
                clip = (await viewer.ask(CLIP, input={**wanted, "idempotencyKey": uuid4().hex}))["createClip"]
                assert "clipHash" in clip, clip
                stages = await stages_until_ready(heard, clip["clipHash"])
                found = (await viewer.ask(PLAYBACK, id=clip["playbackId"]))["playback"]
                master = found["manifestUrl"]
                playlist = urljoin(master, _first_line(await viewer.text(master)))
                segment = urljoin(playlist, _first_line(await viewer.text(playlist)))
                (await viewer.gateway.get(segment)).raise_for_status()
                taken.append(time.monotonic() - begun)
                cut.append(next(iter(stages.values())) - begun)
                print(
                    {stage: round(at - begun, 2) for stage, at in stages.items()}, round(taken[-1], 2), file=sys.stderr
                )
    return {
        "clip_now of 30 s to playable: p50 s": percentile(taken, 0.5),
        "clip_now of 30 s to playable: p95 s (at most 2)": percentile(taken, 0.95),
    }


@asynccontextmanager
async def hearing(there: Running) -> AsyncGenerator[ClientConnection]:
    """What a page hears of clips."""
    address = f"{there.url.replace('http', 'ws', 1)}/api/graphql"
    async with connect(address, subprotocols=[Subprotocol("graphql-transport-ws")], proxy=None) as heard:
        await heard.send(json.dumps({"type": "connection_init", "payload": {"accessToken": there.token}}))
        await heard.recv()
        await heard.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": CLIPS}}))
        yield heard


async def stages_until_ready(heard: ClientConnection, clip_hash: str) -> dict[str, float]:
    """When each stage of the clip was heard of first."""
    stages: dict[str, float] = {}
    async with asyncio.timeout(READY_S):
        async for message in heard:
            event: dict[str, Any] = json.loads(message).get("payload", {}).get("data", {}).get("liveClipLifecycle", {})
            if event.get("clipHash") == clip_hash:
                stages.setdefault(event["stage"], time.monotonic())
                assert event["stage"] != "failed", event
                if event["stage"] == "ready":
                    break
    return stages


# --- All of it.


def told(figures: Figures) -> Figures:
    """At once as well: a part that fails takes none of the others with it."""
    print(json.dumps(figures, indent=2), file=sys.stderr, flush=True)
    return figures


async def measure(there: Running, parts: Sequence[str], sizes: Sizes, folder: Path) -> Figures:
    figures: Figures = {"load average": f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"}
    match = folder / "match.mp4"
    await asyncio.to_thread(make_match, match)
    if "page" in parts:
        figures |= told(await measure_page(there, sizes))
    if "cpu" in parts:
        figures |= told(await measure_cpu(there, sizes, match, folder))
    if "first" in parts:
        figures |= told(await measure_first(there, sizes, match))
    if "clips" in parts:
        figures |= told(await measure_clips(there, sizes, match))
    return figures


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    arguments.add_argument("--seconds", type=float, default=40, help="of one measurement")
    arguments.add_argument("--streams", type=int, default=4, help="at once, of which the processor time is taken")
    arguments.add_argument("--rounds", type=int, default=20, help="of first segments and of clips")
    given = vars(arguments.parse_args())
    sizes, parts = Sizes(given["seconds"], given["streams"], given["rounds"]), tuple(given["only"])
    with product() as made, tempfile.TemporaryDirectory() as folder:
        made.touchline("up", "--detach")
        scopes = ["--scope", "read", "--scope", "write"]
        token = made.touchline("tokens", "create", "bench", "--user", OPERATOR, *scopes)["token"]
        url = made.touchline("users", "link", OPERATOR)["url"].partition("/sign-in")[0]
        name = "live" if parts == PARTS else f"live-{'-'.join(parts)}"
        report(name, asyncio.run(measure(Running(made, url, token), parts, sizes, Path(folder))))


if __name__ == "__main__":
    main()
