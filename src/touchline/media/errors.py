"""What can be wrong with a video, as errors.

    InvalidInput
    ├── InvalidMedia            the file is at fault: trying again gives the same
    │   ├── NotAVideo
    │   ├── NoPictures          only sound in it
    │   ├── TruncatedVideo      the end is missing
    │   ├── DamagedVideo
    │   ├── UnsupportedVideo
    │   └── CrashingVideo       a decoder broke on it
    └── EmptyRange              the video has nothing where it was asked for
    LimitExceeded
    └── MediaLimitExceeded      too large, too long, or too much work

Invariant: what is our own mistake or this machine's trouble is none of these.
"""

from __future__ import annotations

from touchline.kernel.errors import Defect, InvalidInput, LimitExceeded, TouchlineError, Unavailable

from .model import MediaFailure


class InvalidMedia(InvalidInput):
    next_step = "Send another file, or export this one again."


class NotAVideo(InvalidMedia):
    next_step = "Send a video file: MP4, MOV, MKV, WebM, AVI, MPEG, FLV, OGG or WMV."


class NoPictures(InvalidMedia):
    next_step = "Send a file that has pictures, not only sound."


class TruncatedVideo(InvalidMedia):
    next_step = "Send the whole file; the copy or the recording ended too early."


class DamagedVideo(InvalidMedia):
    pass


class UnsupportedVideo(InvalidMedia):
    next_step = "Convert it to H.264 and AAC in an MP4 file, and send that."


class CrashingVideo(InvalidMedia):
    pass


class EmptyRange(InvalidInput):
    next_step = "Ask for a range in which the video has pictures."


class MediaLimitExceeded(LimitExceeded):
    next_step = "Send a smaller or shorter video, or raise the limit in the section `media` of the settings."


_WORDS: dict[MediaFailure, tuple[type[TouchlineError], str]] = {
    MediaFailure.NOT_A_VIDEO: (NotAVideo, "this is not a video"),
    MediaFailure.NO_PICTURES: (NoPictures, "this video has no pictures"),
    MediaFailure.TRUNCATED: (TruncatedVideo, "this video is not whole"),
    MediaFailure.DAMAGED: (DamagedVideo, "this video is damaged"),
    MediaFailure.UNSUPPORTED: (UnsupportedVideo, "this video cannot be read here"),
    MediaFailure.LIMIT: (MediaLimitExceeded, "this video is too much"),
    MediaFailure.CRASHED: (CrashingVideo, "this video broke the program that read it"),
    MediaFailure.RANGE: (EmptyRange, "this video has nothing there"),
    MediaFailure.STORAGE: (Unavailable, "there is no room for what is made of the video"),
    MediaFailure.DEFECT: (Defect, "the work on a video failed"),
}


def media_error(failure: MediaFailure, why: str) -> TouchlineError:
    kind, what = _WORDS[failure]
    return kind(what, why=why)
