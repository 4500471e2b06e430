"""One build by one of our engines, in a process of its own, for `bench/sessions.py`.

python session_driver.py batch|incremental LOG OUT       prints seconds, processor time and peak memory as JSON
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path


def used() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def most_memory() -> int:
    """All that this process ever held at once, pages of mapped files included. The kernel keeps count of it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(kilobytes) * 1024


def main(engine: str, log: str, out: str) -> None:
    import duckdb  # noqa: F401  what it takes to import does not count, here as for the others

    from touchline.measure.engines.model import BuildEngine  # not above: the processes of a build load this file, too
    from touchline.measure.engines.service import BuildOrder, build
    from touchline.measure.sessions.rules import Rules
    from touchline.measure.settings import SessionSettings

    begun = time.perf_counter(), used()
    report = build(
        BuildOrder((log,), Path(out), BuildEngine(engine), force=True), Rules.of(SessionSettings()), lambda _: None
    )
    took = time.perf_counter() - begun[0], used() - begun[1]
    memory = most_memory()
    with (Path(out) / "fact_workflow_sessions.jsonl").open("rb") as sessions:
        success = sum(b'"startup_outcome":"success"' in session for session in sessions)
    figures = {"seconds": took[0], "cpu": took[1], "memory_bytes": memory, "success": success}
    print(json.dumps(figures | {"sessions": report["sessions"], "raw": report["raw"]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
