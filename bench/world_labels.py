"""What the readers, the frame engine and the fingerprints make of the world's labelled videos.

`touchline world videos --labels` writes them, with what is true of them; nothing was chosen on these. Text: a string
counts as read if a line of its picture has it; asked once a second, on clips as they were broadcast. Frames: those at a
quarter and at three quarters of every clip. Fingerprints: every copy with its own source, and with all others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.report import report

from touchline.media.engines.model import Picture, ReaderName
from touchline.media.engines.service import Engine
from touchline.media.fingerprint.comparison import compare
from touchline.media.fingerprint.model import Fingerprint, Style, Way
from touchline.media.fingerprint.service import take_fingerprint
from touchline.media.rules import SampleOptions
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings
from touchline.media.tasks import decode_samples, read_manifest, sample
from touchline.watch.validation.clock import clock_among
from touchline.watch.validation.service import CLOCK_ABOVE
from touchline_world.videos.library import write_labelled

STEP_MS = 1000
CLOCK = re.compile(r"\d{2,3}:\d{2}")
Figures = dict[str, float | str]
Clip = dict[str, Any]


async def pictures_of(sandbox: Sandbox, folder: Path, clip: Clip) -> list[Picture]:
    """One a second."""
    with tempfile.TemporaryDirectory() as kept:
        options = SampleOptions(STEP_MS, threshold=1.0)
        made = await sample(sandbox, folder / clip["file"], Path(kept), options)
        samples = await asyncio.to_thread(lambda: list(read_manifest(Path(kept, made.manifest))))
        size = clip["width"], clip["height"]
        return [picture async for picture in decode_samples(sandbox, Path(kept), samples, size)]


class Texts:
    def __init__(self) -> None:
        self.found: dict[str, list[bool]] = defaultdict(list)
        self.wrong_clocks = 0

    def count(self, clip: Clip, picture: Picture, lines: Sequence[str]) -> None:
        standing = [each["text"] for each in clip["texts"] if each["from_ms"] <= picture.at_ms < each["until_ms"]]
        for text in standing:
            kind = "clocks" if CLOCK.match(text) else "scores" if re.search(r"\d-\d", text) else "other strings"
            self.found[kind].append(any(text in line for line in lines))
        said = {clock for line in lines for clock in CLOCK.findall(line)}
        true = {clock for text in standing for clock in CLOCK.findall(text)}
        self.wrong_clocks += len({clock for clock in said - true if ":" in clock and not clock.startswith("+")})

    def figures(self) -> Figures:
        told: Figures = {f"text: {kind} read": _share(found) for kind, found in sorted(self.found.items())}
        return told | {
            "text: strings": sum(map(len, self.found.values())),
            "text: clocks that do not stand there": self.wrong_clocks,
        }


class Frames:
    def __init__(self) -> None:
        self.right: dict[str, list[bool]] = defaultdict(list)

    async def count(self, engine: Engine, clip: Clip, pictures: Sequence[Picture]) -> None:
        for picture in (pictures[len(pictures) // 4], pictures[len(pictures) * 3 // 4]):
            said = await engine.judge(picture)
            as_what = "filmed" if clip["filmed"] else "as broadcast"
            self.right[f"football, {clip['kind']}, {as_what}"].append((said.football >= 0.5) == clip["football"])
            self.right[f"filmed screen, {as_what}"].append((said.filmed_screen >= 0.5) == clip["filmed"])

    def figures(self) -> Figures:
        return {f"frames: {kind}: right": _share(right) for kind, right in sorted(self.right.items())}


async def look(sandbox: Sandbox, folder: Path, clips: Sequence[Clip]) -> Figures:
    texts, frames, clocks = Texts(), Frames(), Clocks()
    async with Engine(sandbox, ReaderName.RAPIDOCR) as engine:
        for number, clip in enumerate(clips):
            print(f"looking at {number + 1} of {len(clips)}", file=sys.stderr, flush=True)
            pictures = await pictures_of(sandbox, folder, clip)
            await frames.count(engine, clip, pictures)
            await clocks.count(engine, clip, pictures)
            for picture in pictures if clip["texts"] else []:
                texts.count(clip, picture, [each.text for each in await engine.read(picture, clip["file"])])
    return texts.figures() | frames.figures() | clocks.figures()


async def match(sandbox: Sandbox, folder: Path, clips: Sequence[Clip], style: Style) -> Figures:
    taken = [(clip, await take_fingerprint(sandbox, folder / clip["file"], way=Way(style))) for clip in clips]
    found: dict[str, list[bool]] = defaultdict(list)
    merged: list[bool] = []
    for source, first in ((clip, fingerprint) for clip, fingerprint in taken if clip["change"] == "plain"):
        for clip, second in taken:
            if clip is not source:
                _count(source, clip, (first, second), found, merged)
    told: Figures = {f"{style}: {kind} found": _share(each) for kind, each in sorted(found.items())}
    return told | {f"{style}: pairs of different takes": len(merged), f"{style}: of them merged": sum(merged)}


def _count(
    source: Clip, clip: Clip, both: tuple[Fingerprint, Fingerprint], found: dict[str, list[bool]], merged: list[bool]
) -> None:
    same = compare(*both).match
    if source["take"] == clip["take"]:
        found[clip["change"]].append(same)
    else:
        merged.append(same)


class Clocks:
    """What validation reads from the upper part of two pictures, as one stream, beside a look at all of each."""

    def __init__(self) -> None:
        self.same: list[bool] = []
        self.above: list[bool] = []

    async def count(self, engine: Engine, clip: Clip, pictures: Sequence[Picture]) -> None:
        for picture in (pictures[len(pictures) // 4], pictures[len(pictures) * 3 // 4]):
            above = clock_among(await engine.read(picture, f"above {clip['file']}", CLOCK_ABOVE))
            whole = clock_among(await engine.read(picture))
            if above or whole:
                self.above.append(above is not None)
                self.same.append((above or whole) == whole)

    def figures(self) -> Figures:
        return {
            "clocks: pictures with one": len(self.same),
            "clocks: of them read from the upper part": _share(self.above),
            "clocks: as a look at the whole reads them": _share(self.same),
        }


def _share(values: Sequence[bool]) -> float:
    return sum(values) / max(1, len(values))


async def measure(folder: Path, seed: int) -> Figures:
    labels = folder / "labels.json"
    if not await asyncio.to_thread(labels.exists):
        await write_labelled(folder, seed, lambda done, of: print(f"{done} of {of} drawn", file=sys.stderr, flush=True))
    clips: list[Clip] = json.loads(await asyncio.to_thread(labels.read_text))["clips"]
    async with Sandbox(MediaSettings()) as sandbox:
        told: Figures = {"clips": len(clips)}
        for style in Style:
            told |= await match(sandbox, folder, clips, style)
        return told | await look(sandbox, folder, clips)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--folder", type=Path, help="keep the videos here, so that another run need not draw them")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        report("world_labels", asyncio.run(measure(given.folder or Path(temporary), given.seed)))


if __name__ == "__main__":
    main()
