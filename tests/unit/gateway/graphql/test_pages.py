from __future__ import annotations

from uuid import UUID

import pytest

from touchline.gateway.graphql.pages import Cursors, PageInput, PageRows, PageWindow, connection, window
from touchline.kernel import InvalidInput, TenantId

CURSOR = Cursors("secret").of(TenantId(UUID(int=1)), "things")
HERE, THERE = CURSOR.seal(b"here"), CURSOR.seal(b"there")


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (None, PageWindow(50, None, None, from_the_end=False)),
        (PageInput(), PageWindow(50, None, None, from_the_end=False)),
        (PageInput(first=1), PageWindow(1, None, None, from_the_end=False)),
        (PageInput(first=500, after=HERE), PageWindow(500, b"here", None, from_the_end=False)),
        (PageInput(last=7), PageWindow(7, None, None, from_the_end=True)),
        (PageInput(last=7, before=THERE), PageWindow(7, None, b"there", from_the_end=True)),
        (PageInput(after=HERE, before=THERE), PageWindow(50, b"here", b"there", from_the_end=False)),
    ],
)
def test_what_a_page_asks_for(page: PageInput | None, expected: PageWindow) -> None:
    assert window(page, CURSOR) == expected


@pytest.mark.parametrize(
    ("page", "field"),
    [
        (PageInput(first=0), "page.first"),
        (PageInput(first=-1), "page.first"),
        (PageInput(first=501), "page.first"),
        (PageInput(last=0), "page.last"),
        (PageInput(first=1, last=1), "page"),
        (PageInput(after="nonsense"), "page.after"),
        (PageInput(before="nonsense"), "page.before"),
    ],
)
def test_what_is_no_page(page: PageInput, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        window(page, CURSOR)
    assert refused.value.field == field


def test_a_connection_carries_the_cursors_of_its_rows() -> None:
    rows = PageRows(["a", "b"], has_next=True, has_previous=False, total_count=9)
    made = connection(rows, [1, 2], str.encode, CURSOR)
    assert [(CURSOR.open(edge.cursor, "after"), edge.node) for edge in made.edges] == [(b"a", 1), (b"b", 2)]
    assert (made.page_info.start_cursor, made.page_info.end_cursor) == (made.edges[0].cursor, made.edges[1].cursor)
    assert (made.page_info.has_next_page, made.page_info.has_previous_page, made.total_count) == (True, False, 9)


def test_an_empty_page_has_no_cursors() -> None:
    made = connection(
        PageRows(list[str](), has_next=False, has_previous=False, total_count=0), list[int](), str.encode, CURSOR
    )
    assert (made.edges, made.page_info.start_cursor, made.page_info.end_cursor) == ([], None, None)
