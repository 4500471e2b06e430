"""What becomes of an upload: what its state allows, which files are refused for good, what its owner does. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum, auto

from touchline.kernel import TouchlineError
from touchline.kernel.errors import Conflict, Defect, InvalidInput
from touchline.media import errors as media
from touchline.platform.objects.rules import PartPlan
from touchline.serve.artifacts.model import Artifact, Reason, Status
from touchline.serve.artifacts.rules import LONGEST_REASON, OPEN

ABANDONED = Reason(
    "upload_abandoned", "the upload was not finished in time, and its parts were deleted; upload it again"
)
ABORTED = Reason("upload_aborted", "the sender cancelled the upload")
LOST = Reason("upload_lost", "the object store no longer has the parts that were sent; upload the file again")
OVERFILLED = Reason("upload_overfilled", "far more bytes were sent than the upload was declared with")

# A part may be sent again, since answers get lost, and then the store keeps both until the upload ends.
TIMES_SENT = 3
MORE_PARTS = 10

ENDED = (Status.ABORTING, Status.FAILED, Status.DELETED)  # nothing of the upload is needed any more

# Looking again gives the same: the file is at fault.
REFUSALS: dict[str, type[TouchlineError]] = {
    "not_a_video": media.NotAVideo,
    "no_pictures": media.NoPictures,
    "truncated_video": media.TruncatedVideo,
    "damaged_video": media.DamagedVideo,
    "unsupported_video": media.UnsupportedVideo,
    "crashing_video": media.CrashingVideo,
    "invalid_media": media.InvalidMedia,
    "media_limit_exceeded": media.MediaLimitExceeded,
}


class Step(Enum):
    """What the owner does with an upload that is due."""

    ABANDON = auto()
    CONTINUE = auto()
    RELEASE = auto()


def next_step(status: Status) -> Step:
    if status in OPEN:
        return Step.ABANDON
    if status is Status.COMPLETING:
        return Step.CONTINUE
    if status in ENDED:
        return Step.RELEASE
    raise Defect("a stored original counts as an upload", why=f"it is {status}")


def refusal(error: TouchlineError) -> Reason | None:
    """Why the file is refused for good; None when the error says nothing about the file."""
    for code, kind in REFUSALS.items():
        if isinstance(error, kind):
            return Reason(code, str(error)[:LONGEST_REASON])
    return None


def failed(artifact: Artifact) -> TouchlineError:
    """The answer to whoever completes an upload that has failed: the same each time."""
    reason = artifact.reason or LOST
    kind = REFUSALS.get(reason.code)
    if kind is not None:
        return kind(reason.message)
    return Conflict("the upload has failed", why=reason.message, hint="Begin a new upload.")


def is_overfilled(plan: PartPlan, stored_bytes: int) -> bool:
    """Whether this is no longer a sender with a bad line. Each part has its size, so only repeating makes it more."""
    return stored_bytes > TIMES_SENT * plan.size_bytes + MORE_PARTS * plan.part_size(1)


def is_orphan(started_at: datetime, now: datetime, abandon_after: timedelta) -> bool:
    """Of an upload that nobody knows: whoever began it had the time to note it, or to finish."""
    return started_at < now - abandon_after


def require_uploading(artifact: Artifact) -> None:
    if artifact.status is not Status.UPLOADING:
        raise wrong_state(artifact)


def wrong_state(artifact: Artifact) -> TouchlineError:
    if artifact.status is Status.FAILED:
        return Conflict("the upload has failed", why=artifact.reason.message if artifact.reason else "")
    why = f"it is {artifact.status}"
    return Conflict("this upload takes no more parts", why=why, hint="Check its state: its file may be complete.")


def valid_numbers(numbers: Sequence[int], plan: PartPlan, most: int) -> list[int]:
    wanted = sorted(set(numbers))
    if not 1 <= len(wanted) <= most:
        raise InvalidInput("not a number of parts for one call", field="numbers", why=f"ask for 1 to {most}")
    if wanted[0] < 1 or wanted[-1] > plan.count:
        raise InvalidInput("no such part", field="numbers", why=f"this upload has parts 1 to {plan.count}")
    return wanted
