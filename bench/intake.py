"""What came in and what became of it, over a journal of ten million events, asked as the gateway asks.

The journal is made inside the product's own ClickHouse and asked with the limits that it has by default: over the range
that the page begins with, and over all ninety days. Beside the clock stands what the process of ClickHouse used of the
processors.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from answers import NOW, TENANT, measure, preparing
from support.clickhouse import embedded_clickhouse
from support.journal import DAYS, fill
from support.report import report

from touchline.kernel import ManualClock
from touchline.measure.analytics.rules import Filter, QuarantineWindow
from touchline.measure.analytics.service import SessionAnalytics
from touchline.measure.settings import AnalyticsSettings
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.settings import ClickHouseSettings


async def run(folder: Path, events: int, rounds: int) -> None:
    async with preparing(folder) as analytics:
        await fill(analytics, TENANT, events, int(NOW.timestamp()) * 1_000)
    settings = ClickHouseSettings()
    figures: dict[str, float | str] = {}
    with embedded_clickhouse(folder, settings) as (endpoint, process):
        async with Analytics(endpoint, settings) as analytics:
            answers = SessionAnalytics(analytics, AnalyticsSettings(), clock=ManualClock(NOW))
            ranges = {"default": Filter(), f"{DAYS} days": Filter(since=NOW - timedelta(days=DAYS))}
            for label, wanted in ranges.items():
                times = await measure(lambda f: answers.quality(TENANT, f), wanted, rounds, process)
                figures |= times.figures(f"events in, {label}")
            first = QuarantineWindow(50)
            times = await measure(lambda _: answers.quarantined(TENANT, first), Filter(), rounds, process)
            figures |= times.figures("quarantined")
    report("intake", {"events": events} | figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="Where to keep the journal, to ask again without making it.")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="touchline-bench-")))
        folder.mkdir(exist_ok=True, parents=True)
        asyncio.run(run(folder, given.events, given.rounds))


if __name__ == "__main__":
    main()
