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

What can be wrong with stored fingerprints, as errors.

InvalidInput
└── InvalidFingerprint      a text or file that is none, or was changed
Conflict
└── IndexBusy               another process writes to the index
SetupError
└── DamagedIndex            the files of an index do not fit together
"""

from __future__ import annotations

from touchline.kernel import Conflict, Defect, InvalidInput, LimitExceeded, SetupError, TouchlineError, Unavailable

from .model import MediaFailure


class InvalidMedia(InvalidInput):
    next_step = "Upload another file, or export this one again."


class NotAVideo(InvalidMedia):
    next_step = "Upload a video file: MP4, MOV, MKV, WebM, AVI, MPEG, FLV, OGG or WMV."


class NoPictures(InvalidMedia):
    next_step = "Upload a file with video, not only audio."


class TruncatedVideo(InvalidMedia):
    next_step = "Upload the complete file: the copy or the recording ended early."


class DamagedVideo(InvalidMedia):
    pass


class UnsupportedVideo(InvalidMedia):
    next_step = "Convert it to an MP4 file with H.264 and AAC, and upload that."


class CrashingVideo(InvalidMedia):
    pass


class EmptyRange(InvalidInput):
    next_step = "Choose a range in which the video has frames."


class MediaLimitExceeded(LimitExceeded):
    next_step = "Upload a smaller or shorter video, or raise the limit in the section `media` of the settings."


_WORDS: dict[MediaFailure, tuple[type[TouchlineError], str]] = {
    MediaFailure.NOT_A_VIDEO: (NotAVideo, "this is not a video"),
    MediaFailure.NO_PICTURES: (NoPictures, "this file has no video stream"),
    MediaFailure.TRUNCATED: (TruncatedVideo, "this video is incomplete"),
    MediaFailure.DAMAGED: (DamagedVideo, "this video is damaged"),
    MediaFailure.UNSUPPORTED: (UnsupportedVideo, "this video cannot be decoded"),
    MediaFailure.LIMIT: (MediaLimitExceeded, "this video exceeds a limit"),
    MediaFailure.CRASHED: (CrashingVideo, "the program that read this video crashed"),
    MediaFailure.RANGE: (EmptyRange, "this video has no frames in this range"),
    MediaFailure.STORAGE: (Unavailable, "not enough disk space for the outputs of the video"),
    MediaFailure.DEFECT: (Defect, "processing a video failed"),
}


def media_error(failure: MediaFailure, why: str) -> TouchlineError:
    kind, what = _WORDS[failure]
    return kind(what, why=why)


class InvalidFingerprint(InvalidInput):
    next_step = "Make the fingerprint again from the video: `touchline media fingerprint FILE`."


class IndexBusy(Conflict):
    next_step = "Wait until the other process is done, then try again. The index can be searched in the meantime."


class DamagedIndex(SetupError):
    next_step = "Restore the folder of the index from a backup, or add the videos to a new one."
