"""Search over many segments beside tantivy, SQLite's FTS5 and PostgreSQL with pg_trgm: the first ranked page of 20.

Ours is asked as the product asks: as the application, through the tenant's wall, each question a transaction over a
connection. tantivy and SQLite answer inside the asking process, know no tenants and hold nothing but the texts. All
take turns, question by question, so that whatever else the machine does meets them alike.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import AsyncConnection
from support.captions import KINDS, Captions
from support.peer_search import Fts5, Peer, Trgm, tantivy
from support.postgres import embedded_postgres
from support.report import percentile, report

from touchline.kernel import TenantId
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database
from touchline.platform.settings import PostgresSettings
from touchline.process.search.model import Sort
from touchline.process.search.service import SearchRequest, VideoSearch

TENANT = TenantId(UUID("11111111-1111-4111-8111-111111111111"))
A_VIDEO = 1_000  # segments
FORMS = {"phrase": '"{}"', "prefix": "{}*"}
VIDEO = """
INSERT INTO process.videos (tenant_id, video_id, s3_original_path, size_bytes, content_type, created_at)
VALUES (platform.current_tenant(), %(video)s, 'x', 1, 'video/mp4', now() - %(age)s * interval '1 minute')
"""
SEGMENTS = """
INSERT INTO process.segments (tenant_id, id, video_id, text, normalized_text, text_hash, t_start, t_end, confidence,
                              bounding_box, language)
SELECT platform.current_tenant(), gen_random_uuid(), %(video)s, t.text, t.text, md5(t.text), t.place * 1000,
       t.place * 1000 + 900, 0.6 + 0.4 * random(), '{"x": 1, "y": 1, "width": 1, "height": 1}', 'eng'
  FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS t (text, place)
"""
THERE = "SELECT count(*) FROM process.search_entries WHERE tenant_id = (SELECT platform.current_tenant())"
SIZES = """
SELECT c.relname, pg_relation_size(c.oid) FROM pg_class AS c
 WHERE c.relnamespace = 'process'::regnamespace AND c.relname ~ '^search_(entries|words)' AND c.relkind IN ('r', 'i')
"""
Figures = dict[str, float | str]
Times = dict[str, dict[str, list[float]]]  # by engine and kind, milliseconds


async def write(database: Database, texts: Sequence[str], number: int) -> float:
    """One video, as a worker writes it. Milliseconds until it is committed, and searchable."""
    begun = time.perf_counter()
    async with database.transaction(TENANT) as transaction:
        video = uuid4()
        await transaction.connection.execute(VIDEO, {"video": video, "age": number * 7919 % 100_000})
        await transaction.connection.execute(SEGMENTS, {"video": video, "texts": list(texts)})
    return (time.perf_counter() - begun) * 1000


async def fill(where: PostgresEndpoint, texts: Sequence[str]) -> Figures:
    """What a folder that is kept lacks. How long it took: at the beginning and at the end."""
    async with Database(where.app_url) as database:
        async with database.transaction(TENANT) as transaction:
            [(there,)] = await (await transaction.connection.execute(THERE)).fetchall()
        times = [
            await write(database, texts[start : start + A_VIDEO], start // A_VIDEO)
            for start in range(there, len(texts), A_VIDEO)
        ]
    if len(times) < 2:
        return {}
    return {
        "ours: written, segments/s": A_VIDEO * len(times) / sum(times) * 1000,
        "ours: a video of 1,000, first tenth, ms": percentile(times[: len(times) // 10 + 1], 0.5),
        "ours: a video of 1,000, last tenth, ms": percentile(times[-(len(times) // 10 + 1) :], 0.5),
    }


async def sizes(where: PostgresEndpoint, count: int) -> Figures:
    async with await AsyncConnection.connect(where.owner_url) as connection:
        found = dict(await (await connection.execute(SIZES)).fetchall())
    each = {f"ours: {name}, bytes a segment": size / count for name, size in sorted(found.items())}
    return {"ours: bytes a segment": sum(found.values()) / count, **each}


class Ours:
    """The search of the product, by one connection, whose processor time is watched on both sides."""

    def __init__(self, database: Database, process: int) -> None:
        self._search = VideoSearch(database)
        self._process = process

    async def ask(self, kind: str, text: str, sort: Sort = Sort.RELEVANCE) -> tuple[float, float]:
        """Milliseconds on the clock, and of the processors: this process and the server's."""
        question = SearchRequest(FORMS.get(kind, "{}").format(text), sort=sort)
        busy, begun = self._busy(), time.perf_counter()
        await self._search.page(TENANT, question)
        return (time.perf_counter() - begun) * 1000, self._busy() - busy

    def _busy(self) -> float:
        served = int(Path(f"/proc/{self._process}/schedstat").read_text(encoding="ascii").split()[0])
        return (time.process_time_ns() + served) / 1e6


async def take_turns(ours: Ours, peers: Sequence[Peer], questions: Sequence[tuple[str, str]]) -> Times:
    times: Times = {}

    def note(engine: str, kind: str, took: float) -> None:
        times.setdefault(engine, {}).setdefault(kind, []).append(took)

    for kind, text in questions:
        for sort in Sort:
            engine = "ours" if sort == Sort.RELEVANCE else f"ours by {sort}"
            took, busy = await ours.ask(kind, text, sort)
            note(engine, kind, took)
            note(f"{engine}, processors", kind, busy)
        for peer in peers:
            if kind in peer.kinds and len(times.get(peer.name, {}).get(kind, ())) < peer.most:
                note(peer.name, kind, peer.ask(kind, text))
    return times


def mixed(questions: dict[str, list[str]]) -> list[tuple[str, str]]:
    """One of each kind after the other."""
    return [
        (kind, text) for texts in zip(*questions.values(), strict=True) for kind, text in zip(KINDS, texts, strict=True)
    ]


@contextmanager
def all_peers(texts: Sequence[str]) -> Generator[list[Peer]]:
    sys.path.append(str(Path(__file__).parents[1]))
    from tests.support.debian_postgres import debian_postgres, installed  # as the tests start it

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "texts.txt").write_text("\n".join(texts))
        found: list[Peer] = [stack.enter_context(tantivy(folder)), Fts5(folder, texts)]
        if installed():
            server = stack.enter_context(debian_postgres())
            connection = stack.enter_context(psycopg.connect(server.superuser_url, autocommit=True))
            found.append(Trgm(connection, texts))
        yield found


def figures(times: Times) -> Figures:
    found: Figures = {}
    for engine, kinds in times.items():
        for kind, values in kinds.items():
            found[f"{engine}: {kind} p50, ms"] = percentile(values, 0.5)
            found[f"{engine}: {kind} p95, ms"] = percentile(values, 0.95)
            if not engine.startswith("ours"):
                found[f"{engine} / ours: {kind} p95"] = percentile(values, 0.95) / percentile(times["ours"][kind], 0.95)
    return found


async def measure(options: Any) -> Figures:
    captions = Captions()
    texts = list(captions.texts(options.segments))
    questions = captions.questions(texts, options.questions)
    async with embedded_postgres(options.data) as (where, _):
        found: Figures = {"segments": float(len(texts)), **await fill(where, texts), **await sizes(where, len(texts))}
        async with Database(where.app_url, PostgresSettings(pool_size=1)) as database:
            async with database.transaction(TENANT) as transaction:
                ours = Ours(database, transaction.connection.info.backend_pid)
            with all_peers(texts) as peers:
                found["busy: load before, processes"] = os.getloadavg()[0]
                asked = mixed(questions)
                await take_turns(ours, peers[:2], asked[:100])  # what a running product has in memory
                found |= figures(await take_turns(ours, peers, asked * options.rounds))
                found |= {f"{peer.name}: bytes a segment": peer.size / len(texts) for peer in peers}
    found["busy: load after, processes"] = os.getloadavg()[0]
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--segments", type=int, default=1_000_000)
    arguments.add_argument("--questions", type=int, default=200, help="of each kind")
    arguments.add_argument("--rounds", type=int, default=2, help="how often all are asked")
    arguments.add_argument("--data", type=Path, help="a folder that keeps the segments for the next time")
    report("search", asyncio.run(measure(arguments.parse_args())))


if __name__ == "__main__":
    main()
