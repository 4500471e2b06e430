"""Which videos of a goal are the same, which copy is the best, and in which order they are shown. Pure.

Invariants: whatever order videos come in, the same of them are one; popularity is only ever added up; the kept copy is
never shorter than 85 % of the longest that was ever seen of it, and among those it is the largest that was at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import Enum, auto
from functools import lru_cache
from itertools import combinations
from typing import TypeAlias
from uuid import UUID, uuid5

from touchline.kernel import ArtifactHash, TenantId, artifact_hash
from touchline.media.errors import InvalidFingerprint
from touchline.media.fingerprint.comparison import compare
from touchline.media.fingerprint.formats import from_text
from touchline.media.fingerprint.model import LEAST_RUN, Fingerprint, Style
from touchline.watch.model import FoundRef, GoalRef

# Videos as the archive compares them, and what comparing them decides.
# Invariant: only plain values; nothing here knows where bytes or rows are.


class CopyState(Enum):
    KEPT = auto()  # stands in the archive
    PAST = auto()  # was taken in before; another one may stand for it
    FRESH = auto()  # waits to be archived, its bytes are at hand


@dataclass(frozen=True, slots=True)
class Copy:
    """One video, as far as it can be the same as another one."""

    name: str
    standing: CopyState
    md5: str
    verified: bool
    size_bytes: int
    duration_ms: int
    fingerprint: str
    kept_as: str | None = None  # of what is not fresh: the artifact that stands for it
    popularity: int = 0  # how often it was found: of a kept one with all that it stands for


@dataclass(frozen=True, slots=True)
class Cluster:
    """Copies that show the same, and the best of those whose bytes are there."""

    best: Copy | None  # none: its content was dropped before, and does not come back
    fresh: tuple[Copy, ...]
    replaced: tuple[str, ...]  # artifacts that gave way to the best
    popularity: int
    verified: bool


Alike: TypeAlias = Callable[[str, str], bool]  # whether two fingerprints show the same


@dataclass(frozen=True, slots=True)
class WaitingVideo:
    """A found video that waits to be archived."""

    ref: FoundRef
    url: str
    incoming_key: str
    md5: str
    size_bytes: int
    duration_ms: int
    width: int
    height: int
    bit_rate: int | None
    verified: bool | None  # none: nobody has looked at it
    clock: str | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class GoalFactsForTitle:
    """What a goal's videos are called, and how long they are kept."""

    goal: GoalRef
    kick_off: datetime
    home_name: str
    away_name: str
    home_score: int
    away_score: int
    player_name: str | None
    minute: int
    extra: int | None


@dataclass(frozen=True, slots=True)
class ArchivedVideo:
    """A row of the archive."""

    artifact_hash: str
    goal: GoalRef
    object_key: str
    md5: str
    size_bytes: int
    pinned: bool
    revision: int


NAMESPACE = UUID("0d7a3a52-55c8-4a0e-8f5e-2d9a1f0c6b44")
WITHIN_PERCENT = 85  # of the longer one: durations that count as the same
CONTENT_TYPE = "video/mp4"
DAY = timedelta(days=1)


def clusters(copies: Sequence[Copy], alike: Alike) -> list[Cluster]:
    """Of all that a goal has, those in which something is to be done: something fresh, or two that are kept."""
    groups = _joined(copies, alike)
    found = [_cluster(group) for group in groups]
    return [each for each in found if each.fresh or each.replaced]


def _joined(copies: Sequence[Copy], alike: Alike) -> list[list[Copy]]:
    """Equal bytes first, then what is known to belong together, then what looks alike within one scope."""
    groups = _Groups(len(copies))
    groups.join_equal([copy.md5 for copy in copies])
    groups.join_equal([copy.kept_as or f"fresh {place}" for place, copy in enumerate(copies)])
    verified = {copy.md5 for copy in copies if copy.verified}
    distinct = {copy.md5: place for place, copy in enumerate(copies)}.values()
    for one, other in combinations(distinct, 2):
        if groups.are_joined(one, other) or (copies[one].md5 in verified) != (copies[other].md5 in verified):
            continue
        if alike(copies[one].fingerprint, copies[other].fingerprint):
            groups.join(one, other)
    return [[copies[place] for place in group] for group in groups.all()]


def _cluster(group: Sequence[Copy]) -> Cluster:
    best = best_copy(group)
    kept = [copy for copy in group if copy.standing is CopyState.KEPT]
    fresh = tuple(copy for copy in group if copy.standing is CopyState.FRESH)
    replaced = tuple(copy.name for copy in kept if copy != best)
    popularity = sum(copy.popularity for copy in (*kept, *fresh))
    verified = any(copy.verified for copy in group if best and copy.md5 == best.md5)
    return Cluster(best, fresh, replaced, popularity, verified)


def best_copy(group: Sequence[Copy]) -> Copy | None:
    """As good as the longest ever seen, then the largest file; among equals the one that is kept, so that nobody's link
    changes for nothing. What gave way once does not come back."""
    known = {copy.md5 for copy in group if copy.standing is not CopyState.FRESH}
    at_hand = [copy for copy in group if copy.standing is CopyState.KEPT or _is_new(copy, known)]
    scoped = [copy for copy in at_hand if copy.verified] or at_hand
    longest = max(copy.duration_ms for copy in group)
    long_enough = [copy for copy in scoped if are_same_length(copy.duration_ms, longest)]
    if long_enough:
        return min(long_enough, key=lambda copy: (-copy.size_bytes, -copy.duration_ms, *_among_equals(copy)))
    return min(scoped, key=lambda copy: (-copy.duration_ms, -copy.size_bytes, *_among_equals(copy)), default=None)


def _among_equals(copy: Copy) -> tuple[bool, str, str]:
    return copy.standing is not CopyState.KEPT, copy.md5, copy.name


def _is_new(copy: Copy, known: Collection[str]) -> bool:
    return copy.standing is CopyState.FRESH and copy.md5 not in known


def are_same_length(first_ms: int, second_ms: int) -> bool:
    return min(first_ms, second_ms) * 100 >= max(first_ms, second_ms) * WITHIN_PERCENT


def ranked(kept: Iterable[Copy]) -> list[Copy]:
    """The best first."""
    return sorted(kept, key=lambda copy: (not copy.verified, -copy.popularity, -copy.size_bytes, copy.name))


def what_is_missing(found: WaitingVideo) -> str | None:
    """Of a video that is to be compared; none: nothing."""
    facts = {
        "bytes": found.md5 and found.size_bytes,
        "length": found.duration_ms,
        "picture": found.width and found.height,
        "fingerprint": found.fingerprint,
        "validation": found.verified is not None,
    }
    missing = [name for name, value in facts.items() if not value]
    return f"without {', '.join(missing)}" if missing else None


def archived_as(tenant_id: TenantId, goal: GoalRef, md5: str) -> ArtifactHash:
    """Computed, so that whoever comes after a death goes on with the same."""
    return artifact_hash(uuid5(NAMESPACE, f"{tenant_id}\n{goal.event_id}\n{goal.generation}\n{md5}"))


def object_key(goal: GoalRef, md5: str) -> str:
    return f"watch/videos/{goal.folder}/{md5}.mp4"


def file_name(goal: GoalRef, md5: str) -> str:
    return f"{goal.name}-{md5[:8]}.mp4"


def title(facts: GoalFactsForTitle) -> str:
    minute = f"{facts.minute}+{facts.extra}'" if facts.extra else f"{facts.minute}'"
    score = f"{facts.home_name} {facts.home_score}-{facts.away_score} {facts.away_name}"
    return f"{score}, {facts.player_name or 'unknown'} {minute}"


def kept_until(kick_off: datetime, retention: timedelta) -> datetime:
    """Counted from the end of the day of the match, as long as the match itself is kept."""
    return datetime.combine(kick_off.astimezone(UTC).date(), time(), UTC) + DAY + retention


class _Groups:
    """Places that were joined, directly or by way of others."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))

    def join_equal(self, values: Sequence[str]) -> None:
        first: dict[str, int] = {}
        for place, value in enumerate(values):
            self.join(first.setdefault(value, place), place)

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self._root(one), self._root(other)))
        self._parents[second] = first

    def are_joined(self, one: int, other: int) -> bool:
        return self._root(one) == self._root(other)

    def all(self) -> list[list[int]]:
        groups: dict[int, list[int]] = {}
        for place in range(len(self._parents)):
            groups.setdefault(self._root(place), []).append(place)
        return list(groups.values())

    def _root(self, place: int) -> int:
        while self._parents[place] != place:
            self._parents[place] = self._parents[self._parents[place]]
            place = self._parents[place]
        return place


# Whether two stored fingerprints show the same.
# A stored text has one fingerprint a line: the dense one, by the rule that others use too, and perhaps the careful
# one, which tells two goals apart that one camera shows alike. Where both videos have a careful one that says
# something, it decides; else the dense ones do.

KEPT_IN_MEMORY = 1024  # read fingerprints, of about 4 kB each


def alike(first: str, second: str) -> bool:
    return _alike(*sorted((first, second)))


def checked(text: str) -> str:
    """The text, if it can be compared with any other."""
    if Style.DENSE not in _read(text):
        raise InvalidFingerprint("this fingerprint cannot be compared with others", why="it has no dense fingerprint")
    return text


@lru_cache(maxsize=4 * KEPT_IN_MEMORY)
def _alike(first: str, second: str) -> bool:
    """Kept: what was compared to plan a batch is compared again when it is written."""
    one, other = _read(first), _read(second)
    style = Style.CAREFUL if _is_informative(one) and _is_informative(other) else Style.DENSE
    return compare(one[style], other[style]).match


def _is_informative(read: dict[Style, Fingerprint]) -> bool:
    return Style.CAREFUL in read and read[Style.CAREFUL].informative >= LEAST_RUN


@lru_cache(maxsize=KEPT_IN_MEMORY)
def _read(text: str) -> dict[Style, Fingerprint]:
    return {each.style: each for each in map(from_text, text.splitlines())}
