"""No-op jobs per second and the time from adding to starting, beside other queues on the same PostgreSQL.

Everything runs on the embedded server as the product starts it, durable, each queue in a database of its own, with 1
and 2 worker processes, in turns; a ratio is that of neighbours in time, and the median of them is told. The others
are installed into `build/bench-queue` on the first run. Each has the best batch size of those tried; ours has the
whole contract on, and writes its events as the product does (nobody moves them on meanwhile). The floor is bare SQL in
batches on one plain table. Claims are also timed alone, from a thousand waiting jobs to `--most`, with statistics that
know of a thousand only, and with an old transaction open; the ratios are to a thousand waiting.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psycopg
from psycopg.types.json import Jsonb
from support.postgres import embedded_postgres
from support.report import percentile, report

ROOT = Path(__file__).parents[1]
ACTORS = Path(__file__).parent / "support" / "queues"
PEERS = ROOT / "build" / "bench-queue"
BATCHES = {"floor": (500,), "pgqueuer": (100, 500, 1000), "ours": (500, 1000), "procrastinate": (50,), "dbos": (50,)}
SHARES = {"procrastinate": 10, "dbos": 40}  # of the jobs: they take longer
LATENCY_JOBS = 400
FEW = 500  # jobs that warm a queue up
FEWEST = 1_000  # waiting while claims are timed
LEAST_MOST = 10_000
WARM_UP = 10  # jobs of each queue that are not counted: they open and warm its connections
TENANT = "00000000-0000-0000-0000-000000000007"
Figures = dict[str, float | str]

# Ids in order, as the product's own jobs have them: what is measured is not how the disk likes random ones.
FLOOD = """
WITH made AS (
  INSERT INTO process.videos (tenant_id, video_id, s3_original_path, size_bytes, content_type)
  SELECT platform.current_tenant(), ('00000000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, 'x', 1,
         'video/mp4'
    FROM generate_series(%s::bigint, %s::bigint) AS number
  RETURNING video_id
)
INSERT INTO process.jobs (tenant_id, id, video_id, job_type, payload)
SELECT platform.current_tenant(), video_id, video_id, 'ocr', jsonb_build_object('video_id', video_id) FROM made
"""
COMPLETE = "SELECT process.complete_all('bench', %s::uuid[], %s::uuid[], %s::integer[], %s)"
CLAIM = (
    "SELECT id, attempt FROM process.claim('bench', ARRAY['ocr']::process.job_type[], 10, interval '5 min', {thorough})"
)


def peers() -> str:
    python = PEERS / "bin" / "python"
    if not python.exists():
        uv = str(ROOT / ".venv" / "bin" / "uv")
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(PEERS)], check=True)
        wanted = ["procrastinate", "pgqueuer", "dbos", "asyncpg", "psycopg[binary,pool]"]
        subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), *wanted], check=True)
    return str(python)


class Queue:
    def __init__(self, name: str, url: str) -> None:
        file = ACTORS / (f"{name}.py" if name in {"ours", "floor"} else f"{name}_queue.py")
        python = sys.executable if name in {"ours", "floor"} else peers()
        self.name = name
        self._command = [python, str(file)]
        self._url = url

    def fill(self, count: int) -> None:
        subprocess.run([*self._command, "fill", self._url, str(count)], check=True)

    def start(self, word: str, number: int) -> subprocess.Popen[str]:
        """Ready, and waiting for its line."""
        actor = subprocess.Popen(
            [*self._command, word, self._url, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert actor.stdout
        while actor.stdout.readline().strip() != "ready":
            assert actor.poll() is None, f"{self.name} {word} ended early"
        return actor

    def drain(self, count: int, workers: int, batch: int) -> float:
        """Jobs per second."""
        self.fill(count)
        actors = [self.start("drain", batch) for _ in range(workers)]
        begun = time.monotonic()
        for actor in actors:
            _go(actor)
        for actor in actors:
            assert actor.stdout
            while (line := actor.stdout.readline().strip()) != "done":
                assert line or actor.poll() is None, f"{self.name} ended early"
        seconds = time.monotonic() - begun
        for actor in actors:
            actor.wait()
        return count / seconds

    def latencies_ms(self) -> list[float]:
        server = self.start("serve", 0)
        added = subprocess.run(
            [*self._command, "add", self._url, str(WARM_UP + LATENCY_JOBS)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        time.sleep(1)  # what is not begun by then is not counted, and missing ones are said
        out, _ = server.communicate("\n")
        begun = dict(line.split() for line in out.splitlines())
        pairs = [line.split() for line in added.stdout.splitlines()][WARM_UP:]
        return [(float(begun[name]) - float(at)) * 1000 for name, at in pairs if name in begun]


def _go(actor: subprocess.Popen[str]) -> None:
    assert actor.stdin
    actor.stdin.write("\n")
    actor.stdin.flush()


def speeds(queues: dict[str, Queue], count: int, rounds: int) -> Figures:
    found: dict[tuple[str, int], list[float]] = {}
    for _ in range(rounds):
        for workers in (1, 2):
            for name, queue in queues.items():
                jobs = count // SHARES.get(name, 1)
                best = max(queue.drain(jobs, workers, batch) for batch in BATCHES[name])
                found.setdefault((name, workers), []).append(best)
    figures: Figures = {f"{name}, {n} workers: jobs/s": statistics.median(v) for (name, n), v in found.items()}
    for workers in (1, 2):
        for name in queues.keys() - {"ours"}:
            pairs = zip(found["ours", workers], found[name, workers], strict=True)
            ratio = statistics.median(ours / other for ours, other in pairs)
            figures[f"ratio ours : {name}, {workers} workers"] = ratio
    return figures


def latencies(queues: dict[str, Queue], rounds: int) -> Figures:
    """In turns as well; of each percentile the median of the rounds."""
    queues = {name: queue for name, queue in queues.items() if name != "floor"}
    for name, queue in queues.items():
        queue.drain(FEW, 1, BATCHES[name][0])  # which also makes its tables
    turns = [{name: queue.latencies_ms() for name, queue in queues.items()} for _ in range(rounds)]
    figures: Figures = {}
    for name in queues:
        found = [turn[name] for turn in turns]
        for label, level in (("p50", 0.5), ("p99", 0.99)):
            median = statistics.median(percentile(each, level) for each in found)
            figures[f"{name}, idle: add to start {label}, ms"] = median
        begun = sum(map(len, found))
        figures[f"{name}, idle: jobs begun in time"] = f"{begun} of {rounds * LATENCY_JOBS}"
    return figures


def flatness(url: str, owner_url: str, superuser: str, most: int) -> Figures:
    """Claims of ten, as a worker makes them, and completes them then, with ever more waiting.

    Jobs come in by plain inserts, through every trigger and constraint of the table. Statistics are those of a thousand
    jobs until the end, and nothing is cleared up behind the claims.
    """
    figures: Figures = {}
    first: dict[str, float] = {}  # with the fewest waiting

    def note(kind: str, when: str, connection: psycopg.Connection) -> None:
        taken_ms = _claim_ms(connection, str(bool(kind)))
        figures[f"{kind}claim of 10, {when}: ms"] = taken_ms
        figures[f"{kind}claim of 10, {when}: ratio"] = taken_ms / first.setdefault(kind, taken_ms)
        figures[f"{kind}claim of 10, {when}: pages"] = _claim_pages(connection, str(bool(kind)))

    with psycopg.connect(url) as connection, psycopg.connect(url) as old:
        claims = json.dumps({"tenant_id": TENANT})
        connection.execute("SELECT set_config('request.jwt.claims', %s, false)", [claims])
        old.execute("SELECT set_config('request.jwt.claims', %s, false)", [claims])
        old.commit()  # its old transaction begins later
        waiting = 0
        for size in (size for size in (FEWEST, 10_000, 100_000, 1_000_000) if size <= most):
            begun = time.monotonic()
            while waiting < size:
                step = min(size - waiting, 20_000)
                connection.execute(FLOOD, [waiting, waiting + step - 1])
                connection.commit()
                waiting += step
            figures[f"filled up to {size:,}: s"] = time.monotonic() - begun
            if size == FEWEST:
                _keep_statistics(owner_url)
            _rest(superuser)
            note("", f"{size:,} waiting", connection)
            note("thorough ", f"{size:,} waiting", connection)
        old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        old.execute("SELECT count(*) FROM process.jobs")
        _claim_ms(connection, times=200)
        note("", "old transaction open", connection)
        note("thorough ", "old transaction open", connection)
    return figures


def _keep_statistics(owner_url: str) -> None:
    """As they are now, whatever comes."""
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute("ANALYZE process.jobs, process.priority_bands")
        connection.execute("ALTER TABLE process.jobs SET (autovacuum_enabled = off)")


def _rest(superuser: str) -> None:
    """What the filling left to be written is written, so that no claim waits for it."""
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("CHECKPOINT")


def _claim_pages(connection: psycopg.Connection, thorough: str = "false") -> float:
    """How many pages one claim looks at: no other load of the machine can change that."""
    explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {CLAIM.format(thorough=thorough)}".encode()
    [(plans,)] = connection.execute(explain).fetchall()
    connection.commit()
    return plans[0]["Plan"]["Shared Hit Blocks"] + plans[0]["Plan"]["Shared Read Blocks"]


def _claim_ms(connection: psycopg.Connection, thorough: str = "false", times: int = 30) -> float:
    taken: list[float] = []
    claim = CLAIM.format(thorough=thorough).encode()
    for _ in range(times):
        begun = time.monotonic()
        claimed = connection.execute(claim)
        taken.append((time.monotonic() - begun) * 1000)
        connection.commit()
        ids, attempts = zip(*claimed.fetchall(), strict=True)
        connection.execute(COMPLETE, [[TENANT] * len(ids), list(ids), list(attempts), Jsonb([{}] * len(ids))])
        connection.commit()
    return statistics.median(taken)


async def measure(arguments: argparse.Namespace) -> Figures:
    async with embedded_postgres() as (where, superuser):
        queues: dict[str, Queue] = {}
        async with await psycopg.AsyncConnection.connect(superuser, autocommit=True) as connection:
            for name in BATCHES.keys() - {"ours"}:
                await connection.execute(f"CREATE DATABASE bench_{name}".encode())
                # asyncpg knows fewer of the words in an address
                plain = superuser.replace("/postgres?", f"/bench_{name}?").replace("&gssencmode=disable", "")
                queues[name] = Queue(name, plain)
        queues["ours"] = Queue("ours", where.worker_url)
        queues = {name: queues[name] for name in BATCHES}
        figures: Figures = {"load average": f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"}
        if not arguments.only_claims:
            # First the waits: nobody vacuums yet what others have left.
            figures |= await asyncio.to_thread(latencies, queues, arguments.rounds)
            figures |= await asyncio.to_thread(speeds, queues, arguments.count, arguments.rounds)
        figures |= await asyncio.to_thread(flatness, where.worker_url, where.owner_url, superuser, arguments.most)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="jobs of one run; the slow ones get a share of them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only-claims", action="store_true", help="nothing beside other queues")
    parser.add_argument("--most", type=int, default=1_000_000, help="how many wait at most while claims are timed")
    arguments = parser.parse_args()
    if arguments.most < LEAST_MOST:
        parser.error(f"--most: at least {LEAST_MOST:,}, or too few are left to claim beside an old transaction")
    report("queue-claims" if arguments.only_claims else "queue", asyncio.run(measure(arguments)))


if __name__ == "__main__":
    main()
