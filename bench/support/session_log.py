"""A log like the gateways': the mix of the real export, many sessions at a time, made from a seed.

A session has about sixty events: its trace edges, a status every 10 s, ingest metrics every 5 s. Some change their
orchestrator, some fail, some have their parameters changed; one event in a hundred is delivered twice.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, TextIO

BEGIN_MS = 1_767_900_000_000
EDGES = (
    ("gateway_receive_stream_request", 0),
    ("gateway_send_first_ingest_segment", 2285),
    ("runner_receive_first_ingest_segment", 2287),
    ("runner_send_first_processed_segment", 2390),
    ("gateway_receive_first_processed_segment", 2655),
    ("gateway_receive_few_processed_segments", 6744),
)
MODELS = ("streamdiffusion-sdxl-faceid", "streamdiffusion-sd15", "comfyui", "noop")
ERRORS = ("user disconnected", "Missing video: no frames", "runner crashed", "ICE connection state failed")


@dataclass(frozen=True)
class Shape:
    """How much of it: `open_sessions` run side by side at any time."""

    events: int = 1_000_000
    open_sessions: int = 2_000
    seed: int = 7
    orchestrators: int = 40


class Log:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._random = random.Random(shape.seed)
        self._sessions = 0
        self._orchestrators = [self._orchestrator(number) for number in range(shape.orchestrators)]
        self._status, self._metrics = _json(self._status_data("%s", "%s")), _json(self._metrics_data())

    def lines(self) -> Iterator[str]:
        """In the order of time, as gateways would send them."""
        waiting: list[tuple[int, int, Iterator[tuple[int, str]], str]] = []
        spacing = 280_000 // self._shape.open_sessions  # sessions last about 280 s
        for number in range(self._shape.open_sessions):
            self._begin(waiting, BEGIN_MS + number * spacing)
        next_snapshot, made = BEGIN_MS, 0
        while made < self._shape.events:
            ts, number, events, line = heappop(waiting)
            if ts >= next_snapshot:
                yield self._envelope("network_capabilities", ts, _json(self._orchestrators_data()))
                next_snapshot, made = ts + 60_000, made + 1
            yield line
            made += 1
            if self._random.random() < 0.01:
                yield line
                made += 1
            if following := next(events, None):
                heappush(waiting, (following[0], number, events, following[1]))
            else:
                self._begin(waiting, ts + self._random.randrange(1000))

    def _begin(self, waiting: list[Any], ts: int) -> None:
        self._sessions += 1
        events = iter(sorted(self._session(ts)))
        first = next(events)
        heappush(waiting, (first[0], self._sessions, events, first[1]))

    def _session(self, ts: int) -> Iterator[tuple[int, str]]:
        chance = self._random
        stream, request = f"stream-{chance.getrandbits(48):012x}", f"{chance.getrandbits(32):08x}"
        gateway = f"gateway-{chance.randrange(4)}"
        names = f'"request_id":"{request}","stream_id":"{stream}"'
        one, model = chance.choice(self._orchestrators), chance.choice(MODELS)
        for payment in range(3):
            yield (
                ts + 200 + payment,
                self._envelope("create_new_payment", ts + 200 + payment, _payment(request), gateway),
            )
        failed = chance.random() < 0.1
        for edge, after in EDGES[: 2 if failed else 6]:
            at = ts + after + chance.randrange(200)
            yield at, self._trace(at, edge, names, one if after else None, gateway)
        if failed:
            yield ts + 9000, self._event(ts + 9000, "error", names, chance.choice(ERRORS), gateway)
        swap = ts + chance.randrange(60_000, 200_000) if chance.random() < 0.05 else None
        end = ts + chance.randrange(100_000, 300_000)
        if swap:
            yield swap, self._trace(swap, "orchestrator_swap", names, one, gateway)
        if chance.random() < 0.2:
            yield ts + 50_000, self._event(ts + 50_000, "params_update", names, "", gateway)
        other = chance.choice(self._orchestrators)
        for at in range(ts + 10_000, end, 10_000):
            serving = other if swap and at > swap else one
            yield (
                at,
                self._envelope("ai_stream_status", at, self._filled_status(serving, model, names, at, ts), gateway),
            )
        for at in range(ts + 5_000, end, 5_000):
            yield at, self._envelope("stream_ingest_metrics", at, self._filled_metrics(names, at), gateway)
        if chance.random() < 0.9:
            yield end, self._trace(end, "gateway_ingest_stream_closed", names, None, gateway)

    def _envelope(self, kind: str, ts: int, data: str, gateway: str = "gateway-0") -> str:
        bits = f"{self._random.getrandbits(128):032x}"
        uid = f"{bits[:8]}-{bits[8:12]}-{bits[12:16]}-{bits[16:20]}-{bits[20:]}"
        return f'{{"id":"{uid}","type":"{kind}","timestamp":"{ts}","gateway":"{gateway}","data":{data}}}'

    def _trace(self, ts: int, edge: str, names: str, one: dict[str, Any] | None, gateway: str) -> str:
        data = f'{{"orchestrator_info":{_seen(one)},"pipeline_id":"",{names},"timestamp":{ts},"type":"{edge}"}}'
        return self._envelope("stream_trace", ts, data, gateway)

    def _event(self, ts: int, kind: str, names: str, message: str, gateway: str) -> str:
        told = f'"message":"{message}"' if message else '"params":{"prompt":"a \\"blue\\" cat","seed":7}'
        return self._envelope("ai_stream_events", ts, f'{{{names},{told},"type":"{kind}"}}', gateway)

    def _filled_status(self, one: dict[str, Any], model: str, names: str, ts: int, begin: int) -> str:
        head = self._status % (repr(20 * self._random.random()), repr(20 * self._random.random()))
        tail = (
            f'"orchestrator_info":{_seen(one)},"pipeline":"{model}","pipeline_id":"",{names},'
            f'"start_time":{begin + 309},"state":"ONLINE","timestamp":{ts + 2},"type":"status"}}'
        )
        return f"{head[:-1]},{tail}"

    def _filled_metrics(self, names: str, ts: int) -> str:
        return f'{{"pipeline_id":"",{names},"stats":{self._metrics},"timestamp":{ts}}}'

    @staticmethod
    def _status_data(output: str, given: str) -> dict[str, Any]:
        parameters = {"height": 512, "width": 512, "prompt": "a portrait in oil", "steps": [2, 4]}
        inference = {
            "fps": output, "last_error": None, "last_error_time": None, "last_output_time": BEGIN_MS,
            "last_params": parameters, "last_params_hash": "f2f41bce75e30de92f8c308a6722859b",
            "last_params_update_time": BEGIN_MS, "last_restart_logs": None, "last_restart_time": None,
            "restart_count": 0,
        }  # fmt: skip
        received = {"fps": given, "last_input_time": BEGIN_MS}
        return {"inference_status": inference, "input_status": received, "last_state_update_time": BEGIN_MS}

    @staticmethod
    def _metrics_data() -> dict[str, Any]:
        track = {"jitter": 10.126770701625134, "packets_lost": 0, "packets_received": 413, "packet_loss_pct": 0,
                 "rtt": 0, "last_input_ts": 4.892, "last_output_ts": 0, "latency": 0}  # fmt: skip
        peer = {"ID": "iceTransport", "BytesReceived": 477890, "BytesSent": 4013}
        tracks = [{"type": "video", **track}, {"type": "audio", **track}]
        return {"peer_conn_stats": peer, "track_stats": tracks, "conn_quality": "good"}

    def _orchestrator(self, number: int) -> dict[str, Any]:
        wallet, hot = f"0x{self._random.getrandbits(160):040X}", f"0x{self._random.getrandbits(160):040x}"
        gpu = {"0": {"id": f"GPU-{self._random.getrandbits(64):016x}", "name": "RTX 5090"}}
        hardware = [{"pipeline": "live-video-to-video", "model_id": model, "gpu_info": gpu} for model in MODELS]
        url = f"https://orchestrator-{number}.example:8935"
        return {"address": wallet, "local_address": hot, "orch_uri": url, "hardware": hardware}

    def _orchestrators_data(self) -> list[dict[str, Any]]:
        return self._orchestrators


def _json(document: object) -> str:
    return json.dumps(document, separators=(",", ":")).replace('"%s"', "%s")


def _seen(one: dict[str, Any] | None) -> str:
    if one is None:
        return '{"address":"","url":""}'
    return f'{{"address":"{one["local_address"]}","url":"{one["orch_uri"]}"}}'


def _payment(request: str) -> str:
    return f'{{"faceValue":"2402400000000000 WEI","requestID":"{request}","numTickets":"2","winProb":"0.00099"}}'


def write(path: Path, shape: Shape) -> int:
    """Bytes written."""
    with path.open("w") as file:
        return sum(_put(file, line) for line in Log(shape).lines())


def _put(file: TextIO, line: str) -> int:
    return file.write(line + "\n")
