"""Who reads for the jobs of one worker: one engine process, started when it is needed and ended when it is idle.

Invariant: never two processes at once that stay. A job that reads other languages makes the engine start anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from touchline.media.engines.model import ReaderName, reader_for
from touchline.media.engines.service import Engine
from touchline.media.sandbox import Sandbox


class Readers:
    def __init__(self, sandbox: Sandbox, name: ReaderName) -> None:
        self._sandbox = sandbox
        self.name = name
        self._engines: dict[tuple[str, ...], Engine] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        for engine in self._engines.values():
            await engine.close()

    @property
    def process_ids(self) -> list[int]:
        return [engine.process_id for engine in self._engines.values() if engine.process_id]

    async def reader(self, languages: Sequence[str]) -> Engine:
        """LanguageMissing when the data of one is not installed."""
        reader = reader_for(self.name, languages)
        wanted = tuple(languages) if reader is ReaderName.TESSERACT else ()  # the other one's model reads many
        for others, engine in self._engines.items():
            if others != wanted:
                await engine.close()  # whoever still uses it gets a new process with the next picture
        engine = self._engines.setdefault(wanted, Engine(self._sandbox, reader, wanted or ("eng",)))
        await engine.start()
        return engine
