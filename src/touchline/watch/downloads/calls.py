"""How DownloadWorkflow calls its activities. The first video of a run goes before everything, and what is nearer to the
archive first: who is begun is ended.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from touchline.watch.calls import Call

from .messages import Arrived, Hashed, Judged, Registered

SECOND = timedelta(seconds=1)
HEARTBEAT = 60 * SECOND

DOWNLOAD_SINGLE_VIDEO = Call(
    "download_single_video", Arrived, within=90 * SECOND, attempts=3, first_pause=2 * SECOND, heavy=True
)
VALIDATE_VIDEO_IS_SOCCER = Call(
    "validate_video_is_soccer", Judged, within=90 * SECOND, attempts=4, heartbeat=HEARTBEAT, heavy=True, urgency=5
)
GENERATE_VIDEO_HASH = Call(
    "generate_video_hash", Hashed, within=300 * SECOND, attempts=2, heartbeat=HEARTBEAT, heavy=True, urgency=4
)
VALIDATE_FIRST, HASH_FIRST = replace(VALIDATE_VIDEO_IS_SOCCER, urgency=2), replace(GENERATE_VIDEO_HASH, urgency=1)
QUEUE_VIDEOS_FOR_UPLOAD = Call("queue_videos_for_upload", bool, within=30 * SECOND, attempts=5, near=True)
CLEANUP_DOWNLOAD_TEMP = Call("cleanup_download_temp", int, within=30 * SECOND, attempts=2, near=True)
REGISTER_DOWNLOAD = Call("register_download", Registered, within=30 * SECOND, attempts=5, near=True)
