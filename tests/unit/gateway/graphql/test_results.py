from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

import pytest
import strawberry
from graphql import GraphQLError

from touchline.gateway.graphql.results import (
    MEMBERS,
    AuthError,
    ConflictError,
    NotFoundError,
    RateLimitError,
    UnavailableError,
    ValidationError,
    as_result,
    cause_of,
    public_error,
)
from touchline.kernel import (
    SURFACES,
    AlreadyExists,
    Conflict,
    DeadlineExceeded,
    Defect,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    RateLimited,
    TouchlineError,
    Unauthenticated,
    Unavailable,
)


@strawberry.type
class Done:
    pass


Everything = Annotated[
    Done | ValidationError | NotFoundError | AuthError | RateLimitError | ConflictError | UnavailableError,
    strawberry.union("Everything"),
]
Little = Annotated[Done | NotFoundError, strawberry.union("Little")]


async def failing(error: TouchlineError) -> Any:
    raise error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (InvalidInput("wrong", field="size_bytes"), ValidationError),
        (NotFound("gone"), NotFoundError),
        (Unauthenticated("who"), AuthError),
        (Forbidden("no"), AuthError),
        (RateLimited("slow down"), RateLimitError),
        (LimitExceeded("too much"), RateLimitError),
        (Conflict("not now"), ConflictError),
        (AlreadyExists("there"), ConflictError),
        (Unavailable("away"), UnavailableError),
        (DeadlineExceeded("late"), UnavailableError),
    ],
)
async def test_an_error_is_the_member_that_the_table_says(error: TouchlineError, kind: type) -> None:
    answer = await as_result(Everything, failing(error))
    assert type(answer) is kind
    assert (answer.code, answer.message, answer.hint) == (error.code, str(error), error.hint)


def test_every_member_that_the_table_names_exists() -> None:
    named = {surface.graphql for surface in SURFACES.values()} - {"InternalError"}
    assert named == set(MEMBERS)


async def test_fields_are_spelled_as_in_the_schema() -> None:
    nested = await as_result(Everything, failing(InvalidInput("wrong", field="page.size_bytes")))
    without = await as_result(Everything, failing(InvalidInput("wrong")))
    assert (nested.field, without.field) == ("page.sizeBytes", None)


async def test_how_long_to_wait() -> None:
    told_so = await as_result(Everything, failing(RateLimited("slow", retry_after=timedelta(seconds=1.2))))
    not_told = await as_result(Everything, failing(LimitExceeded("too much")))
    assert (told_so.retry_after_seconds, not_told.retry_after_seconds) == (2, None)


async def test_what_the_union_does_not_name_goes_to_the_errors() -> None:
    for error in (Conflict("not now"), Defect("our mistake")):
        with pytest.raises(type(error)):
            await as_result(Little, failing(error))


async def test_an_answer_passes() -> None:
    async def work() -> Done:
        return Done()

    assert type(await as_result(Little, work())) is Done


# --- errors beside the data


@pytest.mark.parametrize(
    ("error", "extensions"),
    [
        (
            NotFound("gone", hint="Look elsewhere."),
            {"code": "not_found", "hint": "Look elsewhere.", "retryable": False},
        ),
        (
            InvalidInput("wrong", field="page.first", hint="Do."),
            {"code": "invalid_input", "hint": "Do.", "retryable": False, "field": "page.first"},
        ),
        (
            RateLimited("slow", retry_after=timedelta(seconds=1.2), hint="Wait."),
            {"code": "rate_limited", "hint": "Wait.", "retryable": True, "retryAfterSeconds": 2},
        ),
    ],
)
def test_errors_carry_their_code(error: TouchlineError, extensions: dict[str, Any]) -> None:
    shown = public_error(GraphQLError("inside", original_error=GraphQLError("deeper", original_error=error)))
    assert (shown.message, shown.extensions, shown.original_error) == (str(error), extensions, None)


@pytest.mark.parametrize("error", [RuntimeError("postgresql://app:hunter2@db"), Defect("hunter2", why="hunter2")])
def test_our_own_mistakes_are_told_without_their_insides(error: Exception) -> None:
    shown = public_error(GraphQLError(str(error), path=["vod"], original_error=error))
    assert (shown.message, shown.path) == ("an internal error occurred", ["vod"])
    assert shown.extensions
    assert shown.extensions["code"] == "internal"
    assert "hunter2" not in str(shown.formatted)


def test_what_is_wrong_with_the_document_is_told() -> None:
    assert isinstance(cause_of(GraphQLError("Cannot query field 'x'")), InvalidInput)
    assert public_error(GraphQLError("Cannot query field 'x'")).message == "Cannot query field 'x'"
    assert isinstance(cause_of(GraphQLError("?", original_error=RecursionError())), LimitExceeded)
