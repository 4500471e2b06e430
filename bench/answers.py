"""Every chart and list of the Sessions page over ten million session facts, asked as the gateway asks.

The facts are made inside the product's own ClickHouse, with the limits that it has by default. Days are summed as the
product does, but for the last three, which writers are still at. Each question is asked with the usual range, and over
all ninety days; with `--filters`, of some sessions only. The limit is 300 ms at the 95th percentile; what
is printed beside it is the share of that limit, and what the process of ClickHouse used of the processors, which tells
more than the clock when the machine has other things to do.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from support.clickhouse import embedded_clickhouse, processor_ms
from support.report import percentile, report
from support.session_facts import DAYS, fill

from touchline.contracts.settings import ByteSize
from touchline.kernel import ManualClock, TenantId, TouchlineError
from touchline.measure.analytics.rollups.service import RollupService
from touchline.measure.analytics.rules import Board, Dimension, Filter, Leaders, Metric, Order, SessionWindow
from touchline.measure.analytics.service import SessionAnalytics
from touchline.measure.settings import AnalyticsSettings
from touchline.measure.tables import ensure_tables
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.settings import ClickHouseSettings

TENANT = TenantId(UUID("11111111-1111-4111-8111-111111111111"))
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
LIMIT_MS = 300.0
GIB = 1024**3
LONG = timedelta(minutes=10)
FILTERS: dict[str, dict[str, Any]] = {
    "one gateway": {"gateway": "gateway-1"},
    "one model": {"model": "model-1"},
    "failed": {"failed": True},
    "slow": {"metric": Metric.STARTUP, "at_least_ms": 5_000.0},
    "found": {"search": "orchestrator-7"},
}
Question = Callable[[Filter], Awaitable[object]]
Figures = dict[str, float | str]


@dataclass(frozen=True, slots=True)
class Given:
    sessions: int
    rounds: int
    only: str
    filters: bool


def questions(answers: SessionAnalytics) -> dict[str, Question]:
    """As the page asks: of groups it shows the startup alone, of sessions no segments."""
    startup = (Metric.STARTUP,)
    board = lambda kind: lambda f: answers.leaders(TENANT, f, Board(kind, metrics=startup))  # noqa: E731
    named: dict[str, Question] = {
        "summary": lambda f: answers.summary(TENANT, f),
        "series": lambda f: answers.series(TENANT, f),
    }
    for metric in Metric:
        named[f"distribution {metric}"] = lambda f, m=metric: answers.distribution(TENANT, f, m)
    for by in Dimension:
        named[f"by {by}"] = lambda f, d=by: answers.breakdown(TENANT, f, d, 20, startup)
    for kind in Leaders:
        named[f"leaders {kind}"] = board(kind)
    named["by orchestrator, every metric"] = lambda f: answers.breakdown(TENANT, f, Dimension.ORCHESTRATOR, 20)
    for order in Order:
        named[f"list {order}"] = lambda f, o=order: answers.page(TENANT, f, o, SessionWindow(50, with_parts=False))
    return named


@dataclass(frozen=True, slots=True)
class Times:
    wall_ms: list[float]
    processor_ms: list[float]

    def figures(self, name: str) -> Figures:
        p95 = percentile(self.wall_ms, 0.95)
        return {
            f"{name}, p50 ms": percentile(self.wall_ms, 0.5),
            f"{name}, p95 ms": p95,
            f"{name}, p95 of the limit": p95 / LIMIT_MS,
            f"{name}, worst ms": max(self.wall_ms),
            f"{name}, processor p50 ms": percentile(self.processor_ms, 0.5),
        }


async def measure(question: Question, wanted: Filter, rounds: int, process: int) -> Times:
    times = Times([], [])
    for _ in range(rounds):
        begun, used = time.perf_counter(), processor_ms(process)
        await question(wanted)
        times.wall_ms.append((time.perf_counter() - begun) * 1_000)
        times.processor_ms.append(processor_ms(process) - used)
    return times


async def ask_all(answers: SessionAnalytics, given: Given, process: int) -> Figures:
    figures: Figures = {}
    every_day = Filter(since=NOW - timedelta(days=DAYS))
    ranges = {"default": Filter(), f"{DAYS} days": every_day}
    if given.filters:
        ranges = {f"{DAYS} days, {name}": replace(every_day, **only) for name, only in FILTERS.items()}
    for name, question in questions(answers).items():
        if given.only and given.only not in name:
            continue
        for label, wanted in ranges.items():
            try:
                found = (await measure(question, wanted, given.rounds, process)).figures(f"{name}, {label}")
            except TouchlineError as error:
                found = {f"{name}, {label}": f"{type(error).__name__}: {error}"[:150]}
            print(*(value if isinstance(value, str) else round(value, 2) for value in found.values()), name, label)
            figures |= found
    return figures


@asynccontextmanager
async def preparing(folder: Path) -> AsyncGenerator[Analytics]:
    """With all the memory that large inserts need: what is measured is another start."""
    settings = ClickHouseSettings(
        embedded_memory=ByteSize(6 * GIB),
        embedded_statement_memory=ByteSize(4 * GIB),
        embedded_longest_statement=LONG,
        statement_timeout=LONG,
    )
    with embedded_clickhouse(folder, settings) as (endpoint, _):
        async with Analytics(endpoint, settings) as analytics:
            await ensure_tables(analytics)
            yield analytics


async def run(folder: Path, given: Given) -> None:
    async with preparing(folder) as analytics:
        await fill(analytics, TENANT, given.sessions, int(NOW.timestamp()) * 1_000)
        rollups = RollupService(analytics, AnalyticsSettings(sum_after=timedelta()))
        begun = time.perf_counter()
        while await rollups.run_pass():
            pass
        summing_s = time.perf_counter() - begun
    settings = ClickHouseSettings()
    with embedded_clickhouse(folder, settings) as (endpoint, process):
        async with Analytics(endpoint, settings) as analytics:
            answers = SessionAnalytics(analytics, AnalyticsSettings(), clock=ManualClock(NOW))
            load = os.getloadavg()[0] / (os.cpu_count() or 1)
            figures = await ask_all(answers, given, process)
    report(
        "answers",
        {"sessions": given.sessions, "limit ms": LIMIT_MS, "load of a processor": load, "summing s": summing_s}
        | figures,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="Only questions with this in their names.")
    parser.add_argument("--filters", action="store_true", help="Ask of some sessions only, over all days.")
    parser.add_argument("--folder", type=Path, help="Where to keep the facts, to ask again without making them.")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="touchline-bench-")))
        folder.mkdir(exist_ok=True, parents=True)
        asyncio.run(run(folder, Given(given.sessions, given.rounds, given.only, given.filters)))


if __name__ == "__main__":
    main()
