"""Where the objects of a video lie. Pure."""

from __future__ import annotations

from uuid import UUID

from touchline.platform.objects.keys import ObjectKey, join_key

FOLDERS = (("videos", "proxy"), ("videos", "clips"), ("frames",), ("thumbs",))  # the original is not this plane's


def prefixes(video_id: UUID) -> list[ObjectKey]:
    return [join_key(*folder, str(video_id)) for folder in FOLDERS]
