"""What a goal's video is called and where it lives as an artifact. Pure."""

from __future__ import annotations

from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.events.watch import GoalVideoKept
from touchline.kernel.ids import ArtifactHash, parse_artifact_hash
from touchline.serve.artifacts.model import NewArtifact
from touchline.serve.registry.model import NewUpload, Upload
from touchline.serve.registry.rules import LONGEST_TITLE
from touchline.serve.uploads.names import file_kind, is_plain, original_key, valid_file_name


def hash_of(kept: GoalVideoKept) -> ArtifactHash:
    return parse_artifact_hash(kept.artifact_hash)


def home(kept: GoalVideoKept) -> str:
    """Where the originals of all artifacts lie, since whoever processes a video reads its own folder only."""
    return original_key(hash_of(kept), file_kind(kept.file_name))


def new_upload(kept: GoalVideoKept, corrected: str | None) -> NewUpload:
    """With the title that it has by now, if it got another one meanwhile."""
    name = valid_file_name(kept.file_name)
    title = corrected or shown_title(kept.title) or name
    return NewUpload(f"watch:{kept.artifact_hash}", name, kept.size_bytes, title)


def shown_title(title: str) -> str:
    """Names come from a feed: what does not print is left out."""
    return " ".join("".join(letter if is_plain(letter) else " " for letter in title).split())[:LONGEST_TITLE].strip()


def new_artifact(kept: GoalVideoKept, upload: Upload) -> NewArtifact:
    return NewArtifact(
        artifact_hash=upload.artifact_hash,
        artifact_type=ArtifactType.UPLOAD,
        internal_name=upload.internal_name,
        user_id=upload.user_id,
        original_key=home(kept),
        content_type=file_kind(kept.file_name).content_type,
        size_bytes=kept.size_bytes,
        retention_until=kept.retention_until,
    )
