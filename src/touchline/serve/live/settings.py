"""Settings of the live streams of a node."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from touchline.contracts.settings import ByteSize, Duration, Field, Section

SECOND = timedelta(seconds=1)
GIB = 1024**3


class SecondPublisher(StrEnum):
    REFUSE = "refuse"
    REPLACE = "replace"


class LiveSettings(Section):
    window: Duration = Field(default=timedelta(hours=2), ge=10 * SECOND)
    """How far viewers can go back in a live stream."""

    window_budget: ByteSize = Field(default=ByteSize(20 * GIB), ge=64 * 1024**2)
    """The most space that the windows of all live streams of a node may use. Beyond it the oldest segments are
    deleted."""

    segment: Duration = Field(default=2 * SECOND, ge=SECOND)
    """The length of a segment. One ends with the next keyframe after it."""

    part: Duration = Field(default=timedelta(milliseconds=500), ge=timedelta(milliseconds=100))
    """The length of the parts by which players get a segment before it is complete."""

    keyframe_gap: Duration = Field(default=10 * SECOND, ge=SECOND)
    """The longest time between two keyframes. A publisher that exceeds it is refused."""

    reconnect_time: Duration = Field(default=10 * SECOND, ge=timedelta(0))
    """A publisher that comes back within this time continues the same session."""

    stall_time: Duration = Field(default=20 * SECOND, ge=SECOND)
    """A publisher from whom no video arrives for this long is disconnected."""

    second_publisher: SecondPublisher = SecondPublisher.REFUSE
    """What happens to a second publisher of a stream that is live: `refuse` it, or `replace` the first one."""

    kept_after_end: Duration = Field(default=timedelta(minutes=1), ge=timedelta(0))
    """How long the window of a stream stays after its end, so that players reach it."""

    poster_interval: Duration = Field(default=5 * SECOND, ge=SECOND)
    """How often the poster of a live stream is made again."""

    max_streams: int = Field(default=100, ge=1)
    """The maximum number of streams that one node takes at once."""
