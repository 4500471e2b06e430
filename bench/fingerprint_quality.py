"""How well fingerprints tell copies from other videos, for both styles, on drawn matches.

Every copy is compared with every source. A pair of a copy and its own source that is not found lowers the recall of its
kind; any other pair that is found is a wrong merge. The tables go into docs/reference/fingerprint.md.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.copies import COPIES, GOALS, Copy, make_copy
from support.report import report
from support.scenes import Goal, draw

from touchline.media.fingerprint.matching import compare
from touchline.media.fingerprint.model import Fingerprint, Style, Way
from touchline.media.fingerprint.service import take_fingerprint
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "fingerprint.md"
BEGIN, END = "<!-- Written by bench/fingerprint_quality.py: begin -->", "<!-- end -->"
LEAST_PRECISION = 0.99


@dataclass(frozen=True)
class Clip:
    goal: Goal
    copy: Copy | None  # none: the source itself
    fingerprint: Fingerprint


@dataclass
class Tally:
    """What one style made of all pairs."""

    found: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    pairs: int = 0
    merged_matches: int = 0
    merged_goals: int = 0  # of one match
    of_goals: int = 0

    @property
    def wrong(self) -> int:
        return self.merged_matches + self.merged_goals

    @property
    def precision(self) -> float:
        right = sum(sum(found) for found in self.found.values())
        return right / max(1, right + self.wrong)

    def recall(self, kind: str) -> float:
        return sum(self.found[kind]) / len(self.found[kind])


def judge(clips: Sequence[Clip]) -> Tally:
    tally = Tally()
    for clip in clips:
        for source in (each for each in clips if each.copy is None and each is not clip):
            match = compare(source.fingerprint, clip.fingerprint).match
            if clip.goal == source.goal:
                tally.found[clip.copy.kind if clip.copy else ""].append(match)
                continue
            one_match = clip.goal.match == source.goal.match
            tally.pairs += 1
            tally.of_goals += one_match
            tally.merged_goals += match and one_match
            tally.merged_matches += match and not one_match
    return tally


async def take(goals: Sequence[Goal], copied: int, style: Style, folder: Path) -> list[Clip]:
    clips = list[Clip]()
    async with Sandbox(MediaSettings()) as sandbox:
        for goal in goals:
            for copy, path in _files(goal, folder, copies=COPIES if goal.number < copied else ()):
                fingerprint = await take_fingerprint(sandbox, path, way=Way(style))
                clips.append(Clip(goal, copy, fingerprint))
    return clips


def _files(goal: Goal, folder: Path, copies: Sequence[Copy]) -> Iterator[tuple[Copy | None, Path]]:
    source = folder / f"{goal.name}.mp4"
    if not source.exists():
        draw(goal, source)
    yield None, source
    for number, copy in enumerate(copies):
        path = folder / f"{goal.name}-{number}.mp4"
        yield copy, path if path.exists() else make_copy(source, copy, path)


def table(tallies: dict[Style, Tally]) -> str:
    head = ["| copies | " + " | ".join(tallies) + " | goal |", "| --- " * (len(tallies) + 2) + "|"]
    kinds = list(dict.fromkeys(copy.kind for copy in COPIES))
    rows = [_row(kind, [f"{each.recall(kind):.2f}" for each in tallies.values()], _goal(kind)) for kind in kinds]
    totals = [
        _row("**precision**", [f"{each.precision:.3f}" for each in tallies.values()], f"≥ {LEAST_PRECISION}"),
        _row("goals of one match merged", [f"{t.merged_goals} of {t.of_goals}" for t in tallies.values()], "0"),
        _row("matches merged", [f"{t.merged_matches} of {t.pairs - t.of_goals}" for t in tallies.values()], ""),
    ]
    return "\n".join([*head, *rows, *totals])


def _row(title: str, cells: Sequence[str], goal: str) -> str:
    return f"| {title} | {' | '.join(cells)} | {goal} |"


def _goal(kind: str) -> str:
    return f"≥ {GOALS[kind]:.2f}" if kind in GOALS else ""


def write_page(text: str) -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--matches", type=int, default=4)
    options.add_argument("--first", type=int, default=200, help="match; the rules were chosen on those below 200")
    options.add_argument("--goals", type=int, default=4, help="of each match")
    options.add_argument("--copied", type=int, default=2, help="goals of each match that copies are made of")
    options.add_argument("--page", action="store_true", help="write the tables into the documentation")
    given = options.parse_args()
    goals = [
        Goal(match, number)
        for match in range(given.first, given.first + given.matches)
        for number in range(given.goals)
    ]
    with tempfile.TemporaryDirectory() as folder:
        clips = {style: asyncio.run(take(goals, given.copied, style, Path(folder))) for style in Style}
    tallies = {style: judge(each) for style, each in clips.items()}
    counted = f"{given.matches} matches, {given.goals} goals of each, {len(clips[Style.DENSE])} clips"
    if given.page:
        write_page(f"Recall of each kind of copy; {counted}.\n\n{table(tallies)}")
    figures: dict[str, float | str] = {"clips": counted}
    for style, tally in tallies.items():
        figures |= {f"{style}: recall, {kind}": tally.recall(kind) for kind in tally.found}
        figures |= {f"{style}: precision": tally.precision, f"{style}: merged goals of one match": tally.merged_goals}
        figures[f"{style}: merged matches"] = tally.merged_matches
    report("fingerprint_quality", figures)


if __name__ == "__main__":
    main()
