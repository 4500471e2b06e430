"""Fingerprints beside what else there is: (a) taking them, (b) comparing two, (c) finding one among 100,000 videos.

The others run in an environment of their own, `build/bench-fingerprint`, which is made on the first run. All ratios are
of one run, side by side, in turns; times of the processor are given too, since they suffer less from neighbours.
`vpdq` has no ready package and needs a compiler, CMake and FFmpeg's headers: where it cannot be built that is said.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
from imageio_ffmpeg import get_ffmpeg_exe
from support.report import percentile, report

from touchline.media.fingerprint.index import IndexReader, IndexWriter
from touchline.media.fingerprint.matching import compare
from touchline.media.fingerprint.model import Fingerprint, Way
from touchline.media.fingerprint.service import take_fingerprint
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings

ROOT = Path(__file__).parents[1]
PEERS = ROOT / "build" / "bench-fingerprint"
THREADS = os.cpu_count() or 1
Figures = dict[str, float | str]


@dataclass
class Timing:
    wall_s: float
    cpu_s: float  # with that of ended children


def timed(work: Callable[[], Any]) -> Timing:
    wall, cpu = time.perf_counter(), _cpu()
    work()
    return Timing(time.perf_counter() - wall, _cpu() - cpu)


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def quickest(rounds: list[Timing]) -> Timing:
    return Timing(min(each.wall_s for each in rounds), min(each.cpu_s for each in rounds))


def peers() -> Path:
    """The environment of the others."""
    python = PEERS / "bin" / "python"
    uv = str(ROOT / ".venv" / "bin" / "uv")
    if not python.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(PEERS)], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", str(python)]
        subprocess.run([*install, "faiss-cpu", "videohash", "setuptools<81"], check=True)
        subprocess.run([*install, "vpdq"], check=False, stderr=subprocess.DEVNULL)
    return python


# --- (a) taking


def make_video(path: Path, size: str) -> None:
    source = f"testsrc2=size={size}:rate=25:duration=15,noise=alls=10:allf=t"
    codec = ("-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-b:v", "4M")
    command = [get_ffmpeg_exe(), "-loglevel", "error", "-y", "-f", "lavfi", "-i", source, *codec, str(path)]
    subprocess.run(command, check=True)


def decode(path: Path) -> None:
    """All pictures, and nothing done with them."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_count, stream.thread_type = THREADS, "AUTO"
        for _ in container.decode(stream):
            pass


def one_call_each(path: Path) -> None:
    for number in range(58):
        seek = ("-ss", f"{(number + 1) * 0.25:.2f}", "-i", str(path), "-frames:v", "1")
        command = [get_ffmpeg_exe(), "-loglevel", "error", *seek, "-f", "rawvideo", "-pix_fmt", "gray", "-"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


PEER_CALLS = {
    "vpdq": "import vpdq; vpdq.computeHash({path!r}, seconds_per_hash=0.25)",
    "videohash": "from videohash import VideoHash; VideoHash(path={path!r})",
}


def peer(name: str, path: Path) -> Callable[[], None]:
    environment = os.environ | {"PATH": f"{PEERS / 'ffmpeg'}:{os.environ['PATH']}"}
    command = [str(peers()), "-c", PEER_CALLS[name].format(path=str(path))]

    def run() -> None:
        subprocess.run(command, check=True, env=environment, capture_output=True)

    return run


def measure_taking(rounds: int) -> Figures:
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        sandbox = Sandbox(MediaSettings(threads=THREADS))
        for size in ("1280x720", "1920x1080"):
            path = Path(folder, f"{size}.mp4")
            make_video(path, size)
            figures |= _taking(runner, sandbox, path, rounds)
        runner.run(sandbox.close())
    return figures


def _taking(runner: asyncio.Runner, sandbox: Sandbox, path: Path, rounds: int) -> Figures:
    def ours(fast: bool) -> Callable[[], None]:
        return lambda: runner.run(_taken(sandbox, path, Way(fast=fast)))

    works = {"decode": lambda: _in_process(path), "ours": ours(False), "fast": ours(True)}
    ours(False)()
    turns = [{name: timed(work) for name, work in works.items()} for _ in range(rounds)]
    best = {name: quickest([turn[name] for turn in turns]) for name in works}
    label, floor = path.stem, best["decode"]
    figures: Figures = {f"{label}: decoding alone, s": floor.wall_s, f"{label}: fingerprint, s": best["ours"].wall_s}
    for name, limit in (("ours", "1.2"), ("fast", "1.0")):
        ratios = [turn[name].wall_s / turn["decode"].wall_s for turn in turns]
        figures[f"{label}: {name} / decoding, median of turns (limit {limit})"] = percentile(ratios, 0.5)
        figures[f"{label}: {name} / decoding, processor"] = best[name].cpu_s / floor.cpu_s
    figures[f"{label}: one ffmpeg call each / ours (goal 15)"] = (
        timed(lambda: one_call_each(path)).wall_s / best["ours"].wall_s
    )
    for name in PEER_CALLS:
        try:
            figures[f"{label}: {name} / ours (goal 1)"] = timed(peer(name, path)).wall_s / best["ours"].wall_s
        except subprocess.CalledProcessError as error:
            figures[f"{label}: {name} / ours (goal 1)"] = f"does not run here: {_last_line(error.stderr)}"
    return figures


def _last_line(text: bytes) -> str:
    return (text.decode(errors="replace").strip().splitlines() or ["?"])[-1][:80]


async def _taken(sandbox: Sandbox, path: Path, way: Way) -> None:
    await take_fingerprint(sandbox, path, way=way)


def _in_process(path: Path) -> None:
    """A process of its own, as ours has: with the same start."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); import fingerprint; fingerprint.decode(sys.argv[2])"
    subprocess.run([sys.executable, "-c", program, str(Path(__file__).parent), str(path)], check=True)


# --- (b) comparing


def measure_comparing() -> Figures:
    random = np.random.default_rng(1)
    first, second = random.integers(1, 2**64, (2, 60), dtype=np.uint64)
    one, other = Fingerprint(first), Fingerprint(second)
    shifted = Fingerprint(np.concatenate([second[:5], first[:55]]))
    numbers = first.tolist(), second.tolist()
    loops = min(timeit.repeat(lambda: plain_loops(*numbers), number=1, repeat=30)) * 1e6
    figures: Figures = {"compare: plain loops, µs": loops}
    for name, with_what in (("different", other), ("the same, shifted", shifted)):

        def work(with_what: Fingerprint = with_what) -> None:
            compare(one, with_what)

        figures[f"compare: {name}, µs (limit 15)"] = min(timeit.repeat(work, number=50, repeat=1000)) / 50 * 1e6
    figures["compare: plain loops / ours"] = loops / float(figures["compare: the same, shifted, µs (limit 15)"])
    return figures


def plain_loops(first: list[int], second: list[int]) -> int:
    best = 0
    for offset in range(1 - len(second), len(first)):
        run = 0
        for place in range(max(0, offset), min(len(first), len(second) + offset)):
            run = run + 1 if (first[place] ^ second[place - offset]).bit_count() <= 10 else 0
            best = max(best, run)
    return best


# --- (c) finding

FAISS = Path(__file__).parent / "support" / "faiss_scan.py"


def archive(videos: int, shared: float) -> np.ndarray:
    """`shared`: how many of the pictures are, but for two bits, one of fifty that occur everywhere, like a studio's."""
    random = np.random.default_rng(5)
    hashes = random.integers(1, 2**64, (videos, 60), dtype=np.uint64)
    places = random.random(hashes.shape) < shared
    pool = random.integers(1, 2**64, 50, dtype=np.uint64)
    noise = np.uint64(1) << random.integers(0, 64, (2, int(places.sum()))).astype(np.uint64)
    hashes[places] = pool[random.integers(0, 50, int(places.sum()))] ^ noise[0] ^ noise[1]
    return hashes


def queries(hashes: np.ndarray, count: int) -> np.ndarray:
    """Copies of every so manieth video, with four bits changed in each picture."""
    random = np.random.default_rng(6)
    chosen = hashes[:: len(hashes) // count][:count].copy()
    for _ in range(4):
        chosen ^= np.uint64(1) << random.integers(0, 64, chosen.shape).astype(np.uint64)
    return chosen


def measure_finding(videos: int, shared: float, rounds: int) -> Figures:
    label = f"find, {videos} videos, {shared:.0%} shared"
    hashes = archive(videos, shared)
    asked = queries(hashes, rounds)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        np.save(path / "hashes.npy", hashes)
        np.save(path / "queries.npy", asked)
        with IndexWriter.open(path / "index") as writer:
            writer.add((str(number), Fingerprint(each)) for number, each in enumerate(hashes))
        size = IndexReader(path / "index").info().size_bytes
        del hashes
        theirs = json.loads(subprocess.run([str(peers()), str(FAISS), folder], check=True, capture_output=True).stdout)
        reader = IndexReader(path / "index")
        times: list[float] = []
        for query, scanned in zip(asked, theirs["found"], strict=True):
            found = reader.find(Fingerprint(query))
            assert sorted(int(each.video_id) for each in found) == scanned, "both must find the same"
            times += [timed(lambda query=query: reader.find(Fingerprint(query))).wall_s for _ in range(3)]
    ours = percentile(times, 0.5)
    return {
        f"{label}: faiss, median s": theirs["median_s"],
        f"{label}: ours, median s": ours,
        f"{label}: faiss / ours (goal 10)": theirs["median_s"] / ours,
        f"{label}: size / raw hashes (limit 6)": size / (videos * 60 * 8),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--videos", type=int, default=100_000)
    options.add_argument("--only", choices=("taking", "comparing", "finding"))
    given = options.parse_args()
    parts: dict[str, Callable[[], Figures]] = {
        "comparing": measure_comparing,
        "taking": lambda: measure_taking(given.rounds),
        "finding": lambda: (
            measure_finding(given.videos, 0.0, given.rounds)
            | measure_finding(given.videos, 0.1, given.rounds)
            | measure_finding(given.videos, 0.5, given.rounds)
        ),
    }
    for name, part in parts.items():
        if given.only in (None, name):
            report(f"fingerprint_{name}", part())


if __name__ == "__main__":
    main()
