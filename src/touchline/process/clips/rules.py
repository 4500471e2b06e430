"""Where a clip lies, what is written beside it, and how far its job is. Pure.

Invariant: a clip's key names the clip, and what a clip shows follows from its source and range. So whoever finds the
object may take it, whichever attempt wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from enum import Enum
from uuid import UUID

from touchline.kernel.errors import Conflict
from touchline.media.clip_model import Cut, Method
from touchline.platform.objects.keys import ObjectKey, join_key

CONTENT_TYPE = "video/mp4"
CUT = "cut"  # the name of what is written beside the object


class Stage(Enum):
    """The share of the whole that a part of the work takes, in percent: from, to."""

    FETCH = (0, 40)
    CUT = (40, 90)
    STORED = (90, 99)

    def percent(self, share: float) -> int:
        start, stop = self.value
        return int(start + (stop - start) * min(max(share, 0.0), 1.0))


def clip_key(video_id: UUID, clip_id: UUID) -> ObjectKey:
    return join_key("videos", "clips", str(video_id), f"{clip_id}.mp4")


def metadata_of(cut: Cut) -> dict[str, str]:
    return {CUT: json.dumps(asdict(cut))}


def cut_of(metadata: Mapping[str, str]) -> Cut:
    """As it was written beside the object by whoever stored it."""
    try:
        known = json.loads(metadata[CUT])
        return Cut(**known | {"method": Method(known["method"])})
    except (KeyError, TypeError, ValueError) as error:
        raise Conflict("something else lies where the clip belongs", why="it does not say what it shows") from error
