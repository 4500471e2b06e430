"""What a job of each type carries. The fields are a contract with everybody who enqueues, by psql too.

Invariant: validated when a job is enqueued and again when it is claimed; unknown fields are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from touchline.kernel.errors import InvalidInput
from touchline.platform.objects.keys import object_key

from .model import JobType

ORIGINALS = "videos/original"
CLIPS = "videos/clips"


def _checked_key(text: str) -> str:
    try:
        return object_key(text)
    except InvalidInput as error:
        raise ValueError(str(error)) from error


def _checked_text(text: str) -> str:
    """As the database takes it."""
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("it holds a zero or half of a character")
    return text


Key = Annotated[str, AfterValidator(_checked_key)]
Text = Annotated[str, AfterValidator(_checked_text), Field(max_length=100)]
Milliseconds = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class JobPayload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    job_type: ClassVar[JobType]
    video_id: UUID


class OriginalPayload(JobPayload):
    """A job that reads the original. It reads this video's and no other."""

    s3_original_path: Key

    @model_validator(mode="after")
    def _own_original(self) -> OriginalPayload:
        path, video = self.s3_original_path, str(self.video_id)
        if path.startswith(f"{ORIGINALS}/{video}/") or (self.is_clip and path.endswith(f"/{video}.mp4")):
            return self
        raise ValueError(f"s3_original_path is not under {ORIGINALS}/{video}/, nor the file of this clip")

    @property
    def is_clip(self) -> bool:
        """The original of a clip is what was cut; it lies with the other clips of its source."""
        return self.s3_original_path.startswith(f"{CLIPS}/")


class TranscodePayload(OriginalPayload):
    job_type: ClassVar[JobType] = JobType.TRANSCODE


class SamplePayload(OriginalPayload):
    job_type: ClassVar[JobType] = JobType.SAMPLE
    target_fps: Annotated[float, Field(gt=0, le=240)] = 10
    dedupe_threshold: Share = 0.95


class OcrPayload(JobPayload):
    job_type: ClassVar[JobType] = JobType.OCR
    frame_paths: tuple[Key, ...]
    languages: Annotated[tuple[Text, ...], Field(min_length=1)] = ("eng",)
    min_confidence: Share = 0.6


class SegmentIndexPayload(JobPayload):
    job_type: ClassVar[JobType] = JobType.SEGMENT_INDEX


class ClipGeneratePayload(OriginalPayload):
    job_type: ClassVar[JobType] = JobType.CLIP_GENERATE
    clip_id: UUID
    t_start: Milliseconds
    t_end: Milliseconds
    padding_ms: Milliseconds = 2000

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> ClipGeneratePayload:
        if self.t_end <= self.t_start:
            raise ValueError("t_end is not after t_start")
        return self


PAYLOADS: dict[JobType, type[JobPayload]] = {
    payload.job_type: payload
    for payload in (TranscodePayload, SamplePayload, OcrPayload, SegmentIndexPayload, ClipGeneratePayload)
}


def parse_payload(job_type: JobType, document: Mapping[str, Any]) -> JobPayload:
    try:
        return PAYLOADS[job_type].model_validate(document)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, e['loc'])) or 'payload'}: {e['msg']}" for e in error.errors(include_url=False))
        raise InvalidInput(f"not a payload of {job_type}", field="payload", why="; ".join(problems)) from error
