"""What the two client libraries raise, as the errors of the kernel.

Invariant: NotFound only when the store said so; whatever is not an answer is Unavailable.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError

from touchline.kernel.errors import (
    AlreadyExists,
    Conflict,
    DeadlineExceeded,
    Defect,
    InvalidInput,
    Misconfigured,
    NotFound,
    TouchlineError,
    Unavailable,
)

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError

Make: TypeAlias = Callable[[str], TouchlineError]

_CREDENTIALS_HINT = "Check the access key, its secret and its rights on the bucket in the settings of the object store."
_BUCKET_HINT = "Check the name of the bucket in the settings; `touchline up` creates it where it may."


def _no_bucket(subject: str) -> TouchlineError:
    return Misconfigured("the bucket does not exist", why=subject, hint=_BUCKET_HINT)


def _refused(subject: str) -> TouchlineError:
    return Misconfigured("the object store refuses the access key", why=subject, hint=_CREDENTIALS_HINT)


def _bad_parts(subject: str) -> TouchlineError:
    return InvalidInput("the list of parts does not fit the upload", field="parts", why=subject)


BY_CODE: dict[str, Make] = {
    "AccessDenied": _refused,
    "NoSuchBucket": _no_bucket,
    "NoSuchUpload": lambda subject: NotFound("no such upload", why=subject),
    "InvalidPart": _bad_parts,
    "InvalidPartOrder": _bad_parts,
    "EntityTooSmall": _bad_parts,
    "BadDigest": lambda subject: Unavailable("the bytes were damaged on the way", why=subject),
    "NotImplemented": lambda subject: Defect("the object store cannot do this", why=subject),
    "RequestTimeTooSkewed": lambda subject: Misconfigured("this machine's clock is wrong", why=subject),
    "RequestTimeout": lambda subject: DeadlineExceeded("the object store waited for bytes in vain", why=subject),
}

BY_STATUS: dict[int, Make] = {
    401: _refused,
    403: _refused,
    404: lambda subject: NotFound("no such object", why=subject),
    408: lambda subject: DeadlineExceeded("the object store gave up waiting", why=subject),
    409: lambda subject: Conflict("another writer is at work on the object", why=subject),
    412: lambda subject: AlreadyExists("the object exists already", why=subject),
    416: lambda subject: InvalidInput("the object ends before this range", field="range", why=subject),
    429: lambda subject: Unavailable("the object store asks to slow down", why=subject),
}

_STATUS = re.compile(r"Server returned non-2xx status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")


def from_answer(status: int, code: str, subject: str) -> TouchlineError:
    """An answer of the store that says no."""
    make = BY_CODE.get(code) or BY_STATUS.get(status)
    if make:
        return make(subject)
    reason = f"{subject}: {status} {code}".rstrip()
    if status >= 500:
        return Unavailable("the object store failed", why=reason)
    return Defect("the object store does not understand the request", why=reason)


def from_silence(timed_out: bool, subject: str) -> TouchlineError:
    """No answer at all: it says nothing about the data."""
    if timed_out:
        return DeadlineExceeded("the object store did not answer in time", why=subject)
    return Unavailable("the object store cannot be reached", why=subject)


def from_obstore(error: BaseError | FileNotFoundError, subject: str) -> TouchlineError:
    """Its classes are few; the status and code of the answer stand in the text."""
    text = str(error)
    status = _STATUS.search(text)
    code = _CODE.search(text)
    if status:
        return from_answer(int(status[1]), code[1] if code else "", subject)
    if isinstance(error, FileNotFoundError):
        return BY_STATUS[404](subject)
    if isinstance(error, AlreadyExistsError):
        return BY_STATUS[412](subject)
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return _refused(subject)
    return from_silence("kind: Timeout" in text or "TimedOut" in text, subject)


def from_botocore(error: ClientError | BotoCoreError, subject: str) -> TouchlineError:
    from botocore.exceptions import ClientError, ConnectTimeoutError, ParamValidationError, ReadTimeoutError

    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return from_answer(status, error.response.get("Error", {}).get("Code", ""), subject)
    if isinstance(error, ParamValidationError):
        return Defect("not a request that the object store takes", why=subject)
    return from_silence(isinstance(error, ConnectTimeoutError | ReadTimeoutError), subject)
