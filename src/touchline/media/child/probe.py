"""The task `probe`: what a video is, and whether browsers play it."""

from __future__ import annotations

from typing import Any

from touchline.media.model import Probe

from .channel import Channel
from .facts import learn
from .order import Options
from .source import identify


def probe(options: dict[str, Any], channel: Channel) -> Probe:
    return learn(identify(), Options(**options))
