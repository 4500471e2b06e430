"""What the planes ask of the engines. Whoever implements these is an engine."""

from __future__ import annotations

from typing import Protocol

from .model import FrameVerdict, Picture, TextRegion


class TextReader(Protocol):
    async def read(self, picture: Picture, stream: str = "") -> tuple[TextRegion, ...]:
        """The text of one picture. Pictures of one video, in order, at even steps and under one name, cost only what
        changed."""
        ...


class FrameJudge(Protocol):
    async def judge(self, picture: Picture) -> FrameVerdict: ...
