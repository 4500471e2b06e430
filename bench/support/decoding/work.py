from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from touchline.media.child.channel import Channel
from touchline.media.child.order import Options
from touchline.media.child.probe import learn
from touchline.media.child.source import identify, open_source, ready_to_decode


@dataclass(frozen=True, slots=True)
class Decoded:
    pictures: int


def decode(options: dict[str, Any], channel: Channel | None) -> Decoded:
    bounds, kind = Options(**options), identify()
    learn(kind, bounds)
    with open_source(kind, bounds) as source:
        ready_to_decode(source.video, bounds, bounds.threads)
        return Decoded(sum(1 for _ in source.container.decode(source.video)))
