"""Which videos of a goal are the same, which copy is the best, and in which order they are shown. Pure.

Invariants: whatever order videos come in, the same of them are one; popularity is only ever added up; the kept copy is
never shorter than 85 % of the longest that was ever seen of it, and among those it is the largest that was at hand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, time, timedelta
from itertools import combinations
from uuid import UUID, uuid5

from touchline.kernel import TenantId
from touchline.kernel.ids import ArtifactHash, artifact_hash
from touchline.watch.model import GoalRef

from .model import Alike, Cluster, Copy, Facts, FoundVideo, Standing

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
    kept = [copy for copy in group if copy.standing is Standing.KEPT]
    fresh = tuple(copy for copy in group if copy.standing is Standing.FRESH)
    replaced = tuple(copy.name for copy in kept if copy != best)
    popularity = sum(copy.popularity for copy in (*kept, *fresh))
    verified = any(copy.verified for copy in group if best and copy.md5 == best.md5)
    return Cluster(best, fresh, replaced, popularity, verified)


def best_copy(group: Sequence[Copy]) -> Copy | None:
    """As good as the longest ever seen, then the largest file; among equals the one that is kept, so that nobody's link
    changes for nothing. What gave way once does not come back."""
    known = {copy.md5 for copy in group if copy.standing is not Standing.FRESH}
    at_hand = [copy for copy in group if copy.standing is Standing.KEPT or _is_new(copy, known)]
    scoped = [copy for copy in at_hand if copy.verified] or at_hand
    longest = max(copy.duration_ms for copy in group)
    long_enough = [copy for copy in scoped if are_same_length(copy.duration_ms, longest)]
    if long_enough:
        return min(long_enough, key=lambda copy: (-copy.size_bytes, -copy.duration_ms, *_among_equals(copy)))
    return min(scoped, key=lambda copy: (-copy.duration_ms, -copy.size_bytes, *_among_equals(copy)), default=None)


def _among_equals(copy: Copy) -> tuple[bool, str, str]:
    return copy.standing is not Standing.KEPT, copy.md5, copy.name


def _is_new(copy: Copy, known: Collection[str]) -> bool:
    return copy.standing is Standing.FRESH and copy.md5 not in known


def are_same_length(first_ms: int, second_ms: int) -> bool:
    return min(first_ms, second_ms) * 100 >= max(first_ms, second_ms) * WITHIN_PERCENT


def ranked(kept: Iterable[Copy]) -> list[Copy]:
    """The best first."""
    return sorted(kept, key=lambda copy: (not copy.verified, -copy.popularity, -copy.size_bytes, copy.name))


def what_is_missing(found: FoundVideo) -> str | None:
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


def title(facts: Facts) -> str:
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
