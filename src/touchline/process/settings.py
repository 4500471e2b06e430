"""Settings that all kinds of jobs share."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from touchline.contracts.settings import ByteSize, Duration, Field, Section
from touchline.media.engines.model import ReaderName

GIB = 1024**3


class ProcessSettings(Section):
    scratch: Path | None = None
    """Where files lie while they are worked on. Without it: the folder `scratch` in the data folder."""

    largest_original: ByteSize = Field(default=ByteSize(100 * GIB), ge=1)
    """The largest original that is worked on. It is copied to this machine first."""

    uploads_at_once: int = Field(default=2, ge=1, le=32)
    """How many files of one job go to the object store at the same time."""

    pipeline_logs: bool = False
    """Whether each job that ended is written to `logs/pipeline/{job_id}.json` in the bucket, with all its attempts."""

    purge_second_look: Duration = Field(default=timedelta(minutes=10), ge=timedelta(0))
    """When a purged video's objects are looked for once more. Longer than `worker.lease`: by then nobody writes any."""

    history_kept: Duration = Field(default=timedelta(days=30), ge=timedelta(0))
    """How long the history of a finished job is kept. The job itself stays as long as its video."""

    sample_fps: float = Field(default=10, gt=0, le=240)
    """How many pictures of a second of video are looked at for text. Fewer cost less, and times become coarser."""

    ocr_engine: ReaderName = ReaderName.RAPIDOCR
    """Who reads the text in pictures. RapidOCR needs nothing more and reads Latin letters, Chinese and Japanese;
    Tesseract needs the data of each language, and reads the others in any case."""

    ocr_languages: tuple[str, ...] = Field(default=("eng",), min_length=1, max_length=8)
    """The languages of the text in videos, by the names that Tesseract gives them."""
