"""The pictures of a video that are worth reading, as JPEGs named by their time in milliseconds.

Invariant: the manifest names every picture, in the order of time; a 3 h video needs no more memory than a short one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from touchline.kernel import InvalidInput

from .sampling_rules import MANIFEST, Sampled, SampledPicture, SampleOptions, SampleSet
from .sandbox import Completed, Progress, Sandbox, Task
from .settings import child_limits, child_options

SHORTEST_STEP_MS = 10
USUAL = SampleOptions()


async def sample(
    sandbox: Sandbox,
    source: Path | int,
    folder: Path,
    wanted: SampleOptions = USUAL,
    progress: Progress | None = None,
    completed: Completed | None = None,
) -> SampleSet:
    """Into an empty folder. `completed` hears of each picture as soon as it is whole."""
    _check(wanted)
    settings = sandbox.settings
    limits = child_limits(settings, settings.sampling_time)
    options = {**asdict(child_options(settings)), "sampling": asdict(wanted)}
    task = Task("sample", limits, options, source, folder, completed)
    outcome = await sandbox.run(task, Sampled, progress)
    said = outcome.result
    return SampleSet(said.source, said.width, said.height, said.examined, said.kept, MANIFEST, outcome.files)


def read_manifest(path: Path) -> Iterator[SampledPicture]:
    with path.open() as lines:
        for line in lines:
            yield SampledPicture(**json.loads(line))


def _check(wanted: SampleOptions) -> None:
    if wanted.every_ms < SHORTEST_STEP_MS:
        raise InvalidInput(f"the interval between samples must be at least {SHORTEST_STEP_MS} ms", field="every_ms")
    if not 0 <= wanted.threshold <= 1:
        raise InvalidInput("the similarity threshold must be between 0 and 1", field="threshold")
