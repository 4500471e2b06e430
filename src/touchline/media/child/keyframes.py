"""Single pictures from anywhere in a video: a seek and the decoding of one keyframe, however long the video is."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

from av.error import FFmpegError
from av.video.frame import VideoFrame

from .packets import decode
from .source import VideoSource, tick_of

MOST_BROKEN_PACKETS = 100


def keyframe_before(source: VideoSource, time: Fraction) -> VideoFrame | None:
    """The one at or before a time, in seconds from the start; none where the container cannot be searched."""
    try:
        source.container.seek(int((time + source.start) / tick_of(source.video)), stream=source.video)
        packets = islice(source.container.demux(source.video), MOST_BROKEN_PACKETS)
        return next((picture for packet in packets for picture in decode(source.video.codec_context, packet)), None)
    except FFmpegError:
        return None
