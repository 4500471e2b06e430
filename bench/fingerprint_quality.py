"""How well fingerprints tell copies from other videos, for both styles, on drawn matches.

Every copy is compared with every source. A pair of a copy and its own source that is not found lowers the recall of its
kind; any other pair that is found is a wrong merge. The tables go into docs/reference/fingerprint.md. The rules were
chosen on matches below 400 and from 500 to 539: measure on others.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from support.copies import COPIES, GOALS, Copy, make_copy
from support.report import report
from support.scenes import LIKE, STILL, Goal, draw

from touchline.media.fingerprint.comparison import CAREFUL_RULE, compare
from touchline.media.fingerprint.model import Fingerprint, Style, Way
from touchline.media.fingerprint.service import take_fingerprint
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "fingerprint.md"
BEGIN, END = "<!-- Written by bench/fingerprint_quality.py: begin -->", "<!-- end -->"
LEAST_PRECISION = 0.99
MOST_EVIDENCE = 1 << 12  # more than any of these clips has
OTHER_GOAL, SAME_PATH, SAME_PLACE = "goals of one match", "nearly the same path of the camera", "the same still camera"
OTHER_MATCH = "goals of other matches"
LEGEND = (
    "Recall of each kind of copy; {}. `evidence`: that of the weakest copy, or of the\n"
    "strongest pair that shows different things, in careful fingerprints; "
    f"{CAREFUL_RULE.least_evidence} bits make a match, 0 is no row of near pictures."
)
WRONG = (OTHER_GOAL, SAME_PATH, SAME_PLACE, OTHER_MATCH)


@dataclass(frozen=True)
class Clip:
    goal: Goal
    copy: Copy | None  # none: the source itself
    fingerprint: Fingerprint


@dataclass
class Tally:
    """What one style made of all pairs."""

    found: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))  # by the kind of the copy
    merged: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))  # by what the goals share
    least: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: MOST_EVIDENCE))
    most: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def precision(self) -> float:
        right = sum(sum(found) for found in self.found.values())
        return right / max(1, right + sum(sum(merged) for merged in self.merged.values()))

    def recall(self, kind: str) -> float:
        return sum(self.found[kind]) / len(self.found[kind])


def judge(clips: Sequence[Clip]) -> Tally:
    tally = Tally()
    for clip in clips:
        for source in (each for each in clips if each.copy is None and each is not clip):
            match = compare(source.fingerprint, clip.fingerprint).match
            shown = evidence(source.fingerprint, clip.fingerprint)
            if clip.goal == source.goal and clip.copy:
                tally.found[clip.copy.kind].append(match)
                tally.least[clip.copy.kind] = min(tally.least[clip.copy.kind], shown)
            else:
                shared = _shared(clip.goal, source.goal)
                tally.merged[shared].append(match)
                tally.most[shared] = max(tally.most[shared], shown)
    return tally


def evidence(first: Fingerprint, second: Fingerprint) -> int:
    """The most that a careful rule could ask for and still find them; 0 for dense ones, which have no evidence."""
    low, high = 0, MOST_EVIDENCE if first.style is Style.CAREFUL else 0
    while low < high:
        middle = (low + high + 1) // 2
        found = compare(first, second, replace(CAREFUL_RULE, least_evidence=middle)).match
        low, high = (middle, high) if found else (low, middle - 1)
    return low


def _shared(one: Goal, other: Goal) -> str:
    if one.match != other.match:
        return OTHER_MATCH
    numbers = {one.number, other.number}
    if numbers <= STILL:
        return SAME_PLACE
    return SAME_PATH if any({number, model} == numbers for number, model in LIKE.items()) else OTHER_GOAL


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
    careful = tallies[Style.CAREFUL]
    head = [_row("copies", [*tallies, "goal", "evidence"]), _row("---", ["---"] * (len(tallies) + 2))]
    kinds = list(dict.fromkeys(copy.kind for copy in COPIES))
    rows = [_row(kind, [*_recalls(tallies, kind), _goal(kind), f"≥ {careful.least[kind]}"]) for kind in kinds]
    precisions = [f"{each.precision:.3f}" for each in tallies.values()]
    rows.append(_row("**precision**", [*precisions, f"≥ {LEAST_PRECISION}", ""]))
    for shared in WRONG:
        merged = [f"{sum(each.merged[shared])} of {len(each.merged[shared])}" for each in tallies.values()]
        rows.append(_row(f"merged: {shared}", [*merged, "0", f"≤ {careful.most[shared]}"]))
    return "\n".join([*head, *rows])


def _recalls(tallies: dict[Style, Tally], kind: str) -> list[str]:
    return [f"{each.recall(kind):.2f}" for each in tallies.values()]


def _row(title: str, cells: Sequence[str]) -> str:
    return f"| {title} | {' | '.join(cells)} |"


def _goal(kind: str) -> str:
    return f"≥ {GOALS[kind]:.2f}" if kind in GOALS else ""


def write_page(text: str) -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--matches", type=int, default=6)
    options.add_argument(
        "--first", type=int, default=400, help="match; the rules were chosen on others, below 400 and from 500 on"
    )
    options.add_argument("--goals", type=int, default=5, help="of each match")
    options.add_argument("--copied", type=int, default=2, help="goals of each match that copies are made of")
    options.add_argument("--folder", type=Path, help="keep the clips here, so that another run need not draw them")
    options.add_argument("--page", action="store_true", help="write the tables into the documentation")
    given = options.parse_args()
    goals = [
        Goal(match, number)
        for match in range(given.first, given.first + given.matches)
        for number in range(given.goals)
    ]
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        clips = {style: asyncio.run(take(goals, given.copied, style, folder)) for style in Style}
    tallies = {style: judge(each) for style, each in clips.items()}
    counted = f"{given.matches} matches, {given.goals} goals of each, {len(clips[Style.DENSE])} clips"
    if given.page:
        write_page(f"{LEGEND.format(counted)}\n\n{table(tallies)}")
    figures: dict[str, float | str] = {"clips": counted}
    for style, tally in tallies.items():
        figures |= {f"{style}: recall, {kind}": tally.recall(kind) for kind in tally.found}
        figures |= {f"{style}: merged, {shared}": sum(merged) for shared, merged in tally.merged.items()}
        figures[f"{style}: precision"] = tally.precision
    careful = tallies[Style.CAREFUL]
    figures |= {f"careful: least evidence, {kind}": least for kind, least in careful.least.items()}
    figures |= {f"careful: most evidence, {shared}": most for shared, most in careful.most.items()}
    report("fingerprint_quality", figures)


if __name__ == "__main__":
    main()
