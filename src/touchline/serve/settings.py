"""Settings of the serve plane."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import ByteSize, Duration, Field, Section

SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)
GIB = 1024**3


class ServeSettings(Section):
    largest_upload: ByteSize = Field(default=ByteSize(50 * GIB), ge=1)
    """The largest file that can be uploaded."""

    stored_quota: ByteSize = Field(default=ByteSize(1024 * GIB), ge=0)
    """How much one tenant may store. What was refused or deleted does not count."""

    concurrent_uploads: int = Field(default=50, ge=0)
    """How many uploads one tenant may have under way at once."""

    abandon_after: Duration = Field(default=DAY, ge=SECOND)
    """When an upload ends for which nobody asked for addresses any more; its parts are freed."""

    completion_time: Duration = Field(default=8 * MINUTE, ge=SECOND)
    """How long completing an upload may take: to put it together, read it and look at it."""

    placing_time: Duration = Field(default=10 * MINUTE, ge=SECOND)
    """How long a registered upload may be without its artifact before it counts as failed."""

    parts_per_call: int = Field(default=100, ge=1, le=1000)
    """For how many parts one call gives addresses."""

    inspections: int = Field(default=2, ge=1, le=64)
    """How many completed uploads a process inspects at once. Each takes up to its size on the disk meanwhile."""

    retention: Duration = Field(default=30 * DAY, ge=SECOND)
    """How long an artifact is kept, counted from when it is finished; a clip from when it is asked for."""

    longest_clip: Duration = Field(default=10 * MINUTE, ge=SECOND)
    """How long a clip may be, without its padding."""

    clip_padding: Duration = Field(default=2 * SECOND, ge=timedelta())
    """How much more a clip shows before and behind what was asked for, when nobody says."""

    concurrent_clips: int = Field(default=100, ge=0)
    """How many clips of one tenant may wait to be cut at once."""

    most_per_pass: int = Field(default=100, ge=1)
    """How many overdue uploads one pass of their owner ends or continues, and how many clips one pass deletes."""

    retry_delay: Duration = Field(default=5 * MINUTE, ge=SECOND)
    """When the owner looks again at an upload that it could not end."""

    purge_after: Duration = Field(default=30 * DAY, ge=SECOND)
    """How long a deleted artifact is kept before everything of it is deleted for good."""

    scan_interval: Duration = Field(default=5 * MINUTE, ge=SECOND)
    """How often the bucket is compared with the tables."""

    scan_settle: Duration = Field(default=5 * MINUTE, ge=timedelta(0))
    """How long an object must have been as it is before the scanner touches it."""

    scan_most: int = Field(default=1000, ge=1)
    """How many objects one pass of the scanner takes in, and how many missing originals it reports."""

    bucket_owner: str = ""
    """The slug or id of the tenant that owns objects which name none. Without it: the oldest tenant."""

    node_heartbeat: Duration = Field(default=5 * SECOND, ge=SECOND)
    """How often a node has to report."""

    node_gone_after: Duration = Field(default=20 * SECOND, ge=SECOND)
    """How long a node may be silent before it counts as gone."""
