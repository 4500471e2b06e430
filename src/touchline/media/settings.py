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
    require_walls: bool = False
    """Refuse to open any video unless all walls of the sandbox stand; without it, those that this machine allows do."""

    sandbox_user_id: int = Field(default=65533, ge=1, le=2**31 - 1)
    """The user id of the processes that open videos. Nothing else should run under it, and it needs no name."""

    threads: int = Field(default=0, ge=0, le=MOST_THREADS)
    """How many threads decode and encode one video; 0 takes one for each core."""

    memory: ByteSize = Field(default=ByteSize(2 * GIB), ge=512 * MIB)
    """The address space of a process that opens a video, its libraries included."""

    processes: int = Field(default=256, ge=32, le=32768)
    """How many threads all processes with the sandbox's user id may have together."""

    largest_file: ByteSize = Field(default=ByteSize(2 * GIB), ge=MIB)
    """The largest single file, like a segment, that may be made of a video."""

    largest_output: ByteSize = Field(default=ByteSize(64 * GIB), ge=MIB)
    """The most that may be made of one video, all files together."""

    largest_picture: int = Field(default=36_000_000, ge=1_000_000, le=2**30)
    """The most pixels that a picture of a video may have; the default takes 8K."""

    longest_video: Duration = Field(default=timedelta(hours=24), ge=SECOND)
    """The longest video that is accepted."""

    most_streams: int = Field(default=32, ge=1, le=1000)
    """The most streams that a file may have: pictures, sound, subtitles and the rest."""

    segment_duration: Duration = Field(default=4 * SECOND, ge=SECOND, le=20 * SECOND)
    """The length of a segment, where the pictures are encoded or have a keyframe there."""

    longest_keyframe_gap: Duration = Field(default=20 * SECOND, ge=SECOND)
    """Videos whose keyframes are further apart are encoded again: a segment must start at one."""

    poster_width: int = Field(default=1280, ge=64, le=4096)
    """The greatest width of a poster."""

    probe_time: Duration = Field(default=30 * SECOND, ge=SECOND)
    """The processor time of each thread that it may take to look at a video. How busy the machine is does not count."""

    poster_time: Duration = Field(default=timedelta(minutes=2), ge=SECOND)
    """The processor time of each thread that it may take to make a poster."""

    storyboard_time: Duration = Field(default=timedelta(minutes=30), ge=SECOND)
    """The processor time of each thread that it may take to make the small pictures for the seek bar."""

    fingerprint_style: Style = Style.DENSE
    """How fingerprints are taken: `dense` like others do, `careful` of what moves, to tell goals of one match apart."""

    fingerprint_time: Duration = Field(default=timedelta(hours=2), ge=SECOND)
    """The processor time of each thread that it may take to fingerprint a video, or to take pictures of some moments of
    it."""

    packaging_time: Duration = Field(default=timedelta(hours=6), ge=SECOND)
    """The processor time of each thread that it may take to make HLS of a video."""

    sampling_time: Duration = Field(default=timedelta(hours=6), ge=SECOND)
    """The processor time of each thread that it may take to sample the pictures of a video."""

    clip_time: Duration = Field(default=timedelta(hours=1), ge=SECOND)
    """The processor time of each thread that it may take to cut a clip, once all of it is there."""

    engine_threads: int = Field(default=1, ge=1, le=MOST_THREADS)
    """How many threads the engine process reads a picture with; more pay only on a machine with idle cores."""

    engine_memory: ByteSize = Field(default=ByteSize(4 * GIB), ge=GIB)
    """The address space of the engine process, its libraries and models included."""

    engine_idle: Duration = Field(default=timedelta(minutes=1), ge=timedelta(milliseconds=100))
    """How long the engine process waits for another picture before it ends."""

    picture_time: Duration = Field(default=timedelta(minutes=1), ge=timedelta(milliseconds=100))
    """How long an engine may take for one picture, its own start included."""


def child_threads(settings: MediaSettings) -> int:
    return settings.threads or min(os.cpu_count() or 1, MOST_THREADS)


def child_limits(settings: MediaSettings, time: timedelta) -> ChildLimits:
    """Processor time is the video's own and its limit a verdict; the clock's is about the machine, and is only there so
    that nobody waits for ever."""
    return ChildLimits(
        wall_s=max(WALL_FACTOR * time, SHORTEST_WALL).total_seconds(),
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
