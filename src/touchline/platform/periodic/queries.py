"""What runs again and again, when next, and how it went, for the command line and the page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg.rows import class_row

from touchline.platform.postgres.database import Database

LIST = """
SELECT name, every, next_run_at, running, claimed_by, started_at, finished_at, failures, last_error
  FROM platform.periodic
 ORDER BY name
"""


@dataclass(frozen=True, slots=True)
class TaskStatus:
    name: str
    every: timedelta
    next_run_at: datetime
    running: bool
    claimed_by: str | None
    started_at: datetime | None
    finished_at: datetime | None
    failures: int
    last_error: str | None


async def tasks(database: Database) -> list[TaskStatus]:
    async with database.system("show periodic tasks") as transaction:
        cursor = transaction.connection.cursor(row_factory=class_row(TaskStatus))
        return await (await cursor.execute(LIST)).fetchall()
