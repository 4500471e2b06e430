from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import InvalidInput, LimitExceeded
from touchline.platform.objects.rules import (
    LARGEST_OBJECT_BYTES,
    MEBIBYTE,
    MOST_PARTS,
    PART_BYTES,
    ByteRange,
    ObjectAttributes,
    PartPlan,
    PartsCheck,
    SignedUrl,
    UploadedPart,
    check_parts,
    content_disposition,
    join_key,
    object_key,
    part_plan,
    require_complete,
)

HOSTILE = [
    "",
    "/",
    "/etc/passwd",
    "videos/",
    "videos//master.mp4",
    "..",
    "../secret",
    "videos/../../secret",
    "videos/..",
    "videos/./master.mp4",
    ".uploads/steal",
    "videos/.versions",
    "videos\\..\\master.mp4",
    "line\nbreak",
    "null\0byte",
    "escape\x1b[31m",
    "right-to-left\u202egp4",
    "lone\ud800surrogate",
    "x" * 256,
    "é" * 128,
    "/".join(["segment"] * 129),
]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_keys_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        object_key(text)
    assert refused.value.field == "key"


@pytest.mark.parametrize(
    "text", ["a", "videos/original/1/master.mp4", "a b/c+d%20?#&=.ts", "events/Müller.jsonl", "x" * 255, "a/b..c"]
)
def test_harmless_keys_stay_as_they_are(text: str) -> None:
    assert object_key(text) == text


@pytest.mark.parametrize("segments", [("a", "b/c"), ("a", "../b"), ("a", ""), ("a", ".."), ("/", "a"), ()])
def test_a_segment_from_outside_cannot_add_a_level(segments: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput):
        join_key(*segments)


def test_segments_are_joined() -> None:
    assert join_key("videos", "original", "1", "master.mp4") == "videos/original/1/master.mp4"


@given(st.text(max_size=40))
def test_whatever_passes_stays_below_its_folder(text: str) -> None:
    try:
        key = join_key("folder", text)
    except InvalidInput:
        return
    assert key.split("/") == ["folder", text]
    assert not text.startswith(".")
    assert text.isprintable()


@pytest.mark.parametrize(
    "metadata",
    [
        {"Upper": "x"},
        {"": "x"},
        {"with space": "x"},
        {"name": "line\r\nbreak"},
        {"name": "é"},
        {"name": " padded"},
        {"name": "x" * 2048},
    ],
    ids=ascii,
)
def test_metadata_that_would_change_on_the_way_is_refused(metadata: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        ObjectAttributes(metadata=metadata)
    assert refused.value.field == "metadata"


def test_a_content_type_is_no_second_header() -> None:
    with pytest.raises(InvalidInput):
        ObjectAttributes("text/html\r\nx-amz-acl: public-read")


@pytest.mark.parametrize(("start", "stop"), [(-1, None), (5, 5), (5, 4)])
def test_a_range_has_bytes(start: int, stop: int | None) -> None:
    with pytest.raises(InvalidInput):
        ByteRange(start, stop)


def test_a_signed_link_does_not_show() -> None:
    link = SignedUrl("https://example.org/key?X-Amz-Signature=abc", datetime(2026, 1, 1, tzinfo=UTC))
    assert "Signature" not in repr(link)


THEN = datetime(2026, 3, 31, 12, tzinfo=UTC)
LATER = THEN + timedelta(seconds=1)
PLAN = PartPlan(size_bytes=25, part_bytes=10)
FIRST, SECOND, LAST = UploadedPart(1, 10, "a", THEN), UploadedPart(2, 10, "b", THEN), UploadedPart(3, 5, "c", THEN)
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
        ("one too many does not matter", (*ALL, UploadedPart(4, 10, "d", THEN)), None, PartsCheck(ALL, (), (), ())),
    ],
)
def test_check_parts(
    case: str, arrived: tuple[UploadedPart, ...], etags: dict[int, str] | None, expected: PartsCheck
) -> None:
    assert check_parts(PLAN, arrived, etags) == expected, case


ONE_PART = PartPlan(size_bytes=10, part_bytes=10)
AGAIN, AT_ONCE, SHORT = UploadedPart(1, 10, "b", LATER), UploadedPart(1, 10, "c", THEN), UploadedPart(1, 9, "d", THEN)


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
    case: str, arrived: tuple[UploadedPart, ...], etags: dict[int, str] | None, expected: PartsCheck
) -> None:
    assert check_parts(ONE_PART, arrived, etags) == expected, case


def test_the_refusal_names_each_part_to_send_again() -> None:
    check = PartsCheck(chosen=(), missing=(3,), wrong_size=(1,), wrong_checksum=(1, 2))
    with pytest.raises(InvalidInput, match="missing: 3; wrong size: 1; wrong checksum: 1, 2") as refused:
        require_complete(check)
    assert refused.value.field == "parts"
    assert check.to_send == (1, 2, 3)


def test_the_refusal_stays_short() -> None:
    with pytest.raises(InvalidInput, match="and 9980 more"):
        require_complete(PartsCheck((), tuple(range(1, 10_001)), (), ()))


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
    assert _file_name(content_disposition(name)) == expected


@given(st.text(max_size=300))
def test_no_name_breaks_out_of_the_header(name: str) -> None:
    header = content_disposition(name)
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2
    assert header.startswith('attachment; filename="')
    assert 0 < len(_file_name(header)) <= 200


def _file_name(header: str) -> str:
    """As browsers read it: the second form wins."""
    return unquote(header.partition("; filename*=UTF-8''")[2])
