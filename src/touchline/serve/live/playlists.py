"""The playlists of a live stream: low-latency HLS (RFC 8216 and its second edition), and which file a name means. Pure.

Invariants: sequence numbers only rise, and a number means the same segment for ever. No part is longer than the target
that the playlist names. A delta update leaves out only what the player must have seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from touchline.kernel import InvalidInput

MASTER, LIVE, POSTER = "index.m3u8", "live.m3u8", "poster.jpg"
SHOWN_PARTS = 3  # target durations from the end in which parts are listed
SKIP_FROM = 6  # target durations from the end, before which a delta update may leave segments out
HOLD_BACK = 3  # times the part target
MOST_AHEAD = 2  # segments that a player may wait for
_FILE = re.compile(r"(init|segment|part)_([0-9]{1,15})(?:_([0-9]{1,6}))?\.(?:mp4|m4s)", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,15}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part:
    offset: int
    size: int
    duration: timedelta
    independent: bool


@dataclass(slots=True)
class Segment:
    """Open until it is closed: parts are added, nothing else changes."""

    sequence: int
    init: int
    starts_at: datetime
    follows_break: bool
    parts: list[Part] = field(default_factory=list[Part])
    is_closed: bool = False

    @property
    def duration(self) -> timedelta:
        return sum((part.duration for part in self.parts), timedelta())

    @property
    def ends_at(self) -> datetime:
        return self.starts_at + self.duration

    @property
    def size(self) -> int:
        return self.parts[-1].offset + self.parts[-1].size if self.parts else 0


@dataclass(frozen=True, slots=True)
class WindowView:
    """What a playlist is written of, oldest segment first; only the last one may be open."""

    segments: Sequence[Segment]
    target: timedelta  # no segment was ever longer, rounded
    part_target: timedelta
    breaks_before: int  # discontinuities that have left the window
    has_ended: bool

    @property
    def next_part(self) -> tuple[int, int]:
        """Which one does not exist yet: the number of its segment, and its own in there."""
        if not self.segments:
            return 0, 0
        last = self.segments[-1]
        return (last.sequence + 1, 0) if last.is_closed else (last.sequence, len(last.parts))


# Names.


@dataclass(frozen=True, slots=True)
class FileName:
    kind: str  # init, segment or part
    number: int
    part: int = -1


def file_of(name: str) -> FileName | None:
    match = _FILE.fullmatch(name)
    if not match or (match[1] == "part") != (match[3] is not None) or name.endswith(".mp4") != (match[1] == "init"):
        return None
    return FileName(match[1], int(match[2]), int(match[3]) if match[3] else -1)


def init_name(number: int) -> str:
    return f"init_{number}.mp4"


def segment_name(sequence: int) -> str:
    return f"segment_{sequence}.m4s"


def part_name(sequence: int, part: int) -> str:
    return f"part_{sequence}_{part}.m4s"


# Requests.


@dataclass(frozen=True, slots=True)
class Reload:
    """What a player waits for, and whether it knows the older segments already."""

    sequence: int | None = None
    part: int | None = None
    skip: bool = False


def parse_reload(query: dict[str, list[str]]) -> Reload:
    """InvalidInput: not what the protocol allows."""
    sequence, part = (_number(query, name) for name in ("_HLS_msn", "_HLS_part"))
    if part is not None and sequence is None:
        raise InvalidInput("a part needs its segment", field="_HLS_part", why="`_HLS_msn` is missing")
    return Reload(sequence, part, query.get("_HLS_skip", [""])[0] in ("YES", "v2"))


def _number(query: dict[str, list[str]], name: str) -> int | None:
    text = query.get(name, [""])[0]
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        raise InvalidInput("not a number of a segment or part", field=name)
    return int(text)


def is_there(view: WindowView, wanted: Reload) -> bool:
    """Whether the playlist has what the player waits for. InvalidInput: it is too far ahead to wait for."""
    if wanted.sequence is None or view.has_ended:
        return True
    sequence, part = view.next_part
    if wanted.sequence > sequence + MOST_AHEAD:
        raise InvalidInput("this segment is too far ahead", field="_HLS_msn", why=f"the next one is {sequence}")
    if wanted.part is None:
        return wanted.sequence < sequence
    return (wanted.sequence, wanted.part) < (sequence, part)


# Texts.


@dataclass(frozen=True, slots=True)
class Variant:
    """What the master playlist says of the only one."""

    width: int
    height: int
    codecs: str
    bits_per_second: int
    frames_per_second: float


def master_playlist(variant: Variant) -> str:
    attributes = [f"BANDWIDTH={max(variant.bits_per_second, 1)}", f'CODECS="{variant.codecs}"']
    attributes += [f"RESOLUTION={variant.width}x{variant.height}"]
    if variant.frames_per_second > 0:
        attributes.append(f"FRAME-RATE={variant.frames_per_second:.3f}")
    lines = ["#EXTM3U", "#EXT-X-VERSION:9", "#EXT-X-INDEPENDENT-SEGMENTS"]
    return "\n".join([*lines, f"#EXT-X-STREAM-INF:{','.join(attributes)}", LIVE, ""])


def live_playlist(view: WindowView, *, skip: bool = False) -> str:
    skipped = _skippable(view) if skip else 0
    lines = [*_head(view, skipped), *_segments(view, skipped)]
    if view.has_ended:
        lines.append("#EXT-X-ENDLIST")
    else:
        lines.append(f'#EXT-X-PRELOAD-HINT:TYPE=PART,URI="{part_name(*view.next_part)}"')
    return "\n".join([*lines, ""])


def _head(view: WindowView, skipped: int) -> Iterator[str]:
    target = round_up(view.target)
    hold_back = HOLD_BACK * view.part_target.total_seconds()
    yield from ("#EXTM3U", "#EXT-X-VERSION:9", f"#EXT-X-TARGETDURATION:{target}", "#EXT-X-INDEPENDENT-SEGMENTS")
    yield (
        f"#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL={SKIP_FROM * target:.1f},"
        f"PART-HOLD-BACK={hold_back:.3f},HOLD-BACK={HOLD_BACK * target:.1f}"
    )
    yield f"#EXT-X-PART-INF:PART-TARGET={view.part_target.total_seconds():.3f}"
    yield f"#EXT-X-MEDIA-SEQUENCE:{view.segments[0].sequence if view.segments else 0}"
    yield f"#EXT-X-DISCONTINUITY-SEQUENCE:{view.breaks_before}"
    if skipped:
        yield f"#EXT-X-SKIP:SKIPPED-SEGMENTS={skipped}"


def _skippable(view: WindowView) -> int:
    """Older than the border, counted from the end of the playlist."""
    left, border = timedelta(), SKIP_FROM * timedelta(seconds=round_up(view.target))
    for number in range(len(view.segments) - 1, -1, -1):
        left += view.segments[number].duration
        if left > border:
            return number
    return 0


def _segments(view: WindowView, skipped: int) -> Iterator[str]:
    shown = SHOWN_PARTS * timedelta(seconds=round_up(view.target))
    ends_at = view.segments[-1].ends_at if view.segments else None
    init: int | None = None
    for segment in view.segments[skipped:]:
        if segment.follows_break:
            yield "#EXT-X-DISCONTINUITY"
        if segment.init != init:
            init = segment.init
            yield f'#EXT-X-MAP:URI="{init_name(init)}"'
        if segment.parts:
            yield f"#EXT-X-PROGRAM-DATE-TIME:{_date(segment.starts_at)}"
        if not segment.is_closed or (ends_at is not None and ends_at - segment.ends_at < shown):
            yield from _parts(segment)
        if segment.is_closed:
            yield f"#EXTINF:{segment.duration.total_seconds():.6f},"
            yield segment_name(segment.sequence)


def _parts(segment: Segment) -> Iterator[str]:
    for number, part in enumerate(segment.parts):
        independent = ",INDEPENDENT=YES" if part.independent else ""
        name = part_name(segment.sequence, number)
        yield f'#EXT-X-PART:DURATION={part.duration.total_seconds():.6f},URI="{name}"{independent}'


def _date(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def round_up(duration: timedelta) -> int:
    """Whole seconds, of which no segment may have more when it is rounded."""
    return max(1, int(duration.total_seconds() + 0.5))
