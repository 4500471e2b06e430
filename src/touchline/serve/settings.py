"""Settings of the serve plane."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from touchline.contracts.settings import ByteSize, Duration, Field, Section

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
GIB = 1024**3


class ColdPlayback(StrEnum):
    STREAM = "stream"
    WARM = "warm"


class ServeSettings(Section):
    largest_upload: ByteSize = Field(default=ByteSize(50 * GIB), ge=1)
    """The largest file that can be uploaded."""

    stored_quota: ByteSize = Field(default=ByteSize(1024 * GIB), ge=0)
    """The storage quota of one tenant. Refused and deleted files do not count."""

    concurrent_uploads: int = Field(default=50, ge=0)
    """The maximum number of open uploads of one tenant."""

    abandon_after: Duration = Field(default=DAY, ge=SECOND)
    """An upload without activity for this long is cancelled, and its parts are deleted."""

    completion_time: Duration = Field(default=8 * MINUTE, ge=SECOND)
    """How long it may take to complete an upload: to assemble, read and probe it."""

    placing_time: Duration = Field(default=10 * MINUTE, ge=SECOND)
    """How long a registered upload may have no artifact before it counts as failed."""

    parts_per_call: int = Field(default=100, ge=1, le=1000)
    """The maximum number of parts for which one call returns upload URLs."""

    inspections: int = Field(default=2, ge=1, le=64)
    """How many uploads one process inspects at once. Each needs up to its size in temporary disk space."""

    retention: Duration = Field(default=30 * DAY, ge=SECOND)
    """How long an artifact is kept if neither its request nor its tenant sets it. Counted from when it is finished,
    for a recording from its end, for a clip from the request."""

    most_streams: int = Field(default=1000, ge=0)
    """The maximum number of streams of one tenant."""

    longest_clip: Duration = Field(default=10 * MINUTE, ge=SECOND)
    """The maximum length of a clip, without padding."""

    clip_padding: Duration = Field(default=2 * SECOND, ge=timedelta())
    """The default padding: extra time before and after the requested range of a clip."""

    concurrent_clips: int = Field(default=100, ge=0)
    """The maximum number of clips of one tenant that wait to be cut."""

    most_per_pass: int = Field(default=100, ge=1)
    """How many overdue uploads one periodic pass ends or continues."""

    retry_delay: Duration = Field(default=5 * MINUTE, ge=SECOND)
    """The delay before an upload that could not be ended is tried again."""

    purge_after: Duration = Field(default=30 * DAY, ge=SECOND)
    """How long a deleted artifact can be restored before its data is purged."""

    retention_interval: Duration = Field(default=HOUR, ge=SECOND)
    """How often expired artifacts are deleted."""

    retention_limit: int = Field(default=1000, ge=1)
    """How many artifacts retention deletes in one interval at most, on all machines together: a clock that jumps must
    not empty the archive."""

    purge_interval: Duration = Field(default=DAY, ge=SECOND)
    """How often deleted artifacts are purged, and old records removed."""

    purge_limit: int = Field(default=5000, ge=1)
    """How many artifacts are purged, and how many are forgotten, in one interval at most."""

    audit_period: Duration = Field(default=90 * DAY, ge=timedelta(0))
    """How long the records and the history of a purged artifact are kept."""

    processing_deadline: Duration = Field(default=7 * DAY, ge=SECOND)
    """After this long without a report of its processing, an artifact counts as failed. A report brings it back."""

    scan_interval: Duration = Field(default=5 * MINUTE, ge=SECOND)
    """How often the bucket is compared with the tables."""

    scan_settle: Duration = Field(default=5 * MINUTE, ge=timedelta(0))
    """How long an object must be unchanged before the scanner imports it."""

    scan_most: int = Field(default=1000, ge=1)
    """How many objects one scan imports, and how many missing originals it reports."""

    bucket_owner: str = ""
    """The slug or id of the tenant that owns objects without a tenant in their metadata. Default: the oldest tenant."""

    node_heartbeat: Duration = Field(default=5 * SECOND, ge=SECOND)
    """How often a node must report."""

    node_gone_after: Duration = Field(default=20 * SECOND, ge=SECOND)
    """How long a node may send no report before it counts as offline."""

    node_inventory: Duration = Field(default=5 * MINUTE, ge=SECOND)
    """How often a node reports a list of all its copies."""

    live_gone_after: Duration = Field(default=15 * SECOND, ge=SECOND)
    """How long a node may not report a live stream before the stream counts as ended. The stream continues if the node
    reports it again."""

    live_check: Duration = Field(default=3 * SECOND, ge=SECOND)
    """How often live streams are checked for nodes that do not report."""

    cold_playback: ColdPlayback = ColdPlayback.STREAM
    """What a viewer of a video in cold storage gets: `stream` plays it from the object store while a node fetches it,
    `warm` asks the viewer to come back when a node has it."""

    warming_retry: Duration = Field(default=5 * SECOND, ge=SECOND)
    """How long a viewer waits before trying again to play a video from cold storage."""

    transfer_time: Duration = Field(default=60 * MINUTE, ge=SECOND)
    """How long a node may take to freeze or fetch one artifact before it is stopped and tried again."""

    delete_time: Duration = Field(default=60 * MINUTE, ge=SECOND)
    """How long a request to delete a copy may stay unanswered before it is sent again."""

    evict_above: float = Field(default=0.85, gt=0, le=1)
    """The share of a node's budget above which it gives up copies."""

    evict_until: float = Field(default=0.70, ge=0, le=1)
    """The share of a node's budget at which it stops giving up copies."""

    recording_silence: Duration = Field(default=MINUTE, ge=SECOND)
    """How long a recording goes on without its publisher, or without a sign of its node, before it ends."""

    recording_interval: Duration = Field(default=5 * SECOND, ge=SECOND)
    """How often recordings are checked: whether they have ended, and which live streams are to be recorded."""

    live_window: Duration = Field(default=2 * HOUR, ge=SECOND)
    """How far back clips of a live stream may reach where it is not recorded: as far as nodes can rewind it."""

    live_clip_time: Duration = Field(default=2 * MINUTE, ge=SECOND)
    """How long a node may take to cut a clip of a live stream before the clip counts as failed."""

    command_history: Duration = Field(default=7 * DAY, ge=SECOND)
    """How long commands to nodes are kept after they ended."""

    share_link_lifetime: Duration = Field(default=7 * DAY, ge=MINUTE)
    """How long a share link is valid by default."""

    longest_share_link: Duration = Field(default=365 * DAY, ge=MINUTE)
    """The longest time that a share link may be valid."""

    share_links_per_artifact: int = Field(default=100, ge=0)
    """The maximum number of valid share links of one video."""
