"""How the UploadWorkflow calls its activities."""

from __future__ import annotations

from datetime import timedelta

from touchline.watch.calls import Call

from .messages import BatchEnd, ByContent, EventData, Plan, Uploaded, Written

SECONDS_15, SECONDS_30, MINUTE = timedelta(seconds=15), timedelta(seconds=30), timedelta(seconds=60)
TO_STORE = timedelta(seconds=2)

FETCH_EVENT_DATA = Call("fetch_event_data", EventData, SECONDS_30, attempts=3, near=True)
DEDUPLICATE_BY_MD5 = Call("deduplicate_by_md5", ByContent, SECONDS_30, attempts=2, near=True)
DEDUPLICATE_VIDEOS = Call("deduplicate_videos", Plan, MINUTE, attempts=3, near=True)
BUMP_VIDEO_POPULARITY = Call("bump_video_popularity", Written, SECONDS_15, attempts=2, near=True)
UPLOAD_SINGLE_VIDEO = Call("upload_single_video", Uploaded, MINUTE, attempts=3, first_pause=TO_STORE, backoff=1.5)
SAVE_VIDEO_OBJECTS = Call("save_video_objects", Written, SECONDS_30, attempts=3, near=True)
REPLACE_S3_VIDEO = Call("replace_s3_video", Written, SECONDS_30, attempts=3, near=True)
RECALCULATE_VIDEO_RANKS = Call("recalculate_video_ranks", BatchEnd, SECONDS_30, attempts=2, near=True)
CLEANUP_INDIVIDUAL_FILES = Call("cleanup_individual_files", int, SECONDS_30, attempts=2, near=True)
RESUME_UPLOADS = Call("resume_uploads", int, SECONDS_30, attempts=1)  # the next look at the matches calls it again
