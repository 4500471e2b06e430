"""Readings of single pictures written shortly, and back again. Pure.

Invariant: nothing is lost: what is unfolded is what was folded, but for the order of regions in a picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from touchline.process.segments.model import Detection, Frame

from .model import Run, Seen


def with_next(frames: Sequence[Frame], at_ms: int, seen: Sequence[Seen]) -> list[Frame]:
    """The pictures so far and another one. A reader may name a text later than it came: it stands in those before too,
    back to the one that it began with, or to one that says the same there."""
    before = list(frames)
    for each in seen:
        place = len(before) - 1
        while place >= 0 and before[place].at_ms >= each.since_ms and not _says(before[place], each.detection):
            before[place] = Frame(before[place].at_ms, [*before[place].detections, each.detection])
            place -= 1
    return [*before, Frame(at_ms, [each.detection for each in seen])]


def _says(frame: Frame, detection: Detection) -> bool:
    return any(each.text == detection.text and each.box.shared(detection.box) for each in frame.detections)


def folded(frames: Iterable[Frame]) -> Iterator[Run]:
    """In the order in which they end. A region that is told twice in one picture is one."""
    standing: dict[Detection, tuple[int, int]] = {}
    for frame in frames:
        now: dict[Detection, tuple[int, int]] = {}
        for detection in frame.detections:
            first_ms, _ = standing.get(detection, (frame.at_ms, 0))
            now[detection] = first_ms, frame.at_ms
        yield from _runs({each: times for each, times in standing.items() if each not in now})
        standing = now
    yield from _runs(standing)


def unfolded(times: Iterable[int], runs: Iterable[Run]) -> Iterator[Frame]:
    """Every picture with what was read in it, also those without text."""
    waiting = sorted(runs, key=lambda run: run.first_ms, reverse=True)
    standing: list[Run] = []
    for at_ms in times:
        standing = [run for run in standing if run.last_ms >= at_ms]
        while waiting and waiting[-1].first_ms <= at_ms:
            standing.append(waiting.pop())
        yield Frame(at_ms, [run.detection for run in standing])


def rests(times: Sequence[int], number: int, every_ms: int) -> bool:
    """Whether pictures are missing behind this one, because they were the same."""
    return number + 1 == len(times) or times[number + 1] - times[number] > every_ms * 3 // 2


def _runs(standing: dict[Detection, tuple[int, int]]) -> Iterator[Run]:
    return (Run(first_ms, last_ms, detection) for detection, (first_ms, last_ms) in standing.items())
