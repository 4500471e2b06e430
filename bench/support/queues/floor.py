"""The floor: one plain table, claimed and completed in batches by bare SQL, nothing promised."""

from __future__ import annotations

import psycopg
from actor import go, run, say

TABLE = """
CREATE TABLE IF NOT EXISTS floor (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, status text NOT NULL);
CREATE INDEX IF NOT EXISTS floor_queued ON floor (id) WHERE status = 'queued';
"""
CLAIM = """
WITH due AS (SELECT id FROM floor WHERE status = 'queued' ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED)
UPDATE floor SET status = 'processing' FROM due WHERE floor.id = due.id RETURNING floor.id
"""


async def fill(url: str, count: int) -> None:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await connection.execute(TABLE)
        await connection.execute("INSERT INTO floor (status) SELECT 'queued' FROM generate_series(1, %s)", [count])


async def drain(url: str, batch: int) -> None:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await go()
        while True:
            rows = await (await connection.execute(CLAIM, [batch])).fetchall()
            await connection.commit()
            if not rows:
                break
            done = [[number for (number,) in rows]]
            await connection.execute("UPDATE floor SET status = 'done' WHERE id = ANY (%s)", done)
            await connection.commit()
        say("done")


if __name__ == "__main__":
    run(fill=fill, drain=drain)
