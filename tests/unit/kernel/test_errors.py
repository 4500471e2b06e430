from __future__ import annotations

import errno
import re

import pytest

from touchline.kernel import InvalidInput, NotFound, RateLimited, TouchlineError, error_classes, errors, surface

CLASSES = [error for error in error_classes() if error.__module__ == errors.__name__]
GRPC_STATUSES = {
    "UNKNOWN", "INTERNAL", "INVALID_ARGUMENT", "NOT_FOUND", "UNAUTHENTICATED", "PERMISSION_DENIED",
    "FAILED_PRECONDITION", "ALREADY_EXISTS", "ABORTED", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED",
}  # fmt: skip


def test_codes_are_unique() -> None:
    codes = [error.code for error in CLASSES]
    assert len(codes) == len(set(codes))


def test_the_table_has_every_code_and_no_other() -> None:
    assert {error.code for error in CLASSES} == set(errors.SURFACES)


@pytest.mark.parametrize("error", CLASSES)
def test_every_error_says_what_to_do_next_in_a_sentence(error: type[TouchlineError]) -> None:
    assert re.fullmatch(r"[A-Z].*\.", error.next_step)
    assert re.fullmatch(r"[a-z_]+", error.code)


@pytest.mark.parametrize("code", errors.SURFACES)
def test_every_surface_is_valid(code: str) -> None:
    entry = errors.SURFACES[code]
    assert entry.grpc in GRPC_STATUSES
    assert 400 <= entry.http < 600
    assert 1 <= entry.exit < 128
    assert entry.graphql.endswith("Error")


def test_the_drawing_shows_the_tree() -> None:
    drawn = re.findall(r"^    [│├└─ ]*(\w+)", errors.__doc__ or "", re.MULTILINE)
    assert drawn == [error.__name__ for error in CLASSES]


def test_a_retryable_error_is_one_that_may_pass_by_itself() -> None:
    retryable = {"rate_limited", "unavailable", "deadline_exceeded", "storage_full", "warming"}
    assert {error.code for error in CLASSES if error.retryable} == retryable


@pytest.mark.parametrize(
    ("number", "full"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EIO, False), (errno.EACCES, False)]
)
def test_a_full_disk_is_told_from_other_failures_of_a_write(number: int, full: bool) -> None:
    assert errors.is_storage_full(OSError(number, "")) is full
    assert not errors.is_storage_full(ValueError())


def test_an_error_says_what_and_why() -> None:
    assert str(NotFound("no such clip")) == "no such clip"
    assert str(NotFound("no such clip", why="it was deleted")) == "no such clip: it was deleted"


def test_the_hint_is_the_classes_unless_the_place_knows_better() -> None:
    assert NotFound("no such clip").hint == NotFound.next_step
    assert NotFound("no such clip", hint="Look in the trash.").hint == "Look in the trash."


def test_invalid_input_names_the_field() -> None:
    assert InvalidInput("too long", field="title").field == "title"


def test_the_surface_follows_the_code() -> None:
    assert surface(RateLimited("slow down")) == errors.SURFACES["rate_limited"]
