"""What can go wrong on the way to a video, each with its own rule for trying again (see `downloads/rules.py`).

InvalidInput
├── RefusedAddress      we do not go there
└── Malformed           what came is no video, or no document
Forbidden
├── AccessForbidden     403
└── Blocked             not shown in this country, or taken down by law
NotFound
├── Gone                404, or the post says that it was removed
└── NoVideo             the post has none, or none that can be fetched as a file
LimitExceeded
├── TooLarge
├── TooLong             by what the network says of it: it is not fetched at all
└── TooSmall            empty, or too little for a video
RateLimited
└── Busy                429
Unavailable
├── CutOff              fewer bytes than were promised
└── NoAnswer            no connection, or the server failed
DeadlineExceeded
└── TooSlow             no end in time, or hardly any bytes
"""

from __future__ import annotations

from typing import ClassVar

from touchline.kernel.errors import (
    DeadlineExceeded,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    RateLimited,
    TouchlineError,
    Unavailable,
)


class DownloadFailure(TouchlineError):
    """`reason` is kept with the found video."""

    reason: ClassVar[str]


class RefusedAddress(InvalidInput, DownloadFailure):
    reason = "refused_address"
    next_step = "Add the host to `downloads.allow_hosts` if it is one of your own."


class Malformed(InvalidInput, DownloadFailure):
    reason = "malformed"


class AccessForbidden(Forbidden, DownloadFailure):
    reason = "forbidden"


class Blocked(Forbidden, DownloadFailure):
    reason = "blocked"


class Gone(NotFound, DownloadFailure):
    reason = "gone"


class NoVideo(NotFound, DownloadFailure):
    reason = "no_video"


class TooLarge(LimitExceeded, DownloadFailure):
    reason = "too_large"


class TooLong(LimitExceeded, DownloadFailure):
    reason = "too_long"


class TooSmall(LimitExceeded, DownloadFailure):
    reason = "too_small"
    retryable = True  # a file that is still being written looks like that


class Busy(RateLimited, DownloadFailure):
    reason = "busy"


class CutOff(Unavailable, DownloadFailure):
    reason = "cut_off"


class NoAnswer(Unavailable, DownloadFailure):
    reason = "no_answer"


class TooSlow(DeadlineExceeded, DownloadFailure):
    reason = "timed_out"


FAILURES: tuple[type[DownloadFailure], ...] = (
    RefusedAddress, Malformed, AccessForbidden, Blocked, Gone, NoVideo, TooLarge, TooLong, TooSmall, Busy, CutOff,
    NoAnswer, TooSlow,
)  # fmt: skip
