"""Serving beside plain tools on the same machine and store: uploads, tiers, playback ids, viewers and retention.

Uploads: one file by the command's own transfer, from its creation to its end, and by boto3 in parts. Tiers: a
rendition of segments as a node freezes and defrosts it, checksums and all, and the same files copied without any.
Playback ids: `resolveViewerEndpoint` at a gateway whose registry is another process, which is then killed. Viewers:
the first byte of a segment that a node has, and all segments beside nginx, which serves the same files. Retention:
passes over an archive in which everything is over its time (`support/retention.py`), the first and the last ones.

What is compared takes turns; told are medians. `--only` names parts.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import boto3
import httpx
import obstore
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from imageio_ffmpeg import get_ffmpeg_exe
from obstore.store import S3Store
from support.report import percentile, report
from support.retention import measure_retention
from support.stack import Product, product
from support.viewers import (
    NGINX_IS_MISSING,
    Place,
    answers_per_second,
    bytes_per_second,
    first_bytes_ms,
    free_port,
    has_nginx,
    nginx,
)

from touchline.apps import wiring
from touchline.apps.gateway_client import GatewayClient
from touchline.apps.settings import Loaded, load
from touchline.apps.upload_file import Upload
from touchline.apps.upload_transfer import Transfer, UploadApi
from touchline.kernel import SystemClock, TenantId, artifact_hash
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.serve.agent.folder import CopyFolder, LocalCopy, rendition_name
from touchline.serve.agent.settings import NodeSettings
from touchline.serve.agent.transfers import Keys, Transfers

PARTS = ("uploads", "tiers", "ids", "viewers", "retention")
MIB = 1024**2
PART_BYTES = 20 * MIB
SEGMENT_BYTES = 4 * MIB  # four seconds at 8 Mbit/s
BUDGET_BYTES = 1024**4
TENANT = TenantId(UUID("11111111-1111-4111-8111-111111111111"))
OPERATOR = "admin@localhost"
READY_S = 120
VIEWERS = 4
Figures = dict[str, float | str]

RESOLVE = (
    "query ($id: String!) { resolveViewerEndpoint(playbackId: $id) "
    "{ __typename ... on ViewerEndpoints { primary { nodeId url } } ... on Problem { code message } } }"
)
WARM = "mutation ($hash: String!) { warmArtifact(artifactHash: $hash) { __typename ... on Problem { message } } }"
OPEN_JOBS = "SELECT count(*) FROM process.jobs WHERE job_type = 'transcode' AND status <> 'done'"


@dataclass(frozen=True)
class Sizes:
    upload_bytes: int
    segments: int
    rounds: int
    seconds: float  # of one turn of a load
    first_bytes: int
    rows: int


@dataclass(frozen=True)
class Running:
    """A product that was started, and somebody who may do everything there."""

    made: Product
    loaded: Loaded
    objects: ObjectsEndpoint
    url: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @asynccontextmanager
    async def gateway(self) -> AsyncGenerator[GatewayClient]:
        async with httpx.AsyncClient(base_url=self.url, headers=self.headers, timeout=120) as http:
            yield GatewayClient(http, self.url)


@contextmanager
def running(**settings: str) -> Generator[Running]:
    with product() as made:
        made.environment |= {f"TOUCHLINE_{name}": value for name, value in settings.items()}
        made.touchline("up", "--detach")
        loaded = load(made.environment)
        scopes = ["--scope", "read", "--scope", "write"]
        token = made.touchline("tokens", "create", "bench", "--user", OPERATOR, *scopes)["token"]
        yield Running(made, loaded, wiring.endpoints(loaded).objects, wiring.gateway_url(loaded), token)


def make_video(path: Path, size_bytes: int) -> None:
    """A minute of 1080p at 8 Mbit/s, repeated until it is large enough."""
    minute = path.with_name("minute.mp4")
    pictures = ("-f", "lavfi", "-i", "testsrc2=size=1920x1080:rate=30:duration=60")
    rate = ("-b:v", "8M", "-minrate", "8M", "-maxrate", "8M", "-bufsize", "8M", "-x264-params", "nal-hrd=cbr")
    codec = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "60", *rate)
    _ffmpeg(*pictures, *codec, str(minute))
    repeats = max(size_bytes // minute.stat().st_size - 1, 0)
    _ffmpeg("-stream_loop", str(repeats), "-i", str(minute), "-c", "copy", str(path))


def _ffmpeg(*arguments: str) -> None:
    subprocess.run([get_ffmpeg_exe(), "-hide_banner", "-loglevel", "error", "-y", *arguments], check=True)


async def seconds(call: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await call()
    return time.perf_counter() - begun


def compared(what: str, limit: float, size_bytes: int, ours: Sequence[float], plain: Sequence[float]) -> Figures:
    """As rates. A ratio is that of neighbours in time."""
    return {
        f"{what}: MiB/s": size_bytes / MIB / statistics.median(ours),
        f"{what}, plainly: MiB/s": size_bytes / MIB / statistics.median(plain),
        f"ratio {what} (at least {limit})": statistics.median(b / a for a, b in zip(ours, plain, strict=True)),
    }


# --- Uploads. Nothing is made of them, so that the next round has the machine to itself.


async def measure_uploads(sizes: Sizes, folder: Path) -> Figures:
    file = folder / "upload.mp4"
    await asyncio.to_thread(make_video, file, sizes.upload_bytes)
    ours: list[float] = []
    plain: list[float] = []
    completions: list[float] = []
    with running(WORKER_JOB_TYPES="clip_generate") as there:
        async with there.gateway() as gateway, httpx.AsyncClient(timeout=120) as store:
            for number in range(sizes.rounds + 1):
                told: list[float] = []  # the last thing that it says is that all parts are sent
                tell = lambda _, told=told: told.append(time.perf_counter())  # noqa: E731
                transfer = Transfer(UploadApi(gateway), store, Upload(file, f"round {number}"), tell)
                ours.append(await seconds(lambda transfer=transfer: transfer.run(there.url)))
                completions.append(time.perf_counter() - told[-1])
                plain.append(await asyncio.to_thread(upload_by_boto3, there.objects, file, f"bench/{uuid4().hex}"))
    completion = {"upload: seconds after the last part": statistics.median(completions[1:])}
    size = file.stat().st_size
    return compared("upload", 0.9, size, ours[1:], plain[1:]) | completion  # the first one loads what is needed


def upload_by_boto3(where: ObjectsEndpoint, file: Path, key: str) -> float:
    """With parts as large as ours, and without checksums."""
    client = boto3.client(  # pyright: ignore[reportUnknownMemberType]
        "s3",
        endpoint_url=where.url,
        region_name=where.region,
        aws_access_key_id=where.access_key,
        aws_secret_access_key=where.secret_key,
        config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required", proxies={}),
    )
    begun = time.perf_counter()
    config = TransferConfig(multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES)
    client.upload_file(str(file), where.bucket, key, Config=config)
    return time.perf_counter() - begun


# --- Tiers: what a node does, in this process.


async def measure_tiers(there: Running, sizes: Sizes, folder: Path) -> Figures:
    copies = CopyFolder(folder / "node", SystemClock())
    await asyncio.to_thread(copies.open)
    store = plain_store(there.objects)
    freezes: list[float] = []
    puts: list[float] = []
    defrosts: list[float] = []
    gets: list[float] = []
    checked: list[float] = []
    try:
        async with ObjectStore(there.objects, there.loaded.settings.objects) as objects:
            transfers = Transfers(copies, objects, NodeSettings(), BUDGET_BYTES, SystemClock())
            copy = await asyncio.to_thread(make_copy, copies, sizes.segments)
            for number in range(sizes.rounds + 1):
                video, thumbs = uuid4(), f"thumbs/{uuid4()}/1"
                prefix = f"videos/proxy/{video}/1"
                freezes.append(await seconds(lambda: transfers.freeze(copy, Keys(), prefix, thumbs)))  # noqa: B023
                puts.append(await seconds(lambda: put_all(store, copies, copy, f"bench/{video}")))  # noqa: B023
                keys = Keys(f"{prefix}/index.m3u8")
                defrosts.append(await seconds(lambda: transfers.defrost(TENANT, artifact_hash(video), keys)))  # noqa: B023
                there_, target = f"bench/{video}", folder / f"plain-{number}"
                gets.append(await seconds(lambda: get_all(store, copy, there_, target, write)))  # noqa: B023
                checked.append(await seconds(lambda: get_all(store, copy, there_, target, write_checked)))  # noqa: B023
                await asyncio.to_thread(copies.delete, TENANT, artifact_hash(video), keys.manifest)
    finally:
        copies.close()
    size = copy.size_bytes
    freeze = compared("freeze", 0.8, size, freezes[1:], puts[1:])
    safe = {"defrost, plainly, with checksums and fsync: MiB/s": size / MIB / statistics.median(checked[1:])}
    return freeze | compared("defrost", 0.8, size, defrosts[1:], gets[1:]) | safe


def make_copy(copies: CopyFolder, segments: int) -> LocalCopy:
    """A rendition as a recording leaves it on a node."""
    hash_, manifest = artifact_hash(uuid4()), f"videos/proxy/{uuid4()}/1/index.m3u8"
    incoming = copies.incoming(hash_, manifest)
    (incoming / "v0").mkdir()
    names = [f"v0/segment_{number:05}.m4s" for number in range(segments)]
    for name in names:
        (incoming / name).write_bytes(os.urandom(SEGMENT_BYTES))
    (incoming / "v0" / "init.mp4").write_bytes(os.urandom(1000))
    playlist = '#EXTM3U\n#EXT-X-MAP:URI="init.mp4"\n' + "".join(f"#EXTINF:4,\n{name[3:]}\n" for name in names)
    (incoming / "v0" / "index.m3u8").write_text(playlist)
    (incoming / "index.m3u8").write_text("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv0/index.m3u8\n")
    files = {str(path.relative_to(incoming)): path.stat().st_size for path in incoming.rglob("*") if path.is_file()}
    now = SystemClock().now()
    copy = LocalCopy(TENANT, hash_, manifest, "", "", files, now, rendition_name(manifest))
    copies.take_in(copy, incoming)
    return copy


def plain_store(where: ObjectsEndpoint) -> S3Store:
    return S3Store(
        where.bucket,
        endpoint=where.url,
        region=where.region,
        access_key_id=where.access_key,
        secret_access_key=where.secret_key,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )


async def put_all(store: S3Store, copies: CopyFolder, copy: LocalCopy, prefix: str) -> None:
    async def put(name: str) -> None:
        await obstore.put_async(store, f"{prefix}/{name}", copies.path_of(copy, name))

    await at_once(put, list(copy.files))


Write = Callable[[BinaryIO, list[bytes]], object]


def write(file: BinaryIO, chunks: list[bytes]) -> None:
    file.writelines(chunks)


def write_checked(file: BinaryIO, chunks: list[bytes]) -> None:
    digest = hashlib.md5(usedforsecurity=False)
    for chunk in chunks:
        digest.update(chunk)
    file.writelines(chunks)
    file.flush()
    os.fsync(file.fileno())


async def get_all(store: S3Store, copy: LocalCopy, prefix: str, target: Path, write_all: Write) -> None:
    async def get(name: str) -> None:
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        found = await obstore.get_async(store, f"{prefix}/{name}")
        chunks = [bytes(chunk) async for chunk in found.stream(min_chunk_size=MIB)]
        with path.open("wb") as file:
            await asyncio.to_thread(write_all, file, chunks)

    await at_once(get, list(copy.files))


async def at_once(work: Callable[[str], Awaitable[None]], names: list[str]) -> None:
    """As many as a node has under way."""

    async def one_by_one() -> None:
        while names:
            await work(names.pop())

    await asyncio.gather(*(one_by_one() for _ in range(NodeSettings().files_at_once)))


# --- Playback ids: a gateway of its own, whose registry is a process of its own.


async def measure_ids(there: Running, sizes: Sizes, playback_id: str) -> Figures:
    bodies = [json.dumps({"query": RESOLVE, "variables": {"id": playback_id}}).encode()]
    with roles_apart(there) as (port, registry):
        ask = lambda: answers_per_second(port, there.headers, bodies, VIEWERS, sizes.seconds)  # noqa: E731
        up = await asyncio.to_thread(ask)
        registry.kill()
        registry.wait()
        down = await asyncio.to_thread(ask)
    return {
        "ids resolved a second, registry up": up,
        "ids resolved a second, registry down": down,
        "ratio ids, registry down : up": down / up,
    }


@contextmanager
def roles_apart(there: Running) -> Generator[tuple[int, subprocess.Popen[bytes]]]:
    """The port of the gateway, and the registry that it asks."""
    rpc, health, port = free_port(), free_port(), free_port()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        processes.append(start(there, "registry", RPC_PORT=str(rpc), RPC_HEALTH_PORT=str(health)))
        await_ready(health)
        processes.append(start(there, "gateway", GATEWAY_PORT=str(port), REGISTRY_ADDRESS=f"127.0.0.1:{rpc}"))
        await_ready(port)
        yield port, processes[0]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def start(there: Running, role: str, **settings: str) -> subprocess.Popen[bytes]:
    own = {f"TOUCHLINE_{name}": value for name, value in settings.items()}
    with (there.made.data / f"bench-{role}.log").open("ab") as log:
        command = [sys.executable, "-m", "touchline", "run", role]
        return subprocess.Popen(command, env={**there.made.environment, **own}, stdout=log, stderr=log)


def await_ready(port: int) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health/ready").is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise TimeoutError("a role does not get ready")


# --- Viewers of what a node has.


async def measure_viewers(there: Running, sizes: Sizes, folder: Path, playback_id: str) -> Figures:
    node, gateway, names, files = await warm_places(there, playback_id)
    names = [name for name in names if name.endswith(".m4s")]
    taken = await asyncio.to_thread(first_bytes_ms, node, names, sizes.first_bytes)
    figures: Figures = {
        "first byte of a warm segment, p50 ms": percentile(taken, 0.5),
        "first byte of a warm segment, p95 ms (at most 10)": percentile(taken, 0.95),
    }
    if not has_nginx():
        print(NGINX_IS_MISSING, file=sys.stderr)
        return figures | {"ratio segments to nginx": NGINX_IS_MISSING}
    ours: list[float] = []
    theirs: list[float] = []
    cold: list[float] = []
    with nginx(folder, files) as plain:
        for _ in range(sizes.rounds):
            ours.append(await asyncio.to_thread(bytes_per_second, node, names, VIEWERS, sizes.seconds))
            theirs.append(await asyncio.to_thread(bytes_per_second, plain, names, VIEWERS, sizes.seconds))
            cold.append(await asyncio.to_thread(bytes_per_second, gateway, names, VIEWERS, sizes.seconds))
    return figures | {
        f"segments to {VIEWERS} viewers by a node: MiB/s": statistics.median(ours) / MIB,
        f"segments to {VIEWERS} viewers by nginx: MiB/s": statistics.median(theirs) / MIB,
        f"segments to {VIEWERS} viewers by the gateway, from the store: MiB/s": statistics.median(cold) / MIB,
        "ratio segments to nginx (at least 0.5)": statistics.median(
            our / their for our, their in zip(ours, theirs, strict=True)
        ),
    }


async def warm_places(there: Running, playback_id: str) -> tuple[Place, Place, list[str], Path]:
    """Where the node and the gateway serve it, its names, and the folder in which its copy lies."""
    async with there.gateway() as gateway:
        found: dict[str, Any] = {}
        until = time.monotonic() + READY_S
        while not found.get("primary", {}).get("nodeId"):  # asking for it warms it
            assert time.monotonic() < until, found
            found = (await gateway.query(RESOLVE, {"id": playback_id}))["resolveViewerEndpoint"]
            await asyncio.sleep(0.2)
    parts = urlsplit(found["primary"]["url"])
    path = parts.path.rpartition("/")[0]
    _, _, _, made_hash = path.split("/")
    [details] = list((wiring.node_folder(there.loaded) / "artifacts").glob(f"*/{made_hash}/*/copy.json"))
    names = list(json.loads(details.read_text())["files"])
    assert parts.port
    gateway_port = urlsplit(there.url).port
    assert gateway_port
    return Place(parts.port, path), Place(gateway_port, path), names, details.parent


async def play(there: Running, folder: Path) -> str:
    """Uploads a minute and waits until all of its stream is made: its playback id."""
    file = folder / "play.mp4"
    await asyncio.to_thread(make_video, file, 1)
    async with there.gateway() as gateway, httpx.AsyncClient(timeout=120) as store:
        transfer = Transfer(UploadApi(gateway), store, Upload(file, "A video"), lambda text: None)
        ticket = await transfer.run(there.url)
        await transfer.wait_until_playable(ticket)
    async with Database(wiring.endpoints(there.loaded).postgres.app_url, there.loaded.settings.postgres) as database:
        while await count_open_jobs(database):
            await asyncio.sleep(1)
    return ticket.playback_id


async def count_open_jobs(database: Database) -> int:
    async with database.system("bench: whether there is still something to do") as transaction:
        row = await (await transaction.connection.execute(OPEN_JOBS)).fetchone()
    assert row
    return row[0]


def told(figures: Figures) -> Figures:
    """At once as well: a part that fails takes none of the others with it."""
    print(json.dumps(figures, indent=2), file=sys.stderr, flush=True)
    return figures


async def measure_product(parts: Sequence[str], sizes: Sizes, folder: Path) -> Figures:
    figures: Figures = {}
    with running(WORKER_JOB_TYPES="transcode") as there:
        if "tiers" in parts:
            figures |= told(await measure_tiers(there, sizes, folder))
        if {"ids", "viewers"} & set(parts):
            playback_id = await play(there, folder)
            if "viewers" in parts:
                figures |= told(await measure_viewers(there, sizes, folder, playback_id))
            if "ids" in parts:
                figures |= told(await measure_ids(there, sizes, playback_id))
    return figures


async def measure(parts: Sequence[str], sizes: Sizes, folder: Path) -> Figures:
    figures: Figures = {"load average": f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"}
    if "uploads" in parts:
        figures |= told(await measure_uploads(sizes, folder))
    if {"tiers", "ids", "viewers"} & set(parts):
        figures |= await measure_product(parts, sizes, folder)
    if "retention" in parts:
        figures |= await measure_retention(sizes.rows)
    return figures


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    arguments.add_argument("--upload-mib", type=int, default=512)
    arguments.add_argument("--segments", type=int, default=40, help="of the rendition that moves between tiers")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=4, help="of one turn of a load")
    arguments.add_argument("--first-bytes", type=int, default=500)
    arguments.add_argument("--rows", type=int, default=1_000_000, help="artifacts that retention goes through")
    given: Mapping[str, Any] = vars(arguments.parse_args())
    parts: Sequence[str] = given["only"]
    sizes = Sizes(
        given["upload_mib"] * MIB,
        *(given[name] for name in ("segments", "rounds", "seconds", "first_bytes", "rows")),
    )
    with tempfile.TemporaryDirectory() as folder:
        name = "serve" if tuple(parts) == PARTS else f"serve-{'-'.join(parts)}"
        report(name, asyncio.run(measure(parts, sizes, Path(folder))))


if __name__ == "__main__":
    main()
