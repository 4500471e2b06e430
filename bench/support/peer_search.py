"""Search engines beside ours: SQLite's FTS5 and PostgreSQL's pg_trgm. Each answers its first ranked page of 20.

Neither knows tenants; pg_trgm is asked without a wall, behind which it would lose its index.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

Times = dict[str, list[float]]
Questions = Mapping[str, Sequence[str]]


def timed(questions: Questions, ask: Callable[[str, str], Any], kinds: Sequence[str], most: int = 1000) -> Times:
    times: Times = {}
    for kind in kinds:
        for text in questions[kind][:most]:
            begun = time.perf_counter()
            ask(kind, text)
            times.setdefault(kind, []).append((time.perf_counter() - begun) * 1000)
    return times


def sqlite_fts5(folder: Path, texts: Iterable[str], questions: Questions) -> tuple[Times, int]:
    """It forgives no slip."""
    path = folder / "fts5.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIRTUAL TABLE captions USING fts5(text)")
    connection.executemany("INSERT INTO captions VALUES (?)", ((text,) for text in texts))
    connection.commit()
    connection.execute("INSERT INTO captions (captions) VALUES ('optimize')")
    connection.commit()
    forms = {"phrase": '"{}"', "prefix": "{}*"}

    def ask(kind: str, text: str) -> Any:
        match = forms.get(kind, "{}").format(text)
        query = "SELECT rowid, text FROM captions WHERE captions MATCH ? ORDER BY rank LIMIT 20"
        return connection.execute(query, (match,)).fetchall()

    times = timed(questions, ask, ("term", "phrase", "prefix", "common"))
    connection.close()
    return times, path.stat().st_size


def pg_trgm(url: str, texts: Iterable[str], questions: Questions) -> tuple[Times, int]:
    """Ranked by similarity. It is slow: few questions are enough to say so."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        connection.execute("CREATE TABLE captions (id bigint GENERATED ALWAYS AS IDENTITY, text text NOT NULL)")
        with connection.cursor().copy("COPY captions (text) FROM STDIN") as copy:
            for text in texts:
                copy.write_row((text,))
        connection.execute("CREATE INDEX captions_text ON captions USING gin (text gin_trgm_ops)")
        connection.execute("VACUUM ANALYZE captions")
        found = connection.execute("SELECT pg_relation_size('captions_text')").fetchone()
        assert found

        def ask(kind: str, text: str) -> Any:
            if kind == "typo":
                query = (
                    "SELECT text FROM captions WHERE %(q)s <%% text ORDER BY word_similarity(%(q)s, text) DESC LIMIT 20"
                )
                return connection.execute(query, {"q": text}).fetchall()
            pattern = rf"\m{text}" if kind == "prefix" else rf"\m{text}\M"
            query = "SELECT text FROM captions WHERE text ~ %(p)s ORDER BY similarity(text, %(q)s) DESC LIMIT 20"
            return connection.execute(query, {"p": pattern, "q": text}).fetchall()

        return timed(questions, ask, ("term", "phrase", "prefix", "typo", "common"), most=20), found[0]
