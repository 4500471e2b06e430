"""Which object a name under an artifact stands for, and what it is. Pure.

Invariant: no name leaves the artifact's own prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from touchline.contracts.artifacts import ViewerNode
from touchline.kernel import ArtifactHash, NotFound, Unavailable, video_id
from touchline.media.model import POSTER_WIDTHS, smaller_poster
from touchline.process.sampling.rules import PICTURE_TYPE, frame_key
from touchline.process.videos.queries import FrameName
from touchline.serve.playback import files

_FRAME = re.compile(r"frames/(0|[1-9][0-9]{0,8})/((?:0|[1-9][0-9]{0,14})\.jpg)", re.ASCII)


@dataclass(frozen=True, slots=True)
class File:
    key: str
    content_type: str
    cache_control: str
    download_name: str = ""  # it is taken away, not shown


def frame_name(frame: FrameName) -> str:
    return f"frames/{frame.attempt}/{frame.timestamp_ms}.jpg"


def frame_of(name: str, artifact_hash: ArtifactHash) -> File | None:
    """A sampled picture of this artifact; None for the name of anything else."""
    match = _FRAME.fullmatch(name)
    key = match and frame_key(video_id(artifact_hash), int(match[1]), match[2])
    return File(key, PICTURE_TYPE, files.IMMUTABLE_CACHE) if key else None


@dataclass(frozen=True, slots=True)
class Keys:
    """Where the named parts of an artifact lie; everything else is in the folder of its manifest."""

    manifest: str
    poster: str
    clip: str = ""


def file_of(name: str, keys: Keys, title: str = "") -> File:
    content_type = files.content_type_of(name)
    if content_type is None:
        raise files.no_such_file()
    return File(
        _key(name, keys),
        content_type,
        files.cache_control_of(name),
        f"{title or 'clip'}.mp4" if name == files.CLIP else "",
    )


def narrower(poster: File, width: int) -> File | None:
    """The poster at least so wide, of those that are made; None where only the poster itself is."""
    made = next((each for each in POSTER_WIDTHS if each >= width), None)
    return replace(poster, key=smaller_poster(poster.key, made)) if made else None


def _key(name: str, keys: Keys) -> str:
    named = {files.MANIFEST: keys.manifest, files.POSTER: keys.poster, files.CLIP: keys.clip}
    key = named.get(name, f"{keys.manifest.rpartition('/')[0]}/{name}")
    if not key:
        raise files.no_such_file()
    return key


def file_is_gone() -> NotFound:
    hint = "Ask an administrator to check which files are missing with `touchline scan` and `touchline doctor`."
    return NotFound("the file of this video is missing", why="the object store no longer has it", hint=hint)


def file_is_unreadable() -> Unavailable:
    hint = "Try again. If it keeps failing, ask an administrator to check the object store with `touchline doctor`."
    return Unavailable(
        "the file of this video cannot be read", why="the object store lists the file, but cannot read it", hint=hint
    )


# --- Where a viewer plays.


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    node_id: str | None  # None: the gateway itself
    base_url: str
    url: str


def endpoint_addresses(nodes: Sequence[ViewerNode], gateway_url: str, path: str) -> list[EndpointAddress]:
    """The nodes that have a copy, the best one first, and the gateway behind them: it streams from wherever the bytes
    are. All send the same signed path."""
    places = [(node.node_id, node.base_url.rstrip("/")) for node in nodes]
    return [EndpointAddress(node_id, base, f"{base}{path}") for node_id, base in (*places, (None, gateway_url))]
