"""A sample of what bench/fingerprint_quality.py measures: copies are found, other goals of the match are not."""

from __future__ import annotations

from pathlib import Path

from bench.support.copies import COPIES, make_copy
from bench.support.scenes import Goal, draw
from touchline.media.fingerprint.comparison import compare
from touchline.media.fingerprint.model import Style, Way
from touchline.media.fingerprint.service import take_fingerprint
from touchline.media.sandbox import Sandbox

CAREFUL = Way(Style.CAREFUL)
SAMPLE = {("re-encode", "150k"), ("letterbox", "pillars"), ("crop", "7 %"), ("mirrored", "left is right")}
PATHS = {0, 2}  # goals with nearly the same path of the camera


async def test_copies_and_another_goal(sandbox: Sandbox, tmp_path: Path) -> None:
    goal, another = (draw(Goal(1, number, seconds=5), tmp_path / f"{number}.mp4") for number in sorted(PATHS))
    source = await take_fingerprint(sandbox, goal, way=CAREFUL)
    assert not compare(source, await take_fingerprint(sandbox, another, way=CAREFUL)).match
    copies = [copy for copy in COPIES if (copy.kind, copy.name) in SAMPLE]
    assert len(copies) == len(SAMPLE)
    for number, copy in enumerate(copies):
        path = make_copy(goal, copy, tmp_path / f"copy-{number}.mp4")
        found = compare(source, await take_fingerprint(sandbox, path, way=CAREFUL))
        assert (found.match, found.offset_ms, found.mirrored) == (True, 0, copy.kind == "mirrored"), copy.name
