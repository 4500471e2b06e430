from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ParamValidationError, ReadTimeoutError
from obstore.exceptions import GenericError

from touchline.kernel import (
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
from touchline.platform.objects.clients import error_from_response, from_botocore, from_obstore


def _answer(status: int) -> Any:
    return {"Error": {"Code": str(status)}, "ResponseMetadata": {"HTTPStatusCode": status}}


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (404, "NoSuchKey", NotFound),
        (404, "404", NotFound),
        (404, "NoSuchUpload", NotFound),
        (404, "NoSuchBucket", Misconfigured),
        (401, "", Misconfigured),
        (403, "SignatureDoesNotMatch", Misconfigured),
        (403, "RequestTimeTooSkewed", Misconfigured),
        (409, "ConditionalRequestConflict", Conflict),
        (412, "PreconditionFailed", AlreadyExists),
        (416, "InvalidRange", InvalidInput),
        (400, "InvalidPart", InvalidInput),
        (400, "BadDigest", Unavailable),
        (400, "RequestTimeout", DeadlineExceeded),
        (400, "MalformedXML", Defect),
        (501, "NotImplemented", Defect),
        (500, "InternalError", Unavailable),
        (503, "SlowDown", Unavailable),
        (429, "", Unavailable),
        (302, "", Defect),
    ],
)
def test_each_refusal_has_its_error(status: int, code: str, expected: type[TouchlineError]) -> None:
    error = error_from_response(status, code, "videos/1")
    assert type(error) is expected
    assert "videos/1" in str(error)


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ClientError(_answer(404), "HeadObject"), NotFound),
        (ClientError(_answer(503), "HeadObject"), Unavailable),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), Unavailable),
        (ReadTimeoutError(endpoint_url="http://127.0.0.1:1"), DeadlineExceeded),
        (ParamValidationError(report="Invalid length for parameter Key"), Defect),
    ],
    ids=lambda value: type(value).__name__,
)
def test_from_the_blocking_client(raised: ClientError, expected: type[TouchlineError]) -> None:
    assert type(from_botocore(raised, "key")) is expected


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (GenericError("Server returned non-2xx status code: 503 Service Unavailable: no"), Unavailable),
        (GenericError("Server returned non-2xx status code: 416 Range Not Satisfiable: "), InvalidInput),
        (GenericError("HTTP error: error sending request ... HttpError { kind: Timeout,"), DeadlineExceeded),
        (GenericError("HTTP error: error sending request ... HttpError { kind: Connect,"), Unavailable),
        (FileNotFoundError("Object at location a not found"), NotFound),
    ],
)
def test_from_the_data_client(raised: GenericError, expected: type[TouchlineError]) -> None:
    assert type(from_obstore(raised, "key")) is expected
