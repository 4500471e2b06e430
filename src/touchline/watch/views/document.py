"""A goal as one document: the feed's own fields, ours with an underscore before them. Pure."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from .model import Goal, GoalDocument, Video, ViewLimits
from .rules import show, telemetry


def document(goal: Goal, rest: GoalDocument, limits: ViewLimits) -> dict[str, object]:
    shown, sets = show(goal, limits), rest.sets
    return {
        **{name: value for name, value in rest.raw.items() if not name.startswith("_")},
        "_event_id": goal.event_id,
        "_generation": goal.generation,
        "_fixture_id": goal.fixture_id,
        "_first_seen": goal.first_seen.isoformat(),
        "_monitor_workflows": sets["monitor_workflows"],
        "_monitor_count": len(sets["monitor_workflows"]),
        "_monitor_complete": goal.monitor_complete,
        "_twitter_aliases": sets["twitter_aliases"],
        "_twitter_attempt": goal.twitter_attempt,
        "_twitter_count": len(sets["download_workflows"]),
        "_twitter_complete": goal.download_complete,
        "_discovered_videos": [_plain(dict(one)) for one in rest.discovered],
        "_download_started": sets["download_started"],
        "_download_workflows": sets["download_workflows"],
        "_download_complete": goal.download_complete,
        "_s3_videos": [_video(goal, video) for video in goal.videos],
        "_removed": False,  # one that was taken away has no document
        "_score": {"home": goal.home_score, "away": goal.away_score},
        "_state": shown.state,
        "_words": shown.words,
        "_why": [asdict(reason) for reason in shown.why],
        "_outcome": goal.outcome,
        "_telemetry": _plain(asdict(telemetry(goal))),
        "_revision": goal.revision,
    }


def video_path(goal: Goal, artifact_hash: str) -> str:
    """Stays the same whatever replaces the video."""
    return f"/goals/{goal.event_id}/videos/{artifact_hash}"


def _video(goal: Goal, video: Video) -> dict[str, Any]:
    shown = _plain(asdict(video))
    return {"url": video_path(goal, video.artifact_hash), "file_size": shown.pop("size_bytes"), **shown}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}
