from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from touchline.kernel import InvalidInput
from touchline.process.queue.jobs import PAYLOADS, JobType, TranscodePayload, parse_payload

VIDEO = "a1b2c3d4-e5f6-7890-abcd-ef1234567890"
ORIGINAL = f"videos/original/{VIDEO}/master.mp4"
CLIP = {
    "video_id": VIDEO,
    "clip_id": "0a1b2c3d-e5f6-7890-abcd-ef1234567890",
    "t_start": 1500,
    "t_end": 3000,
    "padding_ms": 2000,
    "s3_original_path": ORIGINAL,
}

# The examples of the contract, word by word.
EXAMPLES: dict[JobType, dict[str, Any]] = {
    JobType.TRANSCODE: {"video_id": VIDEO, "s3_original_path": ORIGINAL},
    JobType.SAMPLE: {"video_id": VIDEO, "s3_original_path": ORIGINAL, "target_fps": 10, "dedupe_threshold": 0.95},
    JobType.OCR: {
        "video_id": VIDEO,
        "frame_paths": [f"frames/{VIDEO}/1500.jpg", f"frames/{VIDEO}/1600.jpg"],
        "languages": ["eng"],
        "min_confidence": 0.6,
    },
    JobType.SEGMENT_INDEX: {"video_id": VIDEO},
    JobType.CLIP_GENERATE: CLIP,
}


def test_every_type_has_its_payload() -> None:
    assert set(PAYLOADS) == set(JobType) == set(EXAMPLES)


@pytest.mark.parametrize("job_type", JobType)
def test_the_examples_of_the_contract_come_back_as_they_were(job_type: JobType) -> None:
    payload = parse_payload(job_type, EXAMPLES[job_type])
    assert payload.job_type is job_type
    assert payload.video_id == UUID(VIDEO)
    assert payload.model_dump(mode="json") == EXAMPLES[job_type]


@pytest.mark.parametrize("job_type", JobType)
def test_an_unknown_field_and_a_missing_video_are_refused(job_type: JobType) -> None:
    with pytest.raises(InvalidInput, match="surprise"):
        parse_payload(job_type, EXAMPLES[job_type] | {"surprise": 1})
    with pytest.raises(InvalidInput, match="video_id"):
        parse_payload(job_type, {name: value for name, value in EXAMPLES[job_type].items() if name != "video_id"})


@pytest.mark.parametrize(
    ("case", "job_type", "changes"),
    [
        ("another video's original", JobType.TRANSCODE, {"s3_original_path": f"videos/original/{VIDEO[::-1]}/x.mp4"}),
        ("another clip's file", JobType.TRANSCODE, {"s3_original_path": f"videos/clips/{VIDEO}/{VIDEO[::-1]}.mp4"}),
        ("a path upwards", JobType.TRANSCODE, {"s3_original_path": f"videos/original/{VIDEO}/../x.mp4"}),
        ("no path at all", JobType.TRANSCODE, {"s3_original_path": ""}),
        ("a number for a path", JobType.TRANSCODE, {"s3_original_path": 7}),
        ("no video id", JobType.TRANSCODE, {"video_id": "clip-xyz-123"}),
        ("no frames a second", JobType.SAMPLE, {"target_fps": 0}),
        ("a share over one", JobType.SAMPLE, {"dedupe_threshold": 1.5}),
        ("no language", JobType.OCR, {"languages": []}),
        ("a clip that ends before it starts", JobType.CLIP_GENERATE, {"t_end": 1500}),
        ("a clip before the beginning", JobType.CLIP_GENERATE, {"t_start": -1}),
    ],
)
def test_what_makes_no_sense_is_refused(case: str, job_type: JobType, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        parse_payload(job_type, EXAMPLES[job_type] | changes)


def test_the_original_of_a_clip_is_its_own_file() -> None:
    clip = parse_payload(JobType.TRANSCODE, {"video_id": VIDEO, "s3_original_path": f"videos/clips/0a/{VIDEO}.mp4"})
    upload = parse_payload(JobType.TRANSCODE, EXAMPLES[JobType.TRANSCODE])
    assert isinstance(clip, TranscodePayload)
    assert isinstance(upload, TranscodePayload)
    assert (clip.is_clip, upload.is_clip) == (True, False)


def test_the_defaults_of_the_contract() -> None:
    sample = parse_payload(JobType.SAMPLE, {"video_id": VIDEO, "s3_original_path": ORIGINAL})
    assert sample.model_dump()["target_fps"] == 10
    assert sample.model_dump()["dedupe_threshold"] == 0.95
    clip = parse_payload(JobType.CLIP_GENERATE, {name: CLIP[name] for name in CLIP if name != "padding_ms"})
    assert clip.model_dump()["padding_ms"] == 2000
