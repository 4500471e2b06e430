"""Search engines beside ours: tantivy, SQLite's FTS5, PostgreSQL's pg_trgm. Each answers its first ranked page of 20.

None knows tenants; pg_trgm is asked without a wall, behind which it would lose its index.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import psycopg

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".cache" / "search-peers"
PAGE = 20


class Peer(Protocol):
    name: str
    kinds: Sequence[str]
    most: int  # questions of each kind: enough to say how slow it is
    size: int  # bytes of its index

    def ask(self, kind: str, text: str) -> float: ...  # milliseconds


@dataclass
class Tantivy:
    """In a process of its own, because it wants an environment of its own; it takes its time itself."""

    asked: IO[str]
    answered: IO[str]
    size: int
    name: str = "tantivy"
    kinds: Sequence[str] = ("term", "phrase", "prefix", "typo", "common")
    most: int = 1000

    def ask(self, kind: str, text: str) -> float:
        self.asked.write(f"{kind} {text}\n")
        self.asked.flush()
        return float(self.answered.readline())


@contextmanager
def tantivy(folder: Path) -> Generator[Tantivy]:
    python, uv = ENVIRONMENT / "bin" / "python", str(ROOT / ".venv" / "bin" / "uv")
    if not python.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(ENVIRONMENT)], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), "tantivy"], check=True)
    command = [str(python), str(ROOT / "bench" / "support" / "tantivy_search.py"), str(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:  # leaving closes its input, and it ends
        assert process.stdin
        assert process.stdout
        yield Tantivy(process.stdin, process.stdout, int(process.stdout.readline()))


class Fts5:
    """It forgives no typo."""

    name = "fts5"
    kinds: Sequence[str] = ("term", "phrase", "prefix", "common")
    most = 1000

    def __init__(self, folder: Path, texts: Sequence[str]) -> None:
        path = folder / "fts5.sqlite"
        self._connection = sqlite3.connect(path)
        self._connection.execute("CREATE VIRTUAL TABLE captions USING fts5(text)")
        self._connection.executemany("INSERT INTO captions VALUES (?)", ((text,) for text in texts))
        self._connection.commit()
        self._connection.execute("INSERT INTO captions (captions) VALUES ('optimize')")
        self._connection.commit()
        self.size = path.stat().st_size

    def ask(self, kind: str, text: str) -> float:
        match = {"phrase": f'"{text}"', "prefix": f"{text}*"}.get(kind, text)
        query = f"SELECT rowid, text FROM captions WHERE captions MATCH ? ORDER BY rank LIMIT {PAGE}"  # noqa: S608
        begun = time.perf_counter()
        self._connection.execute(query, (match,)).fetchall()
        return (time.perf_counter() - begun) * 1000


class Trgm:
    """Ranked by similarity. It is slow: few questions are enough to say so."""

    name = "pg_trgm"
    kinds: Sequence[str] = ("term", "phrase", "prefix", "typo", "common")
    most = 20

    def __init__(self, connection: psycopg.Connection[Any], texts: Sequence[str]) -> None:
        self._connection = connection
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        connection.execute("CREATE TABLE captions (id bigint GENERATED ALWAYS AS IDENTITY, text text NOT NULL)")
        with connection.cursor().copy("COPY captions (text) FROM STDIN") as copy:
            for text in texts:
                copy.write_row((text,))
        connection.execute("CREATE INDEX captions_text ON captions USING gin (text gin_trgm_ops)")
        connection.execute("VACUUM ANALYZE captions")
        found = connection.execute("SELECT pg_relation_size('captions_text')").fetchone()
        assert found
        self.size = int(found[0])

    def ask(self, kind: str, text: str) -> float:
        pattern = rf"\m{text}" if kind == "prefix" else rf"\m{text}\M"
        query = (
            "SELECT text FROM captions WHERE %(q)s <%% text ORDER BY word_similarity(%(q)s, text) DESC LIMIT 20"
            if kind == "typo"
            else "SELECT text FROM captions WHERE text ~ %(p)s ORDER BY similarity(text, %(q)s) DESC LIMIT 20"
        )
        begun = time.perf_counter()
        self._connection.execute(query, {"p": pattern, "q": text}).fetchall()
        return (time.perf_counter() - begun) * 1000
