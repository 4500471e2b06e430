"""What the incremental engine holds follows from what is open, not from how much there was before."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.support.sessions import NOON, RULES
from touchline.measure.engines.model import InputFile
from touchline.measure.engines.service import BuildPace, BuildPlan, built

OPEN, EACH, TRIES = 20, 12, 3
PACE = BuildPace(piece_bytes=90_000, commit_bytes=1, chunk_rows=256)
FEW, MANY = 5_000, 12_000  # events: either way, runs of every kind have been merged


def lines(*, contested: bool) -> Iterator[str]:
    """Sessions side by side, all equally long; when contested, an event of each comes with another content as well."""
    for number in range(10**9):
        wave, at = divmod(number, OPEN * EACH)
        place, session = divmod(at, OPEN)
        said = {
            "stream_id": f"stream-{wave}-{session}",
            "request_id": "r",
            "timestamp": NOON + number * 100,
            "orchestrator_info": {"address": f"0x{session % 3}", "url": ""},
        }
        event = {"id": f"{number:036}", "type": "ai_stream_status", "gateway": "g", "data": said}
        yield json.dumps(event)
        if contested and place == 5:
            yield json.dumps(event | {"gateway": "another"})


def most_held(folder: Path, events: int, *, contested: bool) -> int:
    folder.mkdir()
    log = folder / "events.jsonl"
    log.write_text("\n".join(islice(lines(contested=contested), events)))
    tracemalloc.start()
    with built([InputFile("log", log)], BuildPlan(folder, pace=PACE), RULES, lambda _: None) as made:
        sessions = sum(1 for _ in made.sessions)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sessions >= events // EACH // 2
    return most


def held(folder: Path, *, contested: bool) -> tuple[int, int]:
    """With few events and with many."""
    folder.mkdir()
    few, many = (most_held(folder / str(events), events, contested=contested) for events in (FEW, MANY))
    return few, many


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is made once and stays is no part of the question."""
    for contested in (False, True):
        most_held(tmp_path_factory.mktemp("warm") / "log", 1000, contested=contested)


# Once is enough: what other threads of this process held meanwhile is no part of the question.


def test_memory_does_not_grow_with_what_is_over(tmp_path: Path) -> None:
    tries = (held(tmp_path / str(number), contested=False) for number in range(TRIES))
    assert any(many < 1.1 * few for few, many in tries)


def test_with_contested_ids_it_grows_by_their_names_alone(tmp_path: Path) -> None:
    """Their keys and the ids of their sessions, no events."""
    tries = (held(tmp_path / str(number), contested=True) for number in range(TRIES))
    assert any(many - few < 1000 * (MANY - FEW) // EACH for few, many in tries)
