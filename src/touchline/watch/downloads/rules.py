"""What a failure means for a found video, which videos are kept, and what belongs together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Literal

from touchline.kernel import backoff, errors
from touchline.watch.model import FoundRef, GoalRef

# What can go wrong on the way to a video, each with its own rule for trying again (see `downloads/rules.py`).
# InvalidInput
# ├── RefusedAddress      we do not go there
# └── Malformed           what came is no video, or no document
# Forbidden
# ├── AccessForbidden     403
# └── Blocked             not shown in this country, or taken down by law
# NotFound
# ├── Gone                404, or the post says that it was removed
# └── NoVideo             the post has none, or none that can be fetched as a file
# LimitExceeded
# ├── TooLarge
# ├── TooLong             by what the network says of it: it is not fetched at all
# └── TooSmall            empty, or too little for a video
# RateLimited
# └── Busy                429
# Unavailable
# ├── CutOff              fewer bytes than were promised
# └── NoAnswer            no connection, or the server failed
# DeadlineExceeded
# └── TooSlow             no end in time, or hardly any bytes


class DownloadFailure(errors.TouchlineError):
    """`reason` is kept with the found video."""

    reason: ClassVar[str]


class RefusedAddress(errors.InvalidInput, DownloadFailure):
    reason = "refused_address"
    next_step = "Add the host to `downloads.allow_hosts` if it is yours."


class Malformed(errors.InvalidInput, DownloadFailure):
    reason = "malformed"


class AccessForbidden(errors.Forbidden, DownloadFailure):
    reason = "forbidden"


class Blocked(errors.Forbidden, DownloadFailure):
    reason = "blocked"


class Gone(errors.NotFound, DownloadFailure):
    reason = "gone"


class NoVideo(errors.NotFound, DownloadFailure):
    reason = "no_video"


class TooLarge(errors.LimitExceeded, DownloadFailure):
    reason = "too_large"


class TooLong(errors.LimitExceeded, DownloadFailure):
    reason = "too_long"


class TooSmall(errors.LimitExceeded, DownloadFailure):
    reason = "too_small"
    retryable = True  # a file that is still being written looks like that


class Busy(errors.RateLimited, DownloadFailure):
    reason = "busy"


class CutOff(errors.Unavailable, DownloadFailure):
    reason = "cut_off"


class NoAnswer(errors.Unavailable, DownloadFailure):
    reason = "no_answer"


class TooSlow(errors.DeadlineExceeded, DownloadFailure):
    reason = "timed_out"


FAILURES: tuple[type[DownloadFailure], ...] = (
    RefusedAddress, Malformed, AccessForbidden, Blocked, Gone, NoVideo, TooLarge, TooLong, TooSmall, Busy, CutOff,
    NoAnswer, TooSlow,
)  # fmt: skip


# What is known of a video on its way from a post into the object store.


@dataclass(frozen=True, slots=True)
class MediaFile:
    """Where a found video's file is, and how long the network says it is."""

    url: str
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Of the file, by our own look at it."""

    md5: str
    size_bytes: int
    duration_ms: int
    width: int  # as seen
    height: int
    bit_rate: int


@dataclass(frozen=True, slots=True)
class Filters:
    shortest_ms: int
    longest_ms: int
    least_short_side: int
    least_aspect: float


@dataclass(frozen=True, slots=True)
class Ending:
    """What became of a video that is not there."""

    state: Literal["rejected", "failed"]
    why: str
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A found video as its row has it."""

    goal: GoalRef  # the living one
    video: FoundRef
    url: str
    state: str
    why: str | None
    tries: int  # how often it was chosen
    last_try: str | None
    incoming_key: str | None
    facts: FileFacts | None
    verified: bool | None
    fingerprint: str | None

    @property
    def has_file(self) -> bool:
        return self.state == "downloaded" and self.incoming_key is not None and self.facts is not None


LONGEST_PAUSE = timedelta(minutes=15)
LONGEST_MOMENT = timedelta(seconds=10)
LONGEST_WHY = 300
ROUNDING_MS = 1000


@dataclass(frozen=True, slots=True)
class Rule:
    at_once: bool  # trying again in the same step may help
    later: timedelta | None  # before this time it is not worth another download; None: never
    runs: int = 1  # that may end like this before the video is given up for good
    other_way: bool = False  # the second way may know the post nevertheless


MINUTE = timedelta(minutes=1)
RULES: dict[type[DownloadFailure], Rule] = {
    RefusedAddress: Rule(at_once=False, later=None),
    Malformed: Rule(at_once=False, later=MINUTE, runs=2, other_way=True),
    AccessForbidden: Rule(at_once=False, later=5 * MINUTE, runs=3, other_way=True),
    Blocked: Rule(at_once=False, later=None),
    Gone: Rule(at_once=False, later=2 * MINUTE, runs=2, other_way=True),  # a CDN may know a new file a little later
    NoVideo: Rule(at_once=False, later=None, other_way=True),
    TooLarge: Rule(at_once=False, later=None),
    TooLong: Rule(at_once=False, later=None),
    TooSmall: Rule(at_once=True, later=MINUTE, runs=3),
    Busy: Rule(at_once=True, later=2 * MINUTE, runs=10, other_way=True),
    CutOff: Rule(at_once=True, later=MINUTE, runs=5),
    NoAnswer: Rule(at_once=True, later=MINUTE, runs=10, other_way=True),
    TooSlow: Rule(at_once=True, later=2 * MINUTE, runs=3),
}


def rule_of(failure: DownloadFailure) -> Rule:
    return RULES[type(failure)]


def is_worth_a_moment(failure: DownloadFailure) -> bool:
    """Whether to try again in the same step; a service that asks for a long wait is tried again in another run."""
    asked = failure.retry_after if isinstance(failure, errors.RateLimited) else None
    return rule_of(failure).at_once and (asked or timedelta(0)) <= LONGEST_MOMENT


def after_failure(failure: DownloadFailure, runs: int, now: datetime) -> Ending:
    """`runs`: how often this video was chosen to be downloaded. Rejected is for good, failed may be tried again."""
    rule, why = rule_of(failure), explained(failure.reason, str(failure))
    if rule.later is None or runs >= rule.runs:
        return Ending("rejected", why)
    asked = failure.retry_after if isinstance(failure, errors.RateLimited) else None
    return Ending("failed", why, now + max(rule.later, asked or rule.later))


def explained(code: str, details: str) -> str:
    return f"{code}: {details}"[:LONGEST_WHY]


def rejection(facts: FileFacts, filters: Filters) -> str | None:
    """Why a video is not kept; None when it is."""
    seconds = facts.duration_ms / 1000
    if facts.duration_ms <= filters.shortest_ms:
        return explained("too_short", f"{seconds:.1f} s")
    if facts.duration_ms > filters.longest_ms:
        return explained("too_long", f"{seconds:.1f} s")
    if min(facts.width, facts.height) < filters.least_short_side:
        return explained("too_few_pixels", f"{facts.width} x {facts.height}")
    if facts.width < filters.least_aspect * facts.height:
        return explained("wrong_shape", f"{facts.width} x {facts.height}")
    return None


def require_length(declared_ms: int | None, filters: Filters) -> None:
    """Before anything is fetched. What the network says may be off by a little; the file itself is measured later."""
    if declared_ms is not None and declared_ms > filters.longest_ms + ROUNDING_MS:
        allowed = f"{filters.longest_ms / 1000:g} s are allowed"
        raise TooLong("the video is too long", why=f"{declared_ms / 1000:.1f} s; {allowed}")


def bit_rate(size_bytes: int, duration_ms: int) -> int:
    return size_bytes * 8 * 1000 // duration_ms if duration_ms > 0 else 0


def grouped(arrived: Iterable[tuple[FoundRef, str]]) -> list[list[FoundRef]]:
    """Those with the same bytes together, in the order of their arrival: the first one's file stands for all."""
    groups: dict[str, list[FoundRef]] = {}
    for video, md5 in arrived:
        groups.setdefault(md5, []).append(video)
    return list(groups.values())


def pause(rounds: int, first: timedelta) -> timedelta:
    """Before the next round of asking an engine that was away: so often that a day's history stays short."""
    return backoff(first, rounds, max(first, LONGEST_PAUSE))


def batch_id(run_id: str, number: int) -> str:
    """The first hand-over of a run has its name; what came later, or had to wait for an engine, follows in others."""
    return run_id if number == 1 else f"{run_id}/{number}"


def incoming_key(folder: str, video: FoundRef) -> str:
    return f"{incoming_folder(folder)}/{video.post_id}-{video.video_index}.mp4"


def incoming_folder(folder: str) -> str:
    return f"watch/incoming/{folder}"


def orphaned(keys: Sequence[str], still_needed: Iterable[str]) -> list[str]:
    """Files that nobody needs: one may stand for several videos."""
    needed = set(still_needed)
    return [key for key in dict.fromkeys(keys) if key not in needed]
