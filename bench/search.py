"""Search over many segments beside tantivy, SQLite's FTS5 and PostgreSQL with pg_trgm: the first ranked page of 20.

Ours is asked as the product asks: as the application, through the tenant's wall, each question a transaction over a
connection. tantivy and SQLite answer inside the asking process, know no tenants and hold nothing but the texts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from psycopg import AsyncConnection
from support.captions import KINDS, Captions
from support.peer_search import Questions, Times, pg_trgm, sqlite_fts5
from support.report import percentile, report
from support.stack import product

from touchline.apps import wiring
from touchline.apps.settings import load
from touchline.kernel import TenantId
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database
from touchline.process.search.service import Question, Search

ROOT = Path(__file__).parents[1]
PEERS = ROOT / ".cache" / "search-peers"
TENANT = TenantId(uuid4())
A_VIDEO = 2_000  # segments
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
SIZES = """
SELECT sum(pg_total_relation_size(oid)), sum(pg_indexes_size(oid)) FROM pg_class
 WHERE oid IN ('process.search_entries'::regclass, 'process.search_words'::regclass)
"""


async def fill(database: Database, texts: Sequence[str]) -> float:
    """Video by video, as a worker writes them. Segments per second."""
    begun = time.monotonic()
    for number, chunk in enumerate(chunks(texts)):
        async with database.transaction(TENANT) as transaction:
            video = uuid4()
            await transaction.connection.execute(VIDEO, {"video": video, "age": number * 7919 % 100_000})
            await transaction.connection.execute(SEGMENTS, {"video": video, "texts": chunk})
    return len(texts) / (time.monotonic() - begun)


def chunks(texts: Sequence[str]) -> list[list[str]]:
    return [list(texts[start : start + A_VIDEO]) for start in range(0, len(texts), A_VIDEO)]


async def ours(where: PostgresEndpoint, texts: Sequence[str], questions: Questions) -> tuple[Times, int, float]:
    times: Times = {}
    async with Database(where.app_url) as database:
        rate = await fill(database, texts)
        search = Search(database)
        for kind in KINDS:
            asked = [FORMS.get(kind, "{}").format(text) for text in questions[kind]]
            for text in asked[:20]:
                await search.page(TENANT, Question(text))  # what a running product has in memory
            for text in asked:
                begun = time.perf_counter()
                await search.page(TENANT, Question(text))
                times.setdefault(kind, []).append((time.perf_counter() - begun) * 1000)
    async with await AsyncConnection.connect(where.owner_url) as connection:
        [(size, _)] = await (await connection.execute(SIZES)).fetchall()
    return times, int(size), rate


def tantivy(folder: Path) -> tuple[Times, int]:
    python, uv = PEERS / "bin" / "python", str(ROOT / ".venv" / "bin" / "uv")
    if not python.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(PEERS)], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), "tantivy"], check=True)
    script = ROOT / "bench" / "support" / "tantivy_search.py"
    done = subprocess.run([str(python), str(script), str(folder)], stdout=subprocess.PIPE, check=True)
    answer = json.loads(done.stdout)
    return answer["times"], answer["bytes"]


def figures(engine: str, times: Mapping[str, list[float]], size: int, count: int) -> dict[str, float | str]:
    found: dict[str, float | str] = {}
    for kind, values in times.items():
        found[f"{engine}: {kind} p50, ms"] = percentile(values, 0.5)
        found[f"{engine}: {kind} p95, ms"] = percentile(values, 0.95)
    found[f"{engine}: bytes a segment"] = size / count
    return found


def ratios(engine: str, theirs: Times, mine: Times) -> dict[str, float | str]:
    return {
        f"{engine} / ours: {kind} p95": percentile(theirs[kind], 0.95) / percentile(mine[kind], 0.95) for kind in theirs
    }


def measure(where: PostgresEndpoint, count: int, asked: int) -> dict[str, float | str]:
    captions = Captions()
    texts = list(captions.texts(count))
    questions = captions.questions(texts, asked)
    mine, size, rate = asyncio.run(ours(where, texts, questions))
    found: dict[str, float | str] = {"segments": float(count), "ours: written, segments/s": rate}
    found |= figures("ours", mine, size, count)
    found["busy: load at the end, processes"] = os.getloadavg()[0]
    for engine, (times, bytes_used) in peers(texts, questions).items():
        found |= figures(engine, times, bytes_used, count) | ratios(engine, times, mine)
    return found


def peers(texts: Sequence[str], questions: Questions) -> dict[str, tuple[Times, int]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts.txt").write_text("\n".join(texts))
        (folder / "questions.json").write_text(json.dumps(questions))
        found = {"tantivy": tantivy(folder), "fts5": sqlite_fts5(folder, texts, questions)}
    sys.path.append(str(ROOT))
    from tests.support.debian_postgres import debian_postgres, installed  # as the tests start it

    if installed():
        with debian_postgres() as server:
            found["pg_trgm"] = pg_trgm(server.superuser_url, texts, questions)
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--segments", type=int, default=1_000_000)
    arguments.add_argument("--questions", type=int, default=200)
    options: Any = arguments.parse_args()
    with product() as made:
        made.touchline("up", "--detach")
        os.environ["TOUCHLINE_DATA"] = str(made.data)
        report("search", measure(wiring.endpoints(load()).postgres, options.segments, options.questions))


if __name__ == "__main__":
    main()
