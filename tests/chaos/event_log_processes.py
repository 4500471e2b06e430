"""Processes that the event-log chaos kills: `python -m tests.chaos.event_log_processes ROLE NAME`.

ROLE is writer, sequencer or consumer.

They are the product's own parts around the real log; the database's address comes by the environment.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from datetime import timedelta
from uuid import UUID

from tests.support.events import EffectHandler, Noted
from touchline.kernel import Defect, SystemClock, TenantId, Unavailable
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import Archive, PostgresLog, Sequencer
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.settings import EventSettings

ADDRESS = "TOUCHLINE_CHAOS_DATABASE"
SETTINGS = EventSettings(
    poll_interval=timedelta(milliseconds=200),
    retry_delay=timedelta(milliseconds=50),
    sequence_batch=50,
    consume_batch=20,
)
STATE_TABLE = """
CREATE TABLE test.written (
  tenant_id uuid NOT NULL, key text NOT NULL, number bigint NOT NULL, PRIMARY KEY (tenant_id, key)
);
SELECT platform.enable_row_level_security('test.written');
GRANT SELECT, INSERT, UPDATE ON test.written TO touchline_app, touchline_system;
"""
_CLAIM = """
INSERT INTO test.written (tenant_id, key, number) VALUES (platform.current_tenant(), %(key)s, %(count)s)
ON CONFLICT (tenant_id, key) DO UPDATE SET number = written.number + excluded.number
RETURNING number
"""
_WRITTEN = "SELECT coalesce(max(number), 0) FROM test.written WHERE key = %s"


class NoArchive:
    """Chaos runs for seconds and events are archived after days: nobody may come here."""

    async def put_once(self, key: str, data: bytes, /, *, content_type: str) -> object:
        raise Defect("nothing is old enough for the archive")

    async def get(self, key: str, /) -> bytes:
        raise Defect("nothing is in the archive")


def tenant_of(name: str) -> TenantId:
    return TenantId(UUID(int=int.from_bytes(name.encode()[-8:], "big")))


async def write(database: Database, name: str, total: int) -> None:
    """Raises a counter and announces each number, in one transaction, until the total is reached."""
    chance = random.Random()
    while True:
        try:
            async with database.transaction(tenant_of(name)) as transaction:
                [(written,)] = await (await transaction.connection.execute(_WRITTEN, (name,))).fetchall()
                if written >= total:
                    return
                count = min(chance.randint(1, 5), total - written)
                claim = {"key": name, "count": count}
                [(number,)] = await (await transaction.connection.execute(_CLAIM, claim)).fetchall()
                for each in range(number - count + 1, number + 1):
                    transaction.announce(Noted(name=name, number=each))
        except Unavailable:
            await asyncio.sleep(0.05)


async def main(kind: str, name: str, total: str) -> None:
    wakeups = Wakeups(os.environ[ADDRESS], ["touchline_inbox", "touchline_events"])
    async with Database(os.environ[ADDRESS]) as database, wakeups.listening():
        if kind == "writer":
            await write(database, name, int(total))
        elif kind == "sequencer":
            await Sequencer(database, wakeups, SETTINGS).run()
        else:
            archive = Archive(database, NoArchive(), SETTINGS, SystemClock())
            await Consumer(database, PostgresLog(database, wakeups, archive), EffectHandler(), SETTINGS).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
