"""Builds of session facts from lines, in pieces of any size, with a state or without; lines that strangers write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from touchline.measure.engines.model import ANY_TIME, Built, InputFile, Received, line_of, report_of
from touchline.measure.engines.service import BuildPace, BuildPlan, built
from touchline.measure.engines.store import CHUNK_ROWS
from touchline.measure.sessions.parser import Accepted, Ignored, Quarantined, believed, read_text

from .sessions import NOON, RULES, facts_of

Result = dict[str, Any]

PLAIN = '{"id":"%s","type":"stream_ingest_metrics","timestamp":"%d","gateway":"g","data":{%s}}'
NAMES = '"stream_id":"s","request_id":"r"'

# What may stand where nobody looks. The quick parser must not let pass what the slow one refuses.
VALUES = (
    b"1e999", b"-1E+400", b"[2e308]", b"1e308", b"1e-999", b"-0", b"9" * 320 + b".5", b"9" * 400, b"9" * 4400, b"01",
    b"1.", b"NaN", b"Infinity", b"nul", b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\\x"', b'"\xff"', b'"\xe2\x9a\xbd"',
    b'"\x01"', b'"\\u0000"', b"[" * 63 + b"]" * 63, b"[" * 62 + b"]" * 62, b"[" * 61 + b"]" * 61,
    b"[" * 90 + b"]" * 90, b"[" * 2000 + b"]" * 2000, b'{"a":1,"a":2}', b"{} {}", b"[1,]", b'"' + b"x" * 5000 + b'"',
    b'1},"more":{"x":2', b'1}}{"x":{"y":1', b'"1e999"', b"12e345",
)  # fmt: skip

TRACE = b'"type":"stream_trace","timestamp":"1767960000000","data":{"stream_id":"s","request_id":"r"}}'
LINES = (
    b"null", b"7", b'"text"', b"{", b"}", b"{}", b"[1,2", b"[]", b"[3,[4]]", b'{"type":7}', b'{"type":" "}',
    b'{"type":"other"}', b"\xff\xfe", b'{"type":"stream_trace","data":{}}', b"   ", b"", b"\t\r",
    b'{"type":"stream_trace","timestamp":"1","data":{}}', b'{"id":"n","type":"discovery_results","data":7}',
    b'{"type":"ai_stream_status","timestamp":1767960000000,"data":[]}',
    b'{"id":"twice","id":"e1","type":"stream_ingest_metrics",' + TRACE,
    b'\xef\xbb\xbf{"id":"bom",' + TRACE,
    b'{"value":{"id":"w",' + TRACE + b"}",
    b'{"id":"p","type":"create_new_payment","timestamp":"1767960000009","data":{"requestID":"r"}}',
)  # fmt: skip


def hostile_line(random: Random) -> bytes:
    if random.random() < 0.4:
        return random.choice(LINES)
    place = f'{NAMES},"timestamp":{NOON + random.randrange(9)},"x":'
    line = (PLAIN % (f"h{random.randrange(40)}", NOON, place + "@")).encode()
    return line.replace(b"@", random.choice(VALUES))


def broken_line(random: Random, line: bytes) -> bytes:
    """With a few bytes changed, cut or put in."""
    content = bytearray(line)
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(content) + 1)
        content[at : at + random.randrange(3)] = random.randbytes(random.randrange(3)).replace(b"\n", b"")
    return bytes(content)


def built_by_batch(
    files: Sequence[Path], piece_bytes: int, processes: int = 1, received: Received = ANY_TIME
) -> Result:
    return _built(files, processes=processes, pace=BuildPace(piece_bytes), received=received)


def built_by_increments(
    files: Sequence[Path],
    state: Path,
    piece_bytes: int,
    commit_bytes: int,
    chunk_rows: int = CHUNK_ROWS,
    received: Received = ANY_TIME,
) -> Result:
    return _built(
        files, state=state, pace=BuildPace(piece_bytes, commit_bytes, chunk_rows=chunk_rows), received=received
    )


def _built(
    files: Sequence[Path], *, pace: BuildPace, received: Received, state: Path | None = None, processes: int = 1
) -> Result:
    sources = [InputFile(str(file), file) for file in files]
    with TemporaryDirectory() as work:
        plan = BuildPlan(Path(work), state, processes, pace, received)
        with built(sources, plan, RULES, lambda _: None) as made:
            return _result(made)


def _result(made: Built) -> Result:
    sessions = list(made.sessions)
    return {
        "sessions": b"".join(lines.session for lines in sessions),
        "segments": b"".join(lines.segments for lines in sessions),
        "parameters": b"".join(lines.parameters for lines in sessions),
        "quarantine": b"".join(made.quarantine),
        "report": report_of(made, {"sessions": len(sessions)}),
    }


def built_plainly(lines: Sequence[bytes], received: Received = ANY_TIME) -> Result:
    """What every engine must come to: each line read alone, then all facts at once. No line is an array of records."""
    readings = [
        believed(read_text(content), received.latest_ts)
        for line in lines
        if (content := line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n"))
    ]
    accepted = [reading for reading in readings if isinstance(reading, Accepted)]
    reasons = Counter(reading.reason.value for reading in readings if isinstance(reading, Quarantined))
    facts = sorted(facts_of((reading.record for reading in accepted), now_ms=received.now_ms).items())
    distinct = len({reading.uid for reading in accepted})
    return {
        "sessions": b"".join(line_of(one.session) for _, one in facts),
        "segments": b"".join(line_of(row) for _, one in facts for row in one.segments),
        "parameters": b"".join(line_of(row) for _, one in facts for row in one.parameters),
        "counts": {
            "raw": len(readings),
            "accepted": distinct,
            "duplicate": len(accepted) - distinct,
            "ignored": sum(isinstance(reading, Ignored) for reading in readings),
            "quarantined": reasons.total(),
            "reasons": dict(sorted(reasons.items())),
            "sessions": len(facts),
        },
    }


def written(folder: Path, lines: Sequence[bytes], cuts: Sequence[int], ending: bytes = b"\n") -> list[Path]:
    """The lines in files that begin at the cuts."""
    folder.mkdir(parents=True, exist_ok=True)
    borders = [0, *sorted(cut % (len(lines) + 1) for cut in cuts), len(lines)]
    files: list[Path] = []
    for number, (first, last) in enumerate(pairwise(borders)):
        files.append(folder / f"part-{number}")
        files[-1].write_bytes(b"".join(line + ending for line in lines[first:last]))
    return files
