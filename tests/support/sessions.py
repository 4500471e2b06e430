"""Workflow events as gateways and runners send them, and whole logs of them as hypothesis makes them up.

`facts_of` is the shortest way from records to facts: every engine must come to the same.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from touchline.measure.sessions import model as edges
from touchline.measure.sessions.evidence import gather, winner
from touchline.measure.sessions.model import Event, SessionFacts
from touchline.measure.sessions.parser import Accepted, read
from touchline.measure.sessions.rules import Directory, Rules, conclude
from touchline.measure.settings import SessionSettings

REAL_LOG = Path(__file__).with_name("streaming-events.json")  # exported from a real gateway, one session
NOON = 1_767_960_000_000  # 2026-01-09
DAY_MS = 86_400_000
RULES = Rules.of(SessionSettings())

Record = dict[str, Any]

SIGNALS = (
    edges.STREAM_REQUEST,
    edges.FIRST_INGEST,
    edges.RUNNER_FIRST_PROCESSED,
    edges.FIRST_PROCESSED,
    edges.PLAYABLE,
    edges.NO_ORCHESTRATORS,
    edges.SWAP,
    edges.CLOSED,
    "app_start_broadcast_stream",
    "runner_receive_first_ingest_segment",
)


def record(kind: str, uid: str, ts: int, data: object, **envelope: object) -> Record:
    return {"id": uid, "type": kind, "timestamp": str(ts), "gateway": "", "data": data} | envelope


def said(at: tuple[str, int], session: tuple[str, str] = ("stream", "request"), **data: object) -> Record:
    """The data that all events of a session share. `address` and `url` go where gateways put them."""
    info = {name: data.pop(name) for name in ("address", "url") if name in data}
    about = {"orchestrator_info": info} if info else {}
    return {"stream_id": session[0], "request_id": session[1], "timestamp": at[1]} | about | data


def trace(uid: str, ts: int, name: str, **data: Any) -> Record:
    return record("stream_trace", uid, ts, said((uid, ts), type=name, **data))


def status(uid: str, ts: int, **data: Any) -> Record:
    return record("ai_stream_status", uid, ts, said((uid, ts), type="status", **data))


def happened(uid: str, ts: int, what: str, **data: Any) -> Record:
    return record("ai_stream_events", uid, ts, said((uid, ts), type=what, **data))


def metrics(uid: str, ts: int, **data: Any) -> Record:
    return record("stream_ingest_metrics", uid, ts, said((uid, ts), **data))


def orchestrator(address: str, local_address: str, url: str, models: dict[str, Sequence[str]]) -> Record:
    """One row of a snapshot; of each model the GPUs that run it."""
    constraints = {"PerCapability": {"35": {"models": {model: {"warm": True} for model in models}}}}
    hardware = [
        {"model_id": model, "gpu_info": {str(at): {"id": gpu} for at, gpu in enumerate(gpus)}}
        for model, gpus in models.items()
    ]
    return {
        "address": address,
        "local_address": local_address,
        "orch_uri": url,
        "capabilities": {"constraints": constraints},
        "hardware": hardware,
    }


def snapshot(uid: str, ts: int, *rows: Record) -> Record:
    return record("network_capabilities", uid, ts, list(rows))


def accepted_of(records: Iterable[object]) -> list[Accepted]:
    """One for each uid, the copy that counts."""
    copies: dict[str, list[Accepted]] = defaultdict(list)
    for reading in map(read, records):
        if isinstance(reading, Accepted):
            copies[reading.uid].append(reading)
    return [winner(of_one) for of_one in copies.values()]


def facts_of(records: Iterable[object], rules: Rules = RULES, now_ms: int = sys.maxsize) -> dict[str, SessionFacts]:
    """The facts of every session, by its id."""
    accepted = accepted_of(records)
    directory = Directory.of(row for reading in accepted for row in reading.capabilities)
    greatest = min(max((reading.ts for reading in accepted), default=0), now_ms)
    sessions: dict[str, list[Event]] = defaultdict(list)
    for reading in accepted:
        if reading.event:
            sessions[reading.event.session_id].append(reading.event)
    return {name: conclude(gather(events), directory, rules, greatest) for name, events in sessions.items()}


def fact_of(*records: Record, rules: Rules = RULES) -> SessionFacts:
    (facts,) = facts_of(records, rules).values()
    return facts


_ADDRESSES = ["0xAA", "0xaa", "0xBB", "0xCC", " 0xcc ", "0x01", "0x02", "0xdd", "", 7]
_URLS = ["https://One.example:8935", "https://one.example:8935/", "https://two.example", "https://three.example", ""]
_MODELS = ["sdxl", "flux", "SDXL "]
_MESSAGES = ["", "No Orchestrators available: 0 of 9", "user disconnected", "whip disconnected; missing video", "lost"]
_SESSIONS = [("s", "r"), ("s ", " r"), ("s", ""), ("", "r"), ("", None), ("s|r", "q"), ("s", "r|q"), (12, "⚽")]
_FAR_MS = [-DAY_MS, -DAY_MS - 1, DAY_MS, DAY_MS + 3000, 600_000, 5_000_000]
_UNUSABLE_TIMES: list[object] = [None, 0, -5, "soon", True, 1e300, {"s": 1}]
_ODD_IDS: list[object] = ["a|b", " e1 ", 17, "", None, "⚽"]


def logs(most: int = 14) -> st.SearchStrategy[list[Record]]:
    """Events of few sessions, with swaps, closes, errors, updates and snapshots; ids repeat, with other contents.

    Made from a seed: hypothesis makes them shorter, and a log costs as little as the facts that are checked with it.
    """
    return st.builds(made_up_log, st.integers(1, most), st.integers(0, 2**32))


def made_up_log(length: int, seed: int) -> list[Record]:
    random = Random(seed)
    events = [_session_event(random, _uid(random, length)) for _ in range(length)]
    return events + [_snapshot(random, _uid(random, length)) for _ in range(random.randrange(5))]


def _uid(random: Random, length: int) -> object:
    return random.choice(_ODD_IDS) if random.random() < 0.1 else f"e{random.randrange(length * 4)}"


def _time(random: Random) -> int:
    """Often the same as another's."""
    return NOON + (random.choice(_FAR_MS) if random.random() < 0.15 else random.randrange(12) * 250)


def _session_event(random: Random, uid: object) -> Record:
    ts = _time(random)
    kind = random.choice(["stream_trace", "stream_trace", "ai_stream_status", "ai_stream_events"])
    data = _shared_data(random, ts)
    if kind == "stream_trace":
        data["type"] = random.choice(SIGNALS)
    elif kind == "ai_stream_status":
        data["start_time"] = random.choice([None, ts - 100, (ts - 700) / 1000, "x", 5])
        data["inference_status"] = {"fps": random.choice([12.5, -1, "9", None, 10**18])}
    else:
        data["type"] = random.choice(["error", "ERROR ", "params_update", "restart", 3])
        data["message"] = random.choice(_MESSAGES)
        data["params"] = random.choice([{"prompt": "cat"}, {"b": [1], "a": {}}, None])
    return record(kind, str(uid), ts, data, id=uid, gateway=random.choice(["", "gate-1", " gate-2", 4]))


def _shared_data(random: Random, ts: int) -> Record:
    stream_id, request_id = random.choice(_SESSIONS if random.random() < 0.3 else _SESSIONS[:2])
    own_time = random.choice([ts, ts, str(ts), ts * 1000, ts / 1000, *random.sample(_UNUSABLE_TIMES, 2)])
    data: Record = {"stream_id": stream_id, "request_id": request_id, "timestamp": own_time}
    if random.random() < 0.7:
        data["orchestrator_info"] = {"address": random.choice(_ADDRESSES), "url": random.choice(_URLS)}
    if random.random() < 0.3:
        data["pipeline"] = random.choice([*_MODELS, ""])
    if random.random() < 0.2:
        data |= {"pipeline_id": random.choice(["p1", "p2", 5]), "workflow_type": random.choice(["batch", " "])}
    return data


def _snapshot(random: Random, uid: object) -> Record:
    rows = [
        orchestrator(
            random.choice(_ADDRESSES),
            random.choice(_ADDRESSES),
            random.choice(_URLS),
            {model: random.choices(["g1", "g2", ""], k=random.randrange(3)) for model in random.sample(_MODELS, 2)},
        )
        for _ in range(random.randrange(3))
    ]
    return record("network_capabilities", str(uid), _time(random), rows, id=uid)


def delivered(records: Sequence[Record], seed: int) -> list[Record]:
    """Each at least once, some again, in any order."""
    random = Random(seed)
    delivery = [*records, *random.choices(records, k=random.randrange(4))]
    random.shuffle(delivery)
    return delivery
