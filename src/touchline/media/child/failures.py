"""From what went wrong to whose fault it is.

Invariant: what the codecs raise is the input's fault; what Python raises is ours, unless a limit was met.
"""

from __future__ import annotations

import errno
import sys
import traceback
from typing import Any

from touchline.media.model import MediaFailure

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
WHY_LENGTH = 500


class InputRefused(Exception):
    """The input cannot be worked on, for a reason that we know."""

    def __init__(self, failure: MediaFailure, why: str) -> None:
        super().__init__(why)
        self.failure = failure
        self.why = why


def explain(error: Exception) -> tuple[MediaFailure, str]:
    failure, why = _classified(error)
    return failure, why[:WHY_LENGTH]


def _classified(error: Exception) -> tuple[MediaFailure, str]:
    number = getattr(error, "errno", None)
    if isinstance(error, InputRefused):
        return error.failure, error.why
    if isinstance(error, MemoryError) or number == errno.ENOMEM:
        return MediaFailure.LIMIT, "it exceeds the memory limit"
    if number == errno.EFBIG:
        return MediaFailure.LIMIT, "an output file exceeds the size limit"
    if number in NO_ROOM:
        return MediaFailure.STORAGE, "the disk is full"
    return _of_the_codecs(error) or (MediaFailure.DEFECT, _place(error))


def _of_the_codecs(error: Exception) -> tuple[MediaFailure, str] | None:
    codecs: Any = sys.modules.get("av.error")
    if codecs is None:  # a task that opens no video
        return None
    unknown = codecs.DecoderNotFoundError, codecs.PatchWelcomeError, codecs.NotImplementedError
    why: str = getattr(error, "strerror", None) or type(error).__name__
    if isinstance(error, unknown):
        return MediaFailure.UNSUPPORTED, why
    return (MediaFailure.DAMAGED, why) if isinstance(error, codecs.FFmpegError) else None


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.name}, line {frame.lineno} of {frame.filename.rpartition('/')[2]})"
