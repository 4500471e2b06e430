"""Sandboxes whose child misbehaves, and a look at which processes are left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

import psutil

from touchline.media.child.order import ChildLimits
from touchline.media.sandbox import IsolationLevel, Program, Progress, Sandbox, Task
from touchline.media.settings import MediaSettings

MIB = 1024**2
MISBEHAVING = Program("misbehaving", (Path(__file__).parent,))
LIMITS = ChildLimits(
    wall_s=60, cpu_s=60, memory_bytes=512 * MIB, file_bytes=8 * MIB, output_bytes=64 * MIB, processes=64
)


def misbehaving(enclosure: IsolationLevel, niceness: int = 0) -> Sandbox:
    return Sandbox(MediaSettings(), replace(MISBEHAVING, niceness=niceness), [enclosure])


@dataclass(frozen=True)
class Said:
    words: dict[str, Any]


@dataclass(frozen=True)
class Deed:
    """One task of the misbehaving child. Its mark is the name of every process that it starts."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    limits: ChildLimits = LIMITS
    output: Path | None = None
    mark: str = field(default_factory=lambda: token_hex(6))

    async def done(self, sandbox: Sandbox, progress: Progress | None = None) -> dict[str, Any]:
        task = Task(self.name, self.limits, {**self.options, "mark": self.mark}, output=self.output)
        return (await sandbox.run(task, Said, progress)).result.words

    def limited(self, **limits: Any) -> Deed:
        return replace(self, limits=replace(self.limits, **limits))

    def processes(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if self._belongs(process)]

    def _belongs(self, process: psutil.Process) -> bool:
        try:
            return process.status() != psutil.STATUS_ZOMBIE and process.name() == self.mark
        except psutil.Error:
            return False
