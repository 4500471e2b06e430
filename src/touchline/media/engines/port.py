"""What is asked of whoever reads text."""

from __future__ import annotations

from typing import Protocol

from .model import Picture, TextRegion


class TextReader(Protocol):
    async def read(self, picture: Picture, stream: str = "") -> tuple[TextRegion, ...]:
        """The text of one picture. Pictures of one video, in order, at even steps and under one name, cost only what
        changed."""
        ...
