from __future__ import annotations

from datetime import UTC, datetime

import pytest

from touchline.kernel.errors import InvalidInput
from touchline.platform.objects.model import Attributes, ByteRange, SignedUrl


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
        Attributes(metadata=metadata)
    assert refused.value.field == "metadata"


def test_a_content_type_is_no_second_header() -> None:
    with pytest.raises(InvalidInput):
        Attributes("text/html\r\nx-amz-acl: public-read")


@pytest.mark.parametrize(("start", "stop"), [(-1, None), (5, 5), (5, 4)])
def test_a_range_has_bytes(start: int, stop: int | None) -> None:
    with pytest.raises(InvalidInput):
        ByteRange(start, stop)


def test_a_signed_link_does_not_show() -> None:
    link = SignedUrl("https://example.org/key?X-Amz-Signature=abc", datetime(2026, 1, 1, tzinfo=UTC))
    assert "Signature" not in repr(link)
