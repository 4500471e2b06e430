"""From JSON lines on disk to session facts on disk: both engines beside SQL over the same file.

A million events like those of real gateways. The SQL of DuckDB, Polars and ClickHouse computes the columns that SQL can
(see `support/session_peers.py`); ours computes all, with segments, attribution, conflicts and quarantine. Everybody may
use all processors, except the incremental engine, which is one process. Rounds take turns; the best of each counts.
Processor time is told beside the clock's, because on a busy machine only that can be compared.
Then the memory of the incremental engine at two sizes of log with the same number of sessions open at a time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
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
    script = "session_driver.py" if name in OURS else "session_peers.py"
    environment = {**os.environ} if name in OURS else {**os.environ, "PYTHONPATH": str(PEERS)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled once, not by every process
    command = [sys.executable, str(Path(__file__).parent / "support" / script), name, str(log), str(folder / name)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def best_of_rounds(log: Path, folder: Path) -> dict[str, dict[str, Any]]:
    rounds = [{name: measure(name, log, folder) for name in (*OURS, *THEIRS)} for _ in range(ROUNDS)]
    agreed = {(figures["sessions"], figures["success"]) for each in rounds for figures in each.values()}
    assert len(agreed) == 1, f"they do not count the same sessions: {agreed}"
    return {
        name: {what: min(each[name][what] for each in rounds) for what in ("seconds", "cpu")}
        for name in (*OURS, *THEIRS)
    }


def memory_figures(folder: Path) -> dict[str, float]:
    peaks: dict[str, float] = {}
    for events in (EVENTS // 2, 2 * EVENTS):
        log = folder / f"{events}.jsonl"
        write(log, Shape(events, OPEN_SESSIONS))
        peaks[f"incremental peak memory, {events:,} events, MB"] = (
            measure("incremental", log, folder)["memory_bytes"] / 1e6
        )
        log.unlink()
    small, large = peaks.values()
    return peaks | {"memory with four times the events, ratio": large / small}


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
        figures[f"batch beside the fastest of SQL, {label} (goal 0.5)"] = fastest / best["batch"][what]
    report("sessions", figures | memory)


if __name__ == "__main__":
    main()
