"""The events of a build in DuckDB: each record once, the sessions in order, spilled to disk where memory ends.

Invariants: an event is known by its uid; of one uid with two contents the copy whose canonical JSON sorts first counts.
The texts decide: they are read where the row says that they stand. Only what was committed counts: with a state, it
survives a kill, and a build goes on from there.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from touchline.kernel import Conflict, StorageFull
from touchline.measure.sessions.evidence import winner
from touchline.measure.sessions.model import SEMANTICS_VERSION, Capability, Evidence
from touchline.measure.sessions.parser import Accepted, read_text
from touchline.measure.sessions.values import canonical
from touchline.platform.arrow import ArrowRows, pa

from .extraction import Extract, encode
from .inputs import Files, Piece
from .model import DATABASE, LINES, Consumed, Tally, copy_piece, sweep, unusable
from .plain_events import NO_TIME
from .reduction import Chunk, decode_reading, evidence_of

if TYPE_CHECKING:
    import duckdb  # otherwise only when a build begins: it takes a fifth of a second

FORMAT = 1
CHUNK_ROWS = 1 << 16  # of the sessions that are folded together
_MEMORY = "128MiB"  # what DuckDB may hold before it spills
_AT_ONCE = 1 << 10  # copies that are compared together
_MOST_WINNERS = 1 << 8  # held at a time; they carry their readings
_NO_SPACE = ("No space left on device", "Disk quota exceeded", "max_temp_directory_size")

_TABLES = """
CREATE TABLE IF NOT EXISTS about (format INTEGER, semantics INTEGER);
CREATE TABLE IF NOT EXISTS inputs (name VARCHAR PRIMARY KEY, position BIGINT, head VARCHAR);
CREATE TABLE IF NOT EXISTS pieces (piece INTEGER, path VARCHAR, base BIGINT, raw BIGINT, ignored BIGINT);
CREATE TABLE IF NOT EXISTS quarantine (reason VARCHAR, line BLOB);
CREATE TABLE IF NOT EXISTS names (piece INTEGER, session INTEGER, name VARCHAR);
CREATE TABLE IF NOT EXISTS profiles (piece INTEGER, profile INTEGER, said BLOB);
CREATE TABLE IF NOT EXISTS events (
    piece INTEGER, start BIGINT, length INTEGER, uid VARCHAR, ts BIGINT, session INTEGER, prompt BIGINT,
    profile INTEGER, reading BLOB
);
"""
# What follows from all stored events is made anew by every build, beside them.
_DERIVED = """
ATTACH ':memory:' AS work;
CREATE TABLE work.dropped (piece INTEGER, start BIGINT);
CREATE TABLE work.winners (uid VARCHAR, ts BIGINT, name VARCHAR, reading BLOB);
"""
_ABOUT = "SELECT format, semantics FROM about"
_ADD_ABOUT = "INSERT INTO about VALUES (?, ?)"
_INPUTS = "SELECT name, position, head FROM inputs"
_PUT_INPUT = "INSERT OR REPLACE INTO inputs VALUES (?, ?, ?)"
_PIECES = "SELECT piece, path, base FROM pieces"
_ADD_PIECE = "INSERT INTO pieces VALUES (?, ?, ?, ?, ?)"
_ADD_EVENTS = "INSERT INTO events SELECT ?::INTEGER, * FROM given"
_ADD_NAMES = "INSERT INTO names SELECT ?::INTEGER, * FROM given"
_ADD_PROFILES = "INSERT INTO profiles SELECT ?::INTEGER, * FROM given"
_ADD_QUARANTINE = "INSERT INTO quarantine SELECT * FROM given"
_ADD_DROPPED = "INSERT INTO work.dropped SELECT * FROM given"
_ADD_WINNERS = "INSERT INTO work.winners SELECT * FROM given"
_QUARANTINE = "SELECT line FROM quarantine ORDER BY line"
_REASONS = "SELECT reason, count(*) FROM quarantine GROUP BY reason"
_COUNTS = "SELECT coalesce(sum(raw), 0), coalesce(sum(ignored), 0), (SELECT count(*) FROM events) FROM pieces"
_COPIES = """
SELECT uid, piece, start, length FROM events
WHERE uid IN (SELECT uid FROM events GROUP BY uid HAVING count(*) > 1)
ORDER BY uid, piece, start
"""
_NUMBERED = """
CREATE TABLE work.sessions AS
SELECT name, (row_number() OVER (ORDER BY name))::INTEGER AS number FROM (SELECT DISTINCT name FROM names);
CREATE TABLE work.session_numbers AS SELECT piece, session, number FROM names JOIN work.sessions USING (name);
CREATE TABLE work.profiles AS
SELECT said, (row_number() OVER (ORDER BY said))::INTEGER AS number FROM (SELECT DISTINCT said FROM profiles);
CREATE TABLE work.profile_numbers AS SELECT piece, profile, number FROM profiles JOIN work.profiles USING (said);
"""
_COUNTED = """
SELECT piece, uid, ts, session, prompt, profile, reading FROM events ANTI JOIN work.dropped USING (piece, start)
"""
_IN_ORDER = f"""
SELECT named.number AS session, ts, uid, prompt, coalesce(described.number, 0) AS profile, reading
FROM ({_COUNTED}) AS counted
JOIN work.session_numbers AS named USING (piece, session)
LEFT JOIN work.profile_numbers AS described USING (piece, profile)
UNION ALL
SELECT number, ts, uid, {NO_TIME}, 0, reading FROM work.winners JOIN work.sessions USING (name)
ORDER BY session, ts
"""  # noqa: S608 - our own parts
_SNAPSHOTS = f"""
SELECT reading FROM ({_COUNTED}) WHERE session < 0 AND reading IS NOT NULL
UNION ALL SELECT reading FROM work.winners WHERE name IS NULL AND reading IS NOT NULL
"""  # noqa: S608 - our own parts
_GREATEST = f"SELECT max(ts) FROM (SELECT ts FROM ({_COUNTED}) UNION ALL SELECT ts FROM work.winners)"  # noqa: S608
_SESSION_NAMES = "SELECT name FROM work.sessions WHERE number BETWEEN ? AND ? ORDER BY number"
_SOME_PROFILES = "SELECT number, said FROM work.profiles WHERE number IN (SELECT unnest(?)) ORDER BY number"

_CAPABILITY = tuple(field.name for field in fields(Capability))
_PLACE = pa.schema([("piece", pa.int32()), ("start", pa.int64())])
_REFUSED = pa.schema([("reason", pa.string()), ("line", pa.binary())])
_WINNERS = pa.schema([("uid", pa.string()), ("ts", pa.int64()), ("name", pa.string()), ("reading", pa.binary())])


class Winner(NamedTuple):
    """The copy that counts of a uid with several contents."""

    uid: str
    ts: int
    name: str | None  # of its session
    reading: bytes | None


class RecordCopy(NamedTuple):
    """One of several records that have one uid."""

    piece: int
    start: int
    content: bytes


class Store:
    def __init__(self, database: duckdb.DuckDBPyConnection, folder: Path | None) -> None:
        self._db, self._folder = database, folder
        self._duplicates = 0
        self.inputs = {name: Consumed(*rest) for name, *rest in self._rows(_INPUTS)}
        self._texts = {piece: (path, base) for piece, path, base in self._rows(_PIECES)}
        if folder:
            sweep(folder, {path for path, _ in self._texts.values()})

    # Taking in.

    @contextmanager
    def transaction(self) -> Generator[None]:
        """All that is taken inside, or nothing."""
        self._db.begin()
        try:
            yield
        except BaseException:
            self._db.rollback()
            raise
        self._db.commit()

    def take(self, made: Extract, piece: Piece) -> None:
        """With a state, its lines are copied: an input may be gone when a later one repeats an event."""
        number = len(self._texts)
        path, base = piece.path, piece.start
        if self._folder:
            path, base = f"{LINES}{number:08}", 0
            copy_piece(piece, self._folder / path)
        self._texts[number] = path, base
        self._db.execute(_ADD_PIECE, [number, path, base, made.raw, made.ignored])
        self._add(_ADD_EVENTS, made.rows, [number])
        self._add(_ADD_NAMES, _numbered(made.names, pa.string()), [number])
        self._add(_ADD_PROFILES, _numbered(made.profiles, pa.binary()), [number])
        self._add(_ADD_QUARANTINE, _columns([(one.reason, one.line()) for one in made.refused], _REFUSED))

    def note(self, name: str, consumed: Consumed) -> None:
        self.inputs[name] = consumed
        self._db.execute(_PUT_INPUT, [name, *consumed])

    # What follows from everything that was taken.

    def settle(self) -> None:
        """Each event once, and the sessions in the order of their names. Before anything below is asked."""
        self._db.execute(_DERIVED)
        places: list[tuple[int, int]] = []
        winners: list[Winner] = []
        with Files() as files:
            for copies in self._copies(files):
                self._duplicates += len(copies) - 1
                _judge(copies, places, winners)
                if len(places) > _AT_ONCE or len(winners) > _MOST_WINNERS:
                    self._leave_out(places, winners)
        self._leave_out(places, winners)
        self._db.execute(_NUMBERED)

    def _copies(self, files: Files) -> Iterator[list[RecordCopy]]:
        """Records that share a uid, with their contents."""
        for _, group in groupby(self._stream(_COPIES, _AT_ONCE), itemgetter(0)):
            yield [
                RecordCopy(piece, start, self._text(files, piece, start, length)) for _, piece, start, length in group
            ]

    def _text(self, files: Files, piece: int, start: int, length: int) -> bytes:
        path, base = self._texts[piece]
        return files.read(str(self._folder / path) if self._folder else path, base + start, length)

    def _leave_out(self, places: list[tuple[int, int]], winners: list[Winner]) -> None:
        self._add(_ADD_DROPPED, _columns(places, _PLACE))
        self._add(_ADD_WINNERS, _columns(winners, _WINNERS))
        places.clear()
        winners.clear()

    def tally(self) -> Tally:
        [(raw, ignored, stored)] = self._rows(_COUNTS)
        return Tally(raw, stored - self._duplicates, self._duplicates, ignored, dict(self._rows(_REASONS)))

    def greatest_ts(self) -> int | None:
        [(greatest,)] = self._rows(_GREATEST)
        return greatest

    def capabilities(self) -> Iterator[Capability]:
        """Of all snapshots. What most of them repeat is kept once."""
        known: dict[Any, Any] = {}
        for (reading,) in self._stream(_SNAPSHOTS, 1024):
            for row in decode_reading(reading).capabilities:
                yield _shared(row, known)

    def quarantine(self) -> Iterator[bytes]:
        return (line for (line,) in self._stream(_QUARANTINE, _AT_ONCE))

    def chunks(self, most: int = CHUNK_ROWS) -> Iterator[Chunk]:
        """The events that count, by session: whole ones, but of one that is larger than a chunk the rest."""
        waiting, begun = None, None
        for batch in self._arrow(_IN_ORDER, most):
            rows = pa.concat_tables([waiting, batch]) if waiting else batch
            if cut := _first_of_last(rows["session"]):
                yield self._chunk(rows.slice(0, cut), begun)
                waiting, begun = rows.slice(cut), None
            elif len(rows) > most and (cut := _first_of_last(rows["ts"])):
                [begun] = evidence_of(self._chunk(rows.slice(0, cut), begun))
                waiting = rows.slice(cut)
            else:
                waiting = rows
        if waiting:
            yield self._chunk(waiting, begun)

    def _chunk(self, rows: ArrowRows, begun: Evidence | None) -> Chunk:
        rows = rows.combine_chunks()
        session, wanted = rows["session"].to_numpy(), np.unique(rows["profile"].to_numpy())
        first, last = int(session[0]), int(session[-1])
        names = [name for (name,) in self._rows(_SESSION_NAMES, [first, last])]
        profiles = self._rows(_SOME_PROFILES, [wanted.tolist()])
        numbers = np.array([number for number, _ in profiles], np.int64)
        return Chunk(rows, first, names, numbers, [said for _, said in profiles], begun)

    # The door to the database.

    def _add(self, statement: str, rows: ArrowRows, values: Sequence[object] = ()) -> None:
        if len(rows):
            self._db.register("given", rows)
            self._db.execute(statement, values)
            self._db.unregister("given")

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        return cast("Any", self._db.cursor().execute(query, values)).fetchall()

    def _arrow(self, query: str, rows: int) -> Iterator[ArrowRows]:
        for batch in cast("Any", self._db.cursor()).sql(query).to_arrow_reader(rows):
            yield pa.table(batch)

    def _stream(self, query: str, rows: int) -> Iterator[tuple[Any, ...]]:
        for batch in self._arrow(query, rows):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _first_of_last(column: Any) -> int:
    """Of a sorted column, the first place that has the last one's value."""
    values: NDArray[np.int64] = column.to_numpy()
    return int(np.searchsorted(values, values[-1:])[0])


def _judge(copies: list[RecordCopy], places: list[tuple[int, int]], winners: list[Winner]) -> None:
    """Which do not count, because another one does, or the winner of all of them."""
    contents = {copy.content for copy in copies}
    if len(contents) > 1:
        readings = [reading for content in contents if isinstance(reading := read_text(content), Accepted)]
        if len({canonical(reading.record) for reading in readings}) > 1:
            winners.append(_won(winner(readings)))
            places += ((copy.piece, copy.start) for copy in copies)
            return
    places += ((copy.piece, copy.start) for copy in copies[1:])


def _shared(row: Capability, known: dict[Any, Any]) -> Capability:
    """The same row, of values that other rows have as well."""
    values = [getattr(row, name) for name in _CAPABILITY]
    return Capability(*(known.setdefault(value, value) for value in values))


def _won(reading: Accepted) -> Winner:
    light = reading._replace(record={}, samples=())
    kept = encode(light) if reading.event or reading.capabilities else None
    return Winner(reading.uid, reading.ts, reading.session_id, kept)


def _numbered(values: Sequence[object], kind: Any) -> ArrowRows:
    numbers = pa.array(range(len(values)), pa.int32())
    return pa.table([numbers, pa.array(values, kind)], ["number", "value"])


def _columns(rows: Sequence[tuple[Any, ...]], schema: Any) -> ArrowRows:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema)


@contextmanager
def open_store(work: Path, folder: Path | None, threads: int) -> Generator[Store]:
    """In `folder`, where one is given, what is stored stays."""
    import duckdb

    options: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": _MEMORY,
        "threads": threads,
        "temp_directory": str(work / "spilled"),
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    with _errors(folder):
        database = duckdb.connect(str(folder / DATABASE) if folder else ":memory:", config=options)
        try:
            database.execute(_TABLES)
            _check_version(database, folder)
            yield Store(database, folder)
        finally:
            database.close()


@contextmanager
def interruptible() -> Generator[None]:
    """Ctrl-C while DuckDB works reaches us as a RuntimeError, which says nothing of its cause."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise


def _check_version(database: duckdb.DuckDBPyConnection, folder: Path | None) -> None:
    about = cast("Any", database.execute(_ABOUT)).fetchall()
    if not about:
        database.execute(_ADD_ABOUT, [FORMAT, SEMANTICS_VERSION])
    elif about != [(FORMAT, SEMANTICS_VERSION)]:
        raise unusable(folder, "another version made it")


@contextmanager
def _errors(folder: Path | None) -> Generator[None]:
    """What the user can do something about is reported as such."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        reason = str(error)
        if any(sign in reason for sign in _NO_SPACE):
            raise StorageFull("there is not enough disk space for the build", why=reason.splitlines()[0]) from error
        if folder and "lock" in reason and "Conflicting" in reason:
            hint = "Wait until it has ended, or choose another folder."
            raise Conflict(f"another build uses {folder}", why="it holds the lock", hint=hint) from error
        if folder and isinstance(error, duckdb.IOException | duckdb.SerializationException | duckdb.CatalogException):
            raise unusable(folder, reason.splitlines()[0]) from error
        raise
