"""Fingerprints beside what else there is: (a) taking them, (b) comparing two, (c) finding one among 100,000 videos.

The others run in an environment of their own, `build/bench-fingerprint`, which is made on the first run. All ratios are
of one run, side by side, in turns; times of the processor are given too, since they suffer less from neighbours.
Decoding and fingerprint share a process there; beside the others, ours is the whole call with the start of its child.
`vpdq` has no ready package: it needs a compiler, CMake and FFmpeg's headers (Debian's libavfilter-dev, libavdevice-dev,
libswscale-dev); where it cannot be built that is said.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from imageio_ffmpeg import get_ffmpeg_exe
from support.report import percentile, report

from touchline.media.fingerprint.comparison import compare
from touchline.media.fingerprint.index import IndexReader, IndexWriter
from touchline.media.fingerprint.model import Fingerprint
from touchline.media.fingerprint.service import take_fingerprint
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings

ROOT = Path(__file__).parents[1]
SUPPORT = Path(__file__).parent / "support"
PEERS = ROOT / "build" / "bench-fingerprint"
THREADS = os.cpu_count() or 1
AS_IN_A_CHILD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}  # of the sandbox
Figures = dict[str, float | str]


def timed(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def peers() -> Path:
    """The environment of the others."""
    python = PEERS / "bin" / "python"
    uv = str(ROOT / ".venv" / "bin" / "uv")
    if not python.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(PEERS)], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", str(python)]
        subprocess.run([*install, "av", "faiss-cpu", "pdqhash", "videohash", "pillow<10", "setuptools<81"], check=True)
        subprocess.run([*install, "vpdq"], check=False, stderr=subprocess.DEVNULL)
    programs = PEERS / "programs"
    programs.mkdir(exist_ok=True)
    if not (programs / "ffmpeg").exists():
        (programs / "ffmpeg").symlink_to(get_ffmpeg_exe())
    return python


# --- (a) taking


def make_video(path: Path, size: str, *more: str) -> None:
    source = f"testsrc2=size={size}:rate=25:duration=15,noise=alls=10:allf=t"
    codec = ("-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-b:v", "4M", *more)
    command = [get_ffmpeg_exe(), "-loglevel", "error", "-y", "-f", "lavfi", "-i", source, *codec, str(path)]
    subprocess.run(command, check=True)


def one_call_each(path: Path) -> None:
    for number in range(58):
        seek = ("-ss", f"{(number + 1) * 0.25:.2f}", "-i", str(path), "-frames:v", "1")
        command = [get_ffmpeg_exe(), "-loglevel", "error", *seek, "-f", "rawvideo", "-pix_fmt", "gray", "-"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


PEER_CALLS = {
    "vpdq": "import vpdq; vpdq.computeHash({path!r}, seconds_per_hash=0.25)",
    "PDQ of the same pictures, as vpdq has it": "import pdq_scan; pdq_scan.scan({path!r}, {threads})",
    "videohash": "from videohash import VideoHash; VideoHash(path={path!r})",
}


def peer(name: str, path: Path) -> Callable[[], None]:
    """A process of its own, as ours is."""
    places = {"PATH": f"{PEERS / 'programs'}:{os.environ['PATH']}", "PYTHONPATH": str(SUPPORT)}
    command = [str(peers()), "-c", PEER_CALLS[name].format(path=str(path), threads=THREADS)]

    def run() -> None:
        subprocess.run(command, check=True, env=os.environ | places, capture_output=True)

    return run


def measure_taking(rounds: int) -> Figures:
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        sandbox = Sandbox(MediaSettings(threads=THREADS))
        for size in ("1280x720", "1920x1080"):
            path = Path(folder, f"{size}.mp4")
            make_video(path, size)
            figures |= _beside_decoding(path, rounds) | _beside_others(runner, sandbox, path)
            figures |= _beside_calls(runner, sandbox, path)
        runner.run(sandbox.close())
    return figures


def _beside_decoding(path: Path, rounds: int) -> Figures:
    command = [sys.executable, str(SUPPORT / "taking.py"), str(rounds), str(THREADS)]
    with path.open("rb") as video:
        done = subprocess.run(command, check=True, stdin=video, capture_output=True, env=os.environ | AS_IN_A_CHILD)
    turns = json.loads(done.stdout)
    label, limits = path.stem, {"dense": " (limit 1.2)", "careful": "", "fast": " (limit 1.0)"}
    figures: Figures = {f"{label}: decoding alone, least s": min(turn["decoding"][0] for turn in turns)}
    for name, limit in limits.items():
        for clock, number in (("time", 0), ("processor", 1)):
            ratios = [turn[name][number] / turn["decoding"][number] for turn in turns]
            figures[f"{label}: {name} / decoding, {clock}, median{limit}"] = percentile(ratios, 0.5)
    return figures


def _beside_others(runner: asyncio.Runner, sandbox: Sandbox, path: Path) -> Figures:
    def ours() -> None:
        runner.run(_taken(sandbox, path))

    ours()
    whole = percentile([timed(ours) for _ in range(3)], 0.5)
    label = path.stem
    figures: Figures = {f"{label}: fingerprint with its child's start, median s": whole}
    figures[f"{label}: one ffmpeg call each / ours, keyframes 4 s apart"] = timed(lambda: one_call_each(path)) / whole
    for name in PEER_CALLS:
        try:
            figures[f"{label}: {name} / ours (goal 1)"] = timed(peer(name, path)) / whole
        except subprocess.CalledProcessError as error:
            figures[f"{label}: {name}"] = f"does not run here: {_last_line(error.stderr)}"
    return figures


def _beside_calls(runner: asyncio.Runner, sandbox: Sandbox, path: Path) -> Figures:
    """Of a shot without cuts, in which the encoder's own choice are keyframes 10 s apart."""
    steady = path.with_stem("steady")
    make_video(steady, path.stem, "-sc_threshold", "0")
    whole = percentile([timed(lambda: runner.run(_taken(sandbox, steady))) for _ in range(3)], 0.5)
    ratio = timed(lambda: one_call_each(steady)) / whole
    return {f"{path.stem}: one ffmpeg call each / ours, keyframes 10 s apart (goal 15)": ratio}


def _last_line(text: bytes) -> str:
    return (text.decode(errors="replace").strip().splitlines() or ["?"])[-1][:80]


async def _taken(sandbox: Sandbox, path: Path) -> None:
    await take_fingerprint(sandbox, path)


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

FAISS = SUPPORT / "faiss_scan.py"
QUERIES = 12  # how many shared pictures lie in a row differs much


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


@contextmanager
def scanning(folder: Path) -> Generator[Callable[[int], tuple[float, list[int]]]]:
    """faiss in its own process; asked for a query by its number, it tells its time and the videos."""
    command = [str(peers()), str(FAISS), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        asked, told = process.stdin, process.stdout
        told.readline()

        def ask(number: int) -> tuple[float, list[int]]:
            print(number, file=asked, flush=True)
            return json.loads(told.readline())

        yield ask


def measure_finding(videos: int, shared: float, rounds: int) -> Figures:
    hashes = archive(videos, shared)
    asked = queries(hashes, QUERIES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        np.save(path / "hashes.npy", hashes)
        np.save(path / "queries.npy", asked)
        with IndexWriter.open(path / "index") as writer:
            writer.add((str(number), Fingerprint(each)) for number, each in enumerate(hashes))
        del hashes
        reader = IndexReader(path / "index")
        with scanning(path) as scan:
            turns = [
                _one_turn(reader, query, number, scan) for _ in range(rounds) for number, query in enumerate(asked)
            ]
        size = reader.info().size_bytes / (videos * 60 * 8)
    return _beside_faiss(f"find, {videos} videos, {shared:.0%} shared", np.array(turns)) | {
        f"find, {videos} videos, {shared:.0%} shared: size / raw hashes (limit 6)": size
    }


def _one_turn(
    reader: IndexReader, query: np.ndarray, number: int, scan: Callable[[int], tuple[float, list[int]]]
) -> tuple[float, float]:
    """Times of both for one query, ours the second time as theirs has all in memory too."""
    theirs, scanned = scan(number)
    found = reader.find(Fingerprint(query))
    assert sorted(int(each.video_id) for each in found) == scanned, "both must find the same"
    return theirs, timed(lambda: reader.find(Fingerprint(query)))


def _beside_faiss(label: str, turns: np.ndarray) -> Figures:
    """Minima: for each query the best of its turns, since faiss suffers more from neighbours: it takes all cores."""
    theirs, ours = np.median(turns, axis=0).tolist()
    least = turns.reshape(-1, QUERIES, 2).min(axis=0)
    return {
        f"{label}: faiss, median s": theirs,
        f"{label}: ours, median s": ours,
        f"{label}: faiss / ours, medians (goal 10)": theirs / ours,
        f"{label}: faiss / ours, sums of minima": float(np.divide(*least.sum(axis=0))),
        f"{label}: faiss / ours, the worst query's minima": float((least[:, 0] / least[:, 1]).min()),
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
