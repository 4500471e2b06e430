from __future__ import annotations

from datetime import timedelta

import grpc
import pytest

from touchline.contracts.rpc.v1.common_pb2 import Failure
from touchline.kernel import Defect, InvalidInput, RateLimited, TouchlineError, Unavailable, error_classes
from touchline.platform.rpc.protocol import LONGEST_TEXT, to_error, to_failure, to_status, transport_error

KERNEL_ERRORS = [kind for kind in error_classes() if kind.__module__ == error_classes.__module__]


@pytest.mark.parametrize("kind", KERNEL_ERRORS)
def test_every_error_comes_back_as_itself(kind: type[TouchlineError]) -> None:
    sent = kind("what happened", why="because", hint="Do this.")
    received = to_error(to_failure(sent))
    assert type(received) is kind
    assert (received.what, received.why, received.hint) == ("what happened", "because", "Do this.")
    assert to_status(sent) is not grpc.StatusCode.OK


def test_what_some_errors_add_comes_along() -> None:
    invalid = to_error(to_failure(InvalidInput("no", field="title")))
    assert isinstance(invalid, InvalidInput)
    assert invalid.field == "title"
    for wait in (None, timedelta(seconds=0), timedelta(seconds=7)):
        limited = to_error(to_failure(RateLimited("slow down", retry_after=wait)))
        assert isinstance(limited, RateLimited)
        assert limited.retry_after == wait


def test_an_error_of_one_plane_arrives_as_the_one_that_everybody_knows() -> None:
    class Special(InvalidInput):
        pass

    assert type(to_error(to_failure(Special("no")))) is InvalidInput


def test_what_is_not_ours_keeps_its_text_to_itself() -> None:
    failure = to_failure(KeyError("a password"))
    assert failure.code == "internal"
    assert "password" not in str(failure)


def test_long_texts_fit_into_the_metadata() -> None:
    long = "ä" * 10_000
    failure = to_failure(InvalidInput(long, field=long, why=long, hint=long))
    assert len(failure.what) == LONGEST_TEXT
    assert len(failure.SerializeToString()) < 8192 + 2 * LONGEST_TEXT


def test_a_code_of_a_newer_version_is_no_silence() -> None:
    error = to_error(Failure(code="brand_new", what="it happened"))
    assert isinstance(error, Defect)
    assert "brand_new" in str(error)


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_a_failure_on_the_way_is_typed(code: grpc.StatusCode) -> None:
    error = transport_error(code, "details", "/service/Method")
    assert "/service/Method" in str(error)


def test_no_answer_says_nothing_about_the_data() -> None:
    assert type(transport_error(grpc.StatusCode.CANCELLED, None, "m")) is Unavailable
