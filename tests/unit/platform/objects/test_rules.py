from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.kernel.errors import InvalidInput, LimitExceeded
from touchline.platform.objects.model import Part, PartPlan, PartsCheck
from touchline.platform.objects.rules import (
    LARGEST_OBJECT_BYTES,
    MEBIBYTE,
    MOST_PARTS,
    PART_BYTES,
    attachment,
    check_parts,
    part_plan,
    require_whole,
)

THEN = datetime(2026, 3, 31, 12, tzinfo=UTC)
LATER = THEN + timedelta(seconds=1)
PLAN = PartPlan(size_bytes=25, part_bytes=10)
FIRST, SECOND, LAST = Part(1, 10, "a", THEN), Part(2, 10, "b", THEN), Part(3, 5, "c", THEN)
ALL = (FIRST, SECOND, LAST)


@pytest.mark.parametrize(
    ("case", "size_bytes", "part_mebibytes", "count"),
    [
        ("one byte", 1, 20, 1),
        ("exactly one part", 20 * MEBIBYTE, 20, 1),
        ("one byte more", 20 * MEBIBYTE + 1, 20, 2),
        ("10,000 parts of 20 MiB", 200_000 * MEBIBYTE, 20, 10_000),
        ("one byte more: the parts grow", 200_000 * MEBIBYTE + 1, 21, 9_524),
        ("the largest object", LARGEST_OBJECT_BYTES, 525, 9_987),
    ],
)
def test_part_plan(case: str, size_bytes: int, part_mebibytes: int, count: int) -> None:
    plan = part_plan(size_bytes)
    assert (plan.part_bytes, plan.count) == (part_mebibytes * MEBIBYTE, count), case


@pytest.mark.parametrize(("size_bytes", "error"), [(0, InvalidInput), (-1, InvalidInput)])
def test_nothing_has_no_plan(size_bytes: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        part_plan(size_bytes)


def test_what_no_store_takes_has_no_plan() -> None:
    with pytest.raises(LimitExceeded):
        part_plan(LARGEST_OBJECT_BYTES + 1)


@given(st.integers(1, LARGEST_OBJECT_BYTES))
def test_any_plan_is_one_that_a_store_takes(size_bytes: int) -> None:
    plan = part_plan(size_bytes)
    assert plan.part_bytes >= PART_BYTES
    assert 1 <= plan.count <= MOST_PARTS
    assert 0 < plan.part_size(plan.count) <= plan.part_bytes
    assert (plan.count - 1) * plan.part_bytes + plan.part_size(plan.count) == size_bytes


@pytest.mark.parametrize(
    ("case", "arrived", "etags", "expected"),
    [
        ("whole", ALL, None, PartsCheck(ALL, (), (), ())),
        ("whole, and as sent", ALL, {1: '"a"', 2: "b", 3: "c"}, PartsCheck(ALL, (), (), ())),
        ("nothing yet", (), None, PartsCheck((), (1, 2, 3), (), ())),
        ("one is missing", (FIRST, LAST), None, PartsCheck((FIRST, LAST), (2,), (), ())),
        ("one is short", (FIRST, SECOND, replace(LAST, size_bytes=4)), None, PartsCheck(ALL[:2], (), (3,), ())),
        ("one is not as sent", ALL, {1: "a", 2: "x", 3: "c"}, PartsCheck((FIRST, LAST), (), (), (2,))),
        ("one is not this sender's", ALL, {1: "a", 2: "b"}, PartsCheck(ALL[:2], (), (), (3,))),
        ("one too many does not matter", (*ALL, Part(4, 10, "d", THEN)), None, PartsCheck(ALL, (), (), ())),
    ],
)
def test_check_parts(case: str, arrived: tuple[Part, ...], etags: dict[int, str] | None, expected: PartsCheck) -> None:
    assert check_parts(PLAN, arrived, etags) == expected, case


ONE_PART = PartPlan(size_bytes=10, part_bytes=10)
AGAIN, AT_ONCE, SHORT = Part(1, 10, "b", LATER), Part(1, 10, "c", THEN), Part(1, 9, "d", THEN)


@pytest.mark.parametrize(
    ("case", "arrived", "etags", "expected"),
    [
        ("the newest counts", (AGAIN, FIRST), None, PartsCheck((AGAIN,), (), (), ())),
        ("the sender's word counts more", (AGAIN, FIRST), {1: "a"}, PartsCheck((FIRST,), (), (), ())),
        (
            "the newest counts, even if it is short",
            (FIRST, replace(SHORT, modified_at=LATER)),
            None,
            PartsCheck((), (), (1,), ()),
        ),
        ("of two at once the one that fits", (SHORT, FIRST), None, PartsCheck((FIRST,), (), (), ())),
        ("of two at once that differ neither", (FIRST, AT_ONCE), None, PartsCheck((), (), (), (1,))),
        ("the same bytes twice are one", (FIRST, FIRST), None, PartsCheck((FIRST,), (), (), ())),
        ("the one it means is short", (FIRST, SHORT), {1: "d"}, PartsCheck((), (), (1,), ())),
    ],
)
def test_a_part_that_was_sent_again(
    case: str, arrived: tuple[Part, ...], etags: dict[int, str] | None, expected: PartsCheck
) -> None:
    assert check_parts(ONE_PART, arrived, etags) == expected, case


def test_the_refusal_names_each_part_to_send_again() -> None:
    check = PartsCheck(chosen=(), missing=(3,), wrong_size=(1,), wrong_checksum=(1, 2))
    with pytest.raises(InvalidInput, match="missing: 3; wrong size: 1; wrong checksum: 1, 2") as refused:
        require_whole(check)
    assert refused.value.field == "parts"
    assert check.to_send == (1, 2, 3)


def test_the_refusal_stays_short() -> None:
    with pytest.raises(InvalidInput, match="and 9980 more"):
        require_whole(PartsCheck((), tuple(range(1, 10_001)), (), ()))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("goal.mp4", "goal.mp4"),
        ("Müller 1:0.mp4", "Müller 1:0.mp4"),
        ('a"; filename="b.exe', "a_; filename=_b.exe"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("line\r\nSet-Cookie: x", "line__Set-Cookie: x"),
        ("", "download"),
        ("...", "download"),
    ],
)
def test_a_download_gets_a_harmless_name(name: str, expected: str) -> None:
    assert _file_name(attachment(name)) == expected


@given(st.text(max_size=300))
def test_no_name_breaks_out_of_the_header(name: str) -> None:
    header = attachment(name)
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2
    assert header.startswith('attachment; filename="')
    assert 0 < len(_file_name(header)) <= 200


def _file_name(header: str) -> str:
    """As browsers read it: the second form wins."""
    return unquote(header.partition("; filename*=UTF-8''")[2])
