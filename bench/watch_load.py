"""What watching adds: from the third look at a goal to its search, and from a downloaded video to a listed one.

A hundred matches are played at once, with ten goals a minute, against the whole product: the feed, the posts and their
files are the world's, over HTTP; Temporal, PostgreSQL, the object store and the watch process are real. Nothing is
transcoded meanwhile: that is another queue's time. Looks come as often as usual; `--every 10s` asks for more of them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import psycopg
from support.match_day import Load, Played, Prepared, day_of, playing
from support.report import percentile, report
from support.stack import Product, product
from temporalio.client import Client, WorkflowExecution

from touchline.kernel import parse_duration
from touchline.platform.stack.folder import DataFolder, read_ports, read_secrets
from touchline.platform.stack.postgres import superuser_url
from touchline.platform.stack.stack import NOTHING_OUTSIDE, read_endpoints
from touchline_world.videos.library import VideoLibrary

LIMIT_S = 5.0
SETTLES = timedelta(seconds=45)  # after the third look at the last goal: a search, a download
BEGINS_IN = timedelta(seconds=20)
BEFOREHAND = timedelta(minutes=20)  # by when they are known: soon enough to be followed at once
SAMPLE_S = 5.0
RUN_ID = "monitor-%d_%m_%Y-%H:%M:%S"
STARTED = """
SELECT monitor_workflows, stable_at, search_started_at FROM watch.goals
 WHERE removed_at IS NULL ORDER BY first_seen
"""
LISTED = "SELECT event_id, min(archived_at) FROM watch.videos WHERE state = 'kept' GROUP BY event_id"
JUDGED = """
SELECT v.event_id, extract(epoch FROM min(v.archived_at) - min(f.validated_at))::float8
  FROM watch.videos AS v JOIN watch.found AS f USING (tenant_id, event_id, generation)
 WHERE v.state = 'kept' GROUP BY v.event_id
"""
REASONS = "SELECT state, why, count(*) FROM watch.found GROUP BY 1, 2 ORDER BY 3 DESC"


@dataclass
class Memory:
    """Of the watch process alone: what it starts for videos ends with them."""

    process: psutil.Process
    mib: list[float] = field(default_factory=list[float])

    async def sample(self) -> None:
        while True:
            self.mib.append(self.process.memory_info().rss / 1024**2)
            await asyncio.sleep(SAMPLE_S)

    def figures(self) -> dict[str, float | str]:
        quarter = max(len(self.mib) // 4, 1)
        middle, end = self.mib[quarter : 2 * quarter], self.mib[-quarter:]
        before, after = sum(middle) / len(middle), sum(end) / len(end)
        return {
            "memory of the watch process, second quarter MiB": before,
            "memory of the watch process, last quarter MiB": after,
            "memory, ratio (flat is 1)": after / before,
        }


def settings_of(url: str, every: str) -> dict[str, str]:
    host = url.removeprefix("http://")
    named = {
        "WATCH_ENABLED": "true",
        "WATCH_MONITOR_INTERVAL": every,
        "WATCH_SEARCH_ATTEMPTS": "3",
        "WATCH_SEARCH_INTERVAL": "15s",
        "WATCH_SEARCH_REST": "1s",
        "FEED_URL": f"{url}/football",
        "FEED_KEY": "world",
        "FEED_LEAGUES": "",
        "FEED_REQUESTS_A_DAY": "1000000",
        "FEED_REQUESTS_A_MINUTE": "10000",
        "DISCOVERY_BROWSER_URL": f"{url}/browser",
        "DISCOVERY_HOSTS": host,
        "DOWNLOADS_SYNDICATION_URL": f"{url}/syndication",
        "DOWNLOADS_SECOND_WAY": "syndication",
        "DOWNLOADS_ALLOW_HOSTS": host,
        "ALIASES_WIKIDATA_URL": f"{url}/wikidata",
        "VALIDATION_ENGINE": "local",
        "WORKER_JOB_TYPES": "clip_generate",
    }
    return {f"TOUCHLINE_{name}": value for name, value in named.items()}


def rows(made: Product, query: str) -> list[tuple[Any, ...]]:
    folder = DataFolder(made.data)
    url = superuser_url(read_ports(folder.ports), read_secrets(folder.secrets))
    with psycopg.connect(url, dbname="touchline") as connection:
        return connection.execute(query.encode()).fetchall()


def starts(made: Product) -> tuple[list[float], list[float]]:
    """Seconds from the beginning of the third look, and from its verdict, to the beginning of the search."""
    found = [row for row in rows(made, STARTED) if row[2] is not None]
    begun = [datetime.strptime(runs[2], RUN_ID).replace(tzinfo=UTC) for runs, _, _ in found]
    looks = [(started - look).total_seconds() for look, (_, _, started) in zip(begun, found, strict=True)]
    return looks, [(started - stable).total_seconds() for _, stable, started in found]


async def listings(made: Product) -> tuple[list[float], list[float]]:
    """Seconds to the moment when its goal lists the video: since its download was asked for, and since that ended."""
    where = read_endpoints(DataFolder(made.data), NOTHING_OUTSIDE).temporal
    client = await Client.connect(where.address, namespace=where.namespace)
    listed: dict[str, datetime] = dict(rows(made, LISTED))
    asked, done = list[float](), list[float]()
    async for run in client.list_workflows("WorkflowType = 'DownloadWorkflow'"):
        goal = next((event_id for event_id in listed if run.id.endswith(event_id)), None)
        downloaded = await _downloaded(client, run)
        if goal and downloaded:
            at = listed.pop(goal)
            asked.append((at - downloaded[0]).total_seconds())
            done.append((at - downloaded[1]).total_seconds())
    return asked, done


async def _downloaded(client: Client, run: WorkflowExecution) -> tuple[datetime, datetime] | None:
    """When it was asked for, and when the file was there."""
    calls: dict[int, datetime] = {}
    async for event in client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history_events():
        at = event.event_time.ToDatetime(UTC)
        if event.activity_task_scheduled_event_attributes.activity_type.name == "download_single_video":
            calls[event.event_id] = at
        done = event.activity_task_completed_event_attributes
        if asked := calls.get(done.scheduled_event_id):
            return asked, at
    return None


async def ingest(made: Product, played: Played) -> float:
    """Seconds until all matches are known, and words for their teams."""
    fixtures = [f"--fixture={fixture.id}" for fixture in played.world.day.fixtures]
    begun = time.monotonic()
    await asyncio.to_thread(made.touchline, "watch", "ingest", *fixtures)
    return time.monotonic() - begun


async def play(made: Product, played: Played, load: Load, every: timedelta) -> Memory:
    """Until the last goal must have its video."""
    status = await asyncio.to_thread(made.touchline, "status")
    memory = Memory(psutil.Process(next(part["pid"] for part in status["parts"] if part["name"] == "watch")))
    sampling = asyncio.create_task(memory.sample())
    ends = played.kicks_off + timedelta(minutes=1 + load.minutes) + 3 * every + SETTLES
    await asyncio.sleep(max((ends - datetime.now(UTC)).total_seconds(), 0))
    sampling.cancel()
    return memory


def waits(name: str, values: list[float]) -> dict[str, float | str]:
    """Without a limit: the time of the download, and of those before it, is in it."""
    return {f"{name}, {label} s": percentile(values, share) for label, share in (("median", 0.5), ("p95", 0.95))}


def delays(name: str, values: list[float]) -> dict[str, float | str]:
    p95 = percentile(values, 0.95) if values else float("inf")
    return {
        f"{name}, how many": len(values),
        f"{name}, median s": percentile(values, 0.5) if values else float("inf"),
        f"{name}, p95 s (limit {LIMIT_S:.0f})": p95,
        f"{name}, ratio of p95 to its limit": p95 / LIMIT_S,
    }


async def measure(load: Load, every: timedelta, folder: Path) -> dict[str, float | str]:
    port, day = free_port(), day_of(load)
    os.environ.update(settings_of(f"http://127.0.0.1:{port}", f"{every.total_seconds():g}s"))
    async with VideoLibrary(folder) as library:
        videos = Prepared(library)
        await videos.prepare(day)
        with product() as made:
            await asyncio.to_thread(made.touchline, "up", "--detach")
            async with playing(videos, day, port, BEFOREHAND) as known:
                ingested = await ingest(made, known)
            async with playing(videos, day, port, BEGINS_IN) as played:
                memory = await play(made, played, load, every)
                looks, verdicts = starts(made)
                asked, listed = await listings(made)
                judged = [float(each) for _, each in rows(made, JUDGED)]
                print("found:", rows(made, REASONS), flush=True)
    return {
        "matches at once": load.matches,
        "goals": load.goals_a_minute * load.minutes,
        "a look every so many s": every.total_seconds(),
        "ingest of all of them, s": ingested,
        "load of the machine, 5 min (2 is all that two cores do)": os.getloadavg()[1],
        **delays("third look begins to search begins", looks),
        **delays("third look done to search begins", verdicts),
        **delays("downloaded to listed", listed),
        **waits("download asked for to listed", asked),
        **delays("validated to listed", judged),
        **memory.figures(),
    }


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--matches", type=int, default=100)
    options.add_argument("--minutes", type=int, default=3)
    options.add_argument("--every", type=parse_duration, default=timedelta(seconds=30), help="How often to look.")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report(
            "watch_load", asyncio.run(measure(Load(given.matches, minutes=given.minutes), given.every, Path(folder)))
        )


if __name__ == "__main__":
    main()
