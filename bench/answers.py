"""Every chart and list of the Sessions page over ten million session facts, asked as the gateway asks.

The facts are made inside the product's own ClickHouse, with the limits that it has by default. Each question is asked
with the range that the page begins with, and over all ninety days. The limit for the first is 300 ms at the 95th
percentile; what is printed beside it is the share of that limit.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from support.clickhouse import embedded_clickhouse
from support.report import percentile, report
from support.session_facts import DAYS, fill

from touchline.kernel import TenantId
from touchline.kernel.clock import ManualClock
from touchline.kernel.errors import TouchlineError
from touchline.measure.answers.model import Board, Dimension, Filter, Leaders, Metric, Order, Window
from touchline.measure.answers.service import SessionAnswers
from touchline.measure.answers.settings import AnswerSettings
from touchline.measure.tables import ensure_tables
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.settings import ClickHouseSettings

TENANT = TenantId(UUID("11111111-1111-4111-8111-111111111111"))
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
LIMIT_MS = 300.0
Question = Callable[[Filter], Awaitable[object]]


def questions(answers: SessionAnswers) -> dict[str, Question]:
    board = lambda kind: lambda f: answers.leaders(TENANT, f, Board(kind))  # noqa: E731
    named: dict[str, Question] = {
        "summary": lambda f: answers.summary(TENANT, f),
        "series": lambda f: answers.series(TENANT, f),
    }
    for metric in Metric:
        named[f"distribution {metric}"] = lambda f, m=metric: answers.distribution(TENANT, f, m)
    for by in Dimension:
        named[f"by {by}"] = lambda f, d=by: answers.breakdown(TENANT, f, d, 20)
    for kind in Leaders:
        named[f"leaders {kind}"] = board(kind)
    for order in Order:
        named[f"list {order}"] = lambda f, o=order: answers.page(TENANT, f, o, Window(50))
    return named


async def measure(question: Question, wanted: Filter, rounds: int) -> list[float]:
    times: list[float] = []
    for _ in range(rounds):
        begun = time.perf_counter()
        await question(wanted)
        times.append((time.perf_counter() - begun) * 1_000)
    return times


async def run(folder: Path, total: int, rounds: int) -> None:
    settings = ClickHouseSettings()
    figures: dict[str, float | str] = {"sessions": total, "limit ms": LIMIT_MS}
    ranges = {"default": Filter(), f"{DAYS} days": Filter(since=NOW - timedelta(days=DAYS))}
    with embedded_clickhouse(folder, settings) as endpoint:
        async with Analytics(endpoint, settings) as analytics:
            await ensure_tables(analytics)
            await fill(analytics, TENANT, total, int(NOW.timestamp()) * 1_000)
            answers = SessionAnswers(analytics, AnswerSettings(), clock=ManualClock(NOW))
            for name, question in questions(answers).items():
                for label, wanted in ranges.items():
                    try:
                        times = await measure(question, wanted, rounds if label == "default" else max(3, rounds // 4))
                    except TouchlineError as error:
                        figures[f"{name}, {label}"] = f"{type(error).__name__}: {error}"[:150]
                        print(name, label, error)
                        continue
                    p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
                    figures |= {f"{name}, {label} p50 ms": p50, f"{name}, {label} p95 ms": p95}
                    figures[f"{name}, {label} p95 / limit"] = p95 / LIMIT_MS
                    print(f"{name:36} {label:8} p50 {p50:7.0f}  p95 {p95:7.0f}  of the limit {p95 / LIMIT_MS:5.2f}")
    report("answers", figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--folder", type=Path, help="Where to keep the facts, to ask again without making them.")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="touchline-bench-")))
        folder.mkdir(exist_ok=True, parents=True)
        asyncio.run(run(folder, given.sessions, given.rounds))


if __name__ == "__main__":
    main()
