"""From JSON lines on disk to session facts on disk: by one process and by several, beside SQL over the same file.

A million events like those of real gateways. The SQL of DuckDB, Polars and ClickHouse computes the columns that SQL can
(see `support/session_peers.py`); ours computes all, with segments, attribution, conflicts and quarantine. Everybody may
use all processors, except the incremental engine, which is one process. Rounds take turns; the best of each counts.
Processor time is shown beside the clock's, because on a busy machine only that can be compared.
Then the memory of the incremental engine at three sizes of log with the same number of sessions open at a time: all
that the process ever held, as the kernel counts it, pages of mapped files included; and what of it was the process's
own, looked at every few milliseconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from support.report import report
from support.session_log import Shape, write

EVENTS = int(os.environ.get("BENCH_EVENTS", "1000000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
OPEN_SESSIONS = 2000
ROOT = Path(__file__).parents[1]
PEERS = ROOT / "build" / "bench-sessions"
OURS = ("batch", "incremental")
THEIRS = ("duckdb", "polars", "clickhouse")


def install_peers() -> None:
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "pip", "install", "--quiet", "--target", PEERS, "duckdb", "polars"], check=True)


def measure(name: str, log: Path, folder: Path) -> dict[str, Any]:
    environment = {**os.environ} if name in OURS else {**os.environ, "PYTHONPATH": str(PEERS)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled once, not by every process
    done = subprocess.run(command(name, log, folder), env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def command(name: str, log: Path, folder: Path) -> list[str]:
    script = "session_driver.py" if name in OURS else "session_peers.py"
    return [sys.executable, str(Path(__file__).parent / "support" / script), name, str(log), str(folder / name)]


def best_of_rounds(log: Path, folder: Path) -> dict[str, dict[str, Any]]:
    rounds = [{name: measure(name, log, folder) for name in (*OURS, *THEIRS)} for _ in range(ROUNDS)]
    agreed = {(figures["sessions"], figures["success"]) for each in rounds for figures in each.values()}
    assert len(agreed) == 1, f"they do not count the same sessions: {agreed}"
    return {
        name: {what: min(each[name][what] for each in rounds) for what in ("seconds", "cpu")}
        for name in (*OURS, *THEIRS)
    }


def memory_figures(folder: Path) -> dict[str, float]:
    peaks: dict[int, tuple[float, float]] = {}
    for events in (EVENTS // 2, 2 * EVENTS, 4 * EVENTS):
        log = folder / f"{events}.jsonl"
        write(log, Shape(events, OPEN_SESSIONS))
        peaks[events] = most_memory(log, folder)
        log.unlink()
    (least, own_least), *larger = peaks.values()
    figures: dict[str, float] = {}
    for events, (most, own) in peaks.items():
        figures[f"incremental peak memory, {events:,} events, MB"] = most / 1e6
        figures[f"of that its own, {events:,} events, MB"] = own / 1e6
    for times, (most, own) in zip((4, 8), larger, strict=True):
        figures[f"memory with {times} times the events (flat is 1)"] = most / least
        figures[f"its own with {times} times the events (flat is 1)"] = own / own_least
    return figures


def most_memory(log: Path, folder: Path) -> tuple[float, float]:
    """The most that the engine held, and the most that was no page of a file."""
    own = 0
    with subprocess.Popen(command("incremental", log, folder), stdout=subprocess.PIPE) as build:
        status = Path(f"/proc/{build.pid}/status")
        while build.poll() is None:
            held = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("RssAnon:")]
            own = max(own, *(int(kilobytes) * 1024 for kilobytes in held), 0)
            time.sleep(0.005)
        assert build.stdout
        return json.loads(build.stdout.read())["memory_bytes"], own


def main() -> None:
    install_peers()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        log = folder / "events.jsonl"
        size = write(log, Shape(EVENTS, OPEN_SESSIONS))
        best = best_of_rounds(log, folder)
        log.unlink()
        memory = memory_figures(folder)
    figures: dict[str, float] = {"events": EVENTS, "bytes": size}
    for name, took in best.items():
        figures[f"{name}, events/s"] = EVENTS / took["seconds"]
        figures[f"{name}, events/s of processor time"] = EVENTS / took["cpu"]
    for what, label in (("seconds", "by the clock"), ("cpu", "by processor time")):
        fastest = min(best[name][what] for name in THEIRS)
        figures[f"batch beside the fastest of SQL, {label} (goal 0.6)"] = fastest / best["batch"][what]
    report("sessions", figures | memory)


if __name__ == "__main__":
    main()
