from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest
from hypothesis import given, strategies as st

from touchline.kernel import (
    Conflict,
    DeadlineExceeded,
    Defect,
    Forbidden,
    InvalidInput,
    Misconfigured,
    NotFound,
    QuotaExceeded,
    RateLimited,
    SetupError,
    TenantId,
    Unauthenticated,
    Unavailable,
)
from touchline.media.errors import MediaLimitExceeded, NotAVideo
from touchline.process.files import OriginalMissing
from touchline.process.queue.jobs import JobType
from touchline.process.queue.rules import (
    LONG_TYPES,
    MAX_MESSAGE_LENGTH,
    Alert,
    AlertCheck,
    AlertKind,
    ClaimRequest,
    HeldJob,
    QueueMeasurement,
    Slot,
    alerts_without_jobs,
    changed_alerts,
    check_thresholds,
    failure_of,
    is_worth_reporting,
    next_claims,
    remaining_s,
    webhook_signature,
)
from touchline.process.settings import AlertSettings


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (InvalidInput("bad payload"), False),
        (NotFound("no such object"), False),
        (OriginalMissing("gone"), False),
        (NotAVideo("a letter"), False),
        (MediaLimitExceeded("too long"), False),
        (QuotaExceeded("full"), False),
        (Forbidden("not yours"), False),
        (Unauthenticated("who"), False),
        (Misconfigured("the object store refuses the access key"), False),
        (psycopg.errors.UniqueViolation("twice"), False),
        (psycopg.errors.ForeignKeyViolation("no video"), False),
        (Unavailable("away"), True),
        (DeadlineExceeded("late"), True),
        (RateLimited("slow down"), True),
        (Conflict("another writer"), True),
        (Defect("ours"), True),
        (SetupError("the sandbox could not be started"), True),
        (psycopg.OperationalError("gone"), True),
        (ConnectionResetError(), True),
        (OSError("disk full"), True),
        (KeyError("a bug"), True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_is_tried_again(error: Exception, retryable: bool) -> None:
    failure = failure_of(error)
    assert (failure.type, failure.retryable) == (type(error).__name__, retryable)


def test_a_message_is_bounded_printable_for_the_database_and_never_empty() -> None:
    assert failure_of(ConnectionResetError()).message == "ConnectionResetError"
    assert failure_of(ValueError("a\x00b")).message == "ab"
    assert failure_of(ValueError("a\ud800b")).message == "a?b"
    assert len(failure_of(ValueError("x" * 5000)).message) == MAX_MESSAGE_LENGTH


@pytest.mark.parametrize(
    ("case", "percent", "told", "elapsed_s", "worth"),
    [
        ("fifty percent at once", 50, 0, 0.4, False),
        ("five percent after half a second", 5, 0, 0.5, True),
        ("four percent after half a second", 4, 0, 0.5, False),
        ("one percent after two seconds", 1, 0, 2.0, True),
        ("nothing after an hour", 7, 7, 3600.0, False),
        ("backwards", 3, 7, 3600.0, False),
        ("just before two seconds", 1, 0, 1.9, False),
    ],
)
def test_which_progress_is_worth_telling(case: str, percent: int, told: int, elapsed_s: float, worth: bool) -> None:
    assert is_worth_reporting(percent, told, elapsed_s) is worth, case


@pytest.mark.parametrize(
    ("percent", "elapsed_s", "expected"),
    [
        (None, 60.0, None),  # it has said nothing
        (0, 60.0, None),  # it has begun, which says nothing about its speed
        (50, 0.0, None),  # no time has passed
        (50, -1.0, None),  # a clock was set back
        (1, 1.0, 99.0),
        (25, 10.0, 30.0),
        (50, 60.0, 60.0),
        (99, 99.0, 1.0),
        (100, 60.0, 0.0),
    ],
)
def test_how_long_a_job_still_takes(percent: int | None, elapsed_s: float, expected: float | None) -> None:
    assert remaining_s(percent, elapsed_s) == expected


@given(st.integers(1, 99), st.floats(0.001, 1e6))
def test_it_takes_less_the_further_it_is_and_longer_the_slower_it_was(percent: int, elapsed_s: float) -> None:
    left = remaining_s(percent, elapsed_s)
    further, slower = remaining_s(percent + 1, elapsed_s), remaining_s(percent, elapsed_s * 2)
    assert left is not None
    assert further is not None
    assert slower is not None
    assert 0 <= further < left < slower
    # If it goes on like this, what it has taken and what it still takes are the whole.
    assert elapsed_s / (elapsed_s + left) == pytest.approx(percent / 100)


OCR, TRANSCODE, SAMPLE, CLIP = JobType.OCR, JobType.TRANSCODE, JobType.SAMPLE, JobType.CLIP_GENERATE
ALL = (OCR, TRANSCODE, SAMPLE)
ANNA, BERT, CARL = (TenantId(UUID(int=number)) for number in (1, 2, 3))


def held(*kinds: JobType, tenant: TenantId = ANNA, slot: Slot = Slot.REGULAR, plays: bool = False) -> list[HeldJob]:
    return [HeldJob(kind, tenant, slot, kind not in LONG_TYPES and not plays) for kind in kinds]


def regular(
    types: Sequence[JobType], held: Sequence[HeldJob], concurrency: int
) -> tuple[tuple[JobType, ...], int] | None:
    """What is asked for of the usual slots, whoever it is for."""
    claims = [ask for ask in next_claims(types, held, concurrency) if ask.slot is Slot.REGULAR and not ask.excluded]
    return (tuple(claims[0].types), claims[0].most) if claims else None


@pytest.mark.parametrize(
    ("case", "types", "holdings", "concurrency", "asked"),
    [
        ("nothing in hand", ALL, [], 2, (ALL, 1)),
        ("one is read", ALL, held(OCR), 2, ((TRANSCODE,), 1)),
        ("one is made to play", ALL, held(TRANSCODE), 2, (ALL, 1)),
        ("two are read", ALL, held(OCR, SAMPLE), 4, (ALL, 1)),
        ("all but one are read", ALL, held(OCR, SAMPLE, OCR), 4, ((TRANSCODE,), 2)),
        ("one slot, nothing in hand", ALL, [], 1, (ALL, 1)),
        ("one slot, reading", ALL, held(OCR), 1, ((TRANSCODE,), 1)),
        ("one slot, made to play", ALL, held(TRANSCODE), 1, None),
        ("one slot, it plays", ALL, held(TRANSCODE, plays=True), 1, ((TRANSCODE,), 1)),
        ("one slot, and four play", ALL, held(*[TRANSCODE] * 4, plays=True), 1, None),
        ("a reader only", (OCR,), held(OCR), 2, ((OCR,), 1)),
        ("a reader only, full", (OCR,), held(OCR, OCR), 2, None),
        ("no reader", (TRANSCODE,), held(TRANSCODE), 500, ((TRANSCODE,), 250)),
        ("full", ALL, held(TRANSCODE, TRANSCODE), 2, None),
        ("full of what plays and is read", ALL, [*held(OCR), *held(TRANSCODE, plays=True)], 2, ((TRANSCODE,), 1)),
        ("four times full", ALL, [*held(OCR), *held(*[TRANSCODE] * 7, plays=True)], 2, None),
        ("a guest takes no usual slot", ALL, held(TRANSCODE, slot=Slot.OTHER_TENANT), 2, (ALL, 1)),
    ],
)
def test_what_plays_is_waited_for_and_reading_stands_back(
    case: str,
    types: tuple[JobType, ...],
    holdings: list[HeldJob],
    concurrency: int,
    asked: tuple[tuple[JobType, ...], int] | None,
) -> None:
    assert regular(types, holdings, concurrency) == asked, case


EVERY = (TRANSCODE, CLIP, OCR)
FULL = held(TRANSCODE, TRANSCODE)


@pytest.mark.parametrize(
    ("case", "types", "holdings", "asked"),
    [
        ("full", EVERY, FULL, [(Slot.SHORT, {CLIP}, set()), (Slot.OTHER_TENANT, {*EVERY}, {ANNA})]),
        (
            "full, with a short one",
            EVERY,
            [*FULL, *held(CLIP, slot=Slot.SHORT)],
            [(Slot.OTHER_TENANT, {*EVERY}, {ANNA})],
        ),
        (
            "full, with a guest",
            EVERY,
            [*FULL, *held(TRANSCODE, tenant=BERT, slot=Slot.OTHER_TENANT)],
            [(Slot.SHORT, {CLIP}, set())],
        ),
        (
            "full of two tenants",
            EVERY,
            [*held(TRANSCODE), *held(TRANSCODE, tenant=BERT), *held(CLIP, tenant=CARL, slot=Slot.SHORT)],
            [(Slot.OTHER_TENANT, {*EVERY}, {ANNA, BERT, CARL})],
        ),
        ("full, and nothing is short", (TRANSCODE,), FULL, [(Slot.OTHER_TENANT, {TRANSCODE}, {ANNA})]),
        ("full, and all is short", (CLIP,), held(CLIP, CLIP), [(Slot.OTHER_TENANT, {CLIP}, {ANNA})]),
        (
            "the last slot is for others first",
            (TRANSCODE,),
            held(TRANSCODE),
            [(Slot.REGULAR, {TRANSCODE}, {ANNA}), (Slot.REGULAR, {TRANSCODE}, set())],
        ),
        ("nobody has anything", (TRANSCODE,), [], [(Slot.REGULAR, {TRANSCODE}, set())]),
    ],
)
def test_one_tenant_does_not_have_all_slots_while_others_wait(
    case: str,
    types: tuple[JobType, ...],
    holdings: list[HeldJob],
    asked: list[tuple[Slot, set[JobType], set[TenantId]]],
) -> None:
    found = [(ask.slot, set(ask.types), set(ask.excluded)) for ask in next_claims(types, holdings, 2)]
    assert found == asked, case


@given(
    st.lists(st.sampled_from([JobType.TRANSCODE, JobType.CLIP_GENERATE, JobType.SAMPLE, JobType.OCR]), max_size=60),
    st.lists(st.sampled_from([ANNA, BERT, CARL]), min_size=1, max_size=5),
    st.integers(1, 6),
    st.data(),
)
def test_however_jobs_come_the_slots_are_bounded_and_none_stays_empty(
    waiting: list[JobType], tenants: list[TenantId], concurrency: int, data: st.DataObject
) -> None:
    """A worker that gets what it asks for, while its videos begin to play at any time."""
    types, queue = tuple(JobType), [(kind, tenants[number % len(tenants)]) for number, kind in enumerate(waiting)]
    holdings: list[HeldJob] = []
    for _ in range(2 * len(waiting)):
        granted = _grant(next_claims(types, holdings, concurrency), queue)
        holdings.extend(granted)
        in_usual = [each for each in holdings if each.slot is Slot.REGULAR]
        assert sum(each.is_foreground for each in in_usual) <= concurrency
        assert len(in_usual) <= 4 * concurrency
        assert sum(each.job_type in LONG_TYPES for each in in_usual) <= max(concurrency - 1, 1)
        assert len(holdings) <= len(in_usual) + 2
        if not granted and len(in_usual) < concurrency:
            assert all(kind in LONG_TYPES for kind, _ in queue), "who waits to play never waits for an empty slot"
        if holdings and data.draw(st.booleans()):
            number = data.draw(st.integers(0, len(holdings) - 1))
            changed = replace(holdings.pop(number), is_foreground=False)
            if data.draw(st.booleans()):
                holdings.append(changed)


def _grant(claims: Sequence[ClaimRequest], queue: list[tuple[JobType, TenantId]]) -> list[HeldJob]:
    for ask in claims:
        fitting = [job for job in queue if job[0] in ask.types and job[1] not in ask.excluded][: ask.most]
        if fitting:
            for job in fitting:
                queue.remove(job)
            return [HeldJob(kind, tenant, ask.slot, kind not in LONG_TYPES) for kind, tenant in fitting]
    return []


TENANT = TenantId(UUID(int=1))
SETTINGS = AlertSettings(failure_rate=0.5, failure_minimum=4, dead_letters=2)


@pytest.mark.parametrize(
    ("done", "failed", "oldest_s", "dead", "raised"),
    [
        (10, 0, 0.0, 0, set[AlertKind]()),
        (0, 3, 0.0, 2, set[AlertKind]()),  # too few to say anything
        (2, 2, 0.0, 2, set[AlertKind]()),  # at the threshold is not beyond it
        (1, 3, 0.0, 3, {AlertKind.FAILURE_RATE, AlertKind.DEAD_LETTERS}),
        (0, 0, 1800.0, 0, set[AlertKind]()),
        (0, 0, 1801.0, 0, {AlertKind.QUEUE_AGE}),
    ],
)
def test_what_is_beyond_its_threshold(
    done: int, failed: int, oldest_s: float, dead: int, raised: set[AlertKind]
) -> None:
    measured = QueueMeasurement(TENANT, "ocr", done=done, failed=failed, oldest_s=oldest_s, dead=dead)
    assert {finding.kind for finding in check_thresholds(measured, SETTINGS) if finding.raised} == raised


def alert(raised: bool) -> Alert:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return Alert(TENANT, "queue_age", "ocr", raised, 9.0, 5.0, when, 1, reported=True, tries=1)


def finding(value: float) -> AlertCheck:
    return AlertCheck(TENANT, "ocr", AlertKind.QUEUE_AGE, value, 5.0)


@pytest.mark.parametrize(
    ("value", "known", "told"),
    [
        (9.0, None, True),
        (9.0, True, False),
        (9.0, False, True),
        (1.0, None, False),
        (1.0, True, True),
        (1.0, False, False),
    ],
)
def test_only_a_change_is_told(value: float, known: bool | None, told: bool) -> None:
    before = {} if known is None else {(TENANT, "queue_age", "ocr"): alert(known)}
    assert bool(changed_alerts([finding(value)], before)) == told


def test_an_alert_of_which_nothing_is_left_is_cleared() -> None:
    known = {(TENANT, "queue_age", "ocr"): alert(True)}
    [cleared] = alerts_without_jobs([], known)
    assert not cleared.raised
    assert alerts_without_jobs([finding(9.0)], known) == []


def test_a_signature_is_of_time_and_body() -> None:
    first = webhook_signature("secret", 1, b"body")
    assert len(first) == 64
    assert first not in {
        webhook_signature("other", 1, b"body"),
        webhook_signature("secret", 2, b"body"),
        webhook_signature("secret", 1, b"b"),
    }
