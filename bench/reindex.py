"""Indexing a video's texts for search: for the first time, again with the same readings, and with other ones.

As the worker does it: one transaction as the application, through the tenant's wall, into a library that holds as many
entries of other videos. Beside it what an index costs that is deleted and entered as a whole, which is what indexing
again would be if it did not compare. Processor time is that of this process and of the server's; each is the median of
the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

from support.captions import Captions
from support.postgres import embedded_postgres
from support.report import report

from touchline.kernel import TenantId
from touchline.media.engines.model import Box
from touchline.platform.postgres.database import Database
from touchline.platform.settings import PostgresSettings
from touchline.process.segments.rules import Detection, ReadFrame, SegmentIndex, build_index
from touchline.process.segments.store import SegmentStore
from touchline.process.videos.store import NewVideo, VideoStore

TENANT = TenantId(UUID("11111111-1111-4111-8111-111111111111"))
STEP_MS = 2000
NOTHING = SegmentIndex((), ())
GOAL = 10  # times cheaper than entering everything anew
Figures = dict[str, float | str]


def made_of(video: UUID, texts: Sequence[str], confidence: float = 0.9) -> SegmentIndex:
    frames = [ReadFrame(n * STEP_MS, [Detection(text, Box(1, 2, 30, 4), confidence)]) for n, text in enumerate(texts)]
    return build_index(video, frames, len(texts) * STEP_MS)


class Library:
    """One tenant's, by one connection whose processor time is watched on both sides."""

    def __init__(self, database: Database, process: int) -> None:
        self._database = database
        self._process = process
        self.times: dict[str, list[tuple[float, float]]] = {}

    async def add(self) -> UUID:
        video = uuid4()
        async with self._database.transaction(TENANT) as transaction:
            new = NewVideo(video, None, f"videos/original/{video}/x.mp4", 1, "video/mp4")
            await VideoStore(transaction.connection).add(new)
        return video

    async def write(self, what: str, video: UUID, *indexes: SegmentIndex) -> None:
        """In one transaction, as it is committed."""
        busy, begun = self._busy(), time.perf_counter()
        async with self._database.transaction(TENANT) as transaction:
            for each in indexes:
                await SegmentStore(transaction.connection).replace(video, each)
        self.times.setdefault(what, []).append((time.perf_counter() - begun, self._busy() - busy))

    def _busy(self) -> float:
        served = int(Path(f"/proc/{self._process}/schedstat").read_text(encoding="ascii").split()[0])
        return (time.process_time_ns() + served) / 1e9


async def measure(entries: int, rounds: int) -> Figures:
    texts = list(Captions().texts(2 * entries))
    async with (
        embedded_postgres() as (where, _),
        Database(where.app_url, PostgresSettings(pool_size=1)) as database,
    ):
        async with database.transaction(TENANT) as transaction:
            library = Library(database, transaction.connection.info.backend_pid)
        other = await library.add()
        others = made_of(other, texts[entries:])
        await library.write("others", other, others)
        for number in range(rounds):
            video = await library.add()
            made = made_of(video, texts[:entries])
            tenth = replace_every_tenth(texts[:entries], number)
            await library.write("first", video, made)
            await library.write("same again", video, made)
            await library.write("a tenth differs", video, made_of(video, tenth))
            await library.write("all anew", video, NOTHING, made)
            await library.write("emptied", video, NOTHING)
    figures: Figures = {"entries of other videos": float(len(others.segments)), "load": f"{os.getloadavg()[0]:.1f}"}
    for what in ("first", "same again", "a tenth differs", "all anew"):
        for label, place in (("s", 0), ("s of processor time", 1)):
            figures[f"{what}: {label}"] = statistics.median(each[place] for each in library.times[what])
    for what in ("same again", "a tenth differs"):
        pairs = zip(library.times["all anew"], library.times[what], strict=True)
        goal = f" (goal {GOAL})" if what == "same again" else ""
        figures[f"ratio all anew : {what}{goal}"] = statistics.median(whole[1] / part[1] for whole, part in pairs)
    return figures


def replace_every_tenth(texts: Sequence[str], number: int) -> list[str]:
    return [f"{text} {number}" if place % 10 == 0 else text for place, text in enumerate(texts)]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--entries", type=int, default=10_000, help="texts of the video")
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    report("reindexing", asyncio.run(measure(options.entries, options.rounds)))


if __name__ == "__main__":
    main()
