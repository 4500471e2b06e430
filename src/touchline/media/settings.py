"""Settings of the media kit: what a child may use, and what is accepted as a video."""

from __future__ import annotations

import os
from datetime import timedelta

from touchline.contracts.settings import ByteSize, Duration, Field, Section
from touchline.media.child.order import ChildLimits, Options
from touchline.media.fingerprint.style import Style

MIB = 1024**2
GIB = 1024**3
SECOND = timedelta(seconds=1)
MOST_THREADS = 16  # more do not make one video faster
WALL_FACTOR, SHORTEST_WALL = 10, timedelta(minutes=10)  # by the clock: so many times the processor time, and at least


class MediaSettings(Section):
    require_isolation: bool = False
    """Refuse to open any video unless the sandbox isolates completely. If false, it isolates as far as this machine
    allows."""

    sandbox_user_id: int = Field(default=65533, ge=1, le=2**31 - 1)
    """The user id of the processes that open videos. Nothing else should run under it. It needs no user name."""

    threads: int = Field(default=0, ge=0, le=MOST_THREADS)
    """The number of threads that decode and encode one video; 0: one per core."""

    memory: ByteSize = Field(default=ByteSize(2 * GIB), ge=512 * MIB)
    """The memory limit (address space) of a process that opens a video."""

    processes: int = Field(default=256, ge=32, le=32768)
    """The maximum number of threads of all processes with the user id of the sandbox."""

    largest_file: ByteSize = Field(default=ByteSize(2 * GIB), ge=MIB)
    """The largest output file of a video, like a segment."""

    largest_output: ByteSize = Field(default=ByteSize(64 * GIB), ge=MIB)
    """The largest total size of all output files of one video."""

    largest_picture: int = Field(default=36_000_000, ge=1_000_000, le=2**30)
    """The most pixels that a frame may have. The default allows 8K."""

    longest_video: Duration = Field(default=timedelta(hours=24), ge=SECOND)
    """The longest video that is accepted."""

    most_streams: int = Field(default=32, ge=1, le=1000)
    """The most streams that a file may have: video, audio, subtitles and others."""

    segment_duration: Duration = Field(default=4 * SECOND, ge=SECOND, le=20 * SECOND)
    """The target length of an HLS segment. Segments of copied video end at a keyframe."""

    longest_keyframe_gap: Duration = Field(default=20 * SECOND, ge=SECOND)
    """Videos whose keyframes are further apart are encoded again, because a segment starts with a keyframe."""

    poster_width: int = Field(default=1280, ge=64, le=4096)
    """The greatest width of a poster."""

    probe_time: Duration = Field(default=30 * SECOND, ge=SECOND)
    """The limit of CPU time per thread to probe a video. A busy machine does not shorten it."""

    poster_time: Duration = Field(default=timedelta(minutes=2), ge=SECOND)
    """The limit of CPU time per thread to make a poster."""

    storyboard_time: Duration = Field(default=timedelta(minutes=30), ge=SECOND)
    """The limit of CPU time per thread to make the storyboard (the thumbnails of the seek bar)."""

    fingerprint_style: Style = Style.DENSE
    """The style of fingerprints: `dense` for all frames, or `careful` for motion, which tells goals of one match
    apart."""

    fingerprint_time: Duration = Field(default=timedelta(hours=2), ge=SECOND)
    """The limit of CPU time per thread to fingerprint a video, or to take single frames of it."""

    packaging_time: Duration = Field(default=timedelta(hours=6), ge=SECOND)
    """The limit of CPU time per thread to make HLS of a video."""

    sampling_time: Duration = Field(default=timedelta(hours=6), ge=SECOND)
    """The limit of CPU time per thread to sample the frames of a video."""

    clip_time: Duration = Field(default=timedelta(hours=1), ge=SECOND)
    """The limit of CPU time per thread to cut a clip that is recorded completely."""

    engine_threads: int = Field(default=1, ge=1, le=MOST_THREADS)
    """The number of threads of the OCR engine. More only help on a machine with idle cores."""

    engine_memory: ByteSize = Field(default=ByteSize(4 * GIB), ge=GIB)
    """The memory limit (address space) of the engine process."""

    engine_idle: Duration = Field(default=timedelta(minutes=1), ge=timedelta(milliseconds=100))
    """How long the engine process stays idle before it ends."""

    picture_time: Duration = Field(default=timedelta(minutes=1), ge=timedelta(milliseconds=100))
    """The limit of CPU time per thread for an engine to read one image. A busy machine does not shorten it."""


def child_threads(settings: MediaSettings) -> int:
    return settings.threads or min(os.cpu_count() or 1, MOST_THREADS)


def wall_limit(time: timedelta) -> timedelta:
    """By the clock, for work with this limit of processor time: it only ends what hangs."""
    return max(WALL_FACTOR * time, SHORTEST_WALL)


def child_limits(settings: MediaSettings, time: timedelta) -> ChildLimits:
    """Processor time is the video's own and its limit a verdict; the clock's is about the machine, and is only there so
    that nobody waits for ever."""
    return ChildLimits(
        wall_s=wall_limit(time).total_seconds(),
        cpu_s=int(time.total_seconds()) * child_threads(settings) + 1,
        memory_bytes=settings.memory,
        file_bytes=settings.largest_file,
        output_bytes=settings.largest_output,
        processes=settings.processes,
    )


def child_options(settings: MediaSettings) -> Options:
    return Options(
        threads=child_threads(settings),
        most_pixels=settings.largest_picture,
        most_streams=settings.most_streams,
        longest_ms=settings.longest_video // timedelta(milliseconds=1),
        keyframe_gap_ms=settings.longest_keyframe_gap // timedelta(milliseconds=1),
        segment_ms=settings.segment_duration // timedelta(milliseconds=1),
        poster_width=settings.poster_width,
    )
