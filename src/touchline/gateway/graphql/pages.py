"""Pages of lists: one connection type for everything, by exact keys in both directions.

Invariant: a page is the `first` or the `last` rows between two places; a place is a row's exact key, never a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import strawberry

from touchline.kernel.errors import InvalidInput

from .cursors import Cursor

PAGE_SIZE = 50
LARGEST_PAGE = 500

Item = TypeVar("Item")
Row = TypeVar("Row")


@strawberry.input
class PageInput:
    first: int | None = None
    after: str | None = None
    last: int | None = None
    before: str | None = None


@strawberry.type
class PageInfo:
    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


@strawberry.type
class Edge(Generic[Item]):
    cursor: str
    node: Item


@strawberry.type
class Connection(Generic[Item]):
    edges: list[Edge[Item]]
    page_info: PageInfo
    total_count: int


@dataclass(frozen=True, slots=True)
class Window:
    """The rows strictly between two places: the first of them, or the last. Without a place there is no border."""

    size: int
    after: bytes | None
    before: bytes | None
    from_the_end: bool


@dataclass(frozen=True, slots=True)
class Rows(Generic[Row]):
    """One page as its owner answers it."""

    rows: Sequence[Row]
    has_next: bool
    has_previous: bool
    total_count: int


def window(page: PageInput | None, cursor: Cursor) -> Window:
    page = page or PageInput()
    if page.first is not None and page.last is not None:
        raise InvalidInput("not a page", field="page", why="it has the `first` rows or the `last` ones, not both")
    from_the_end = page.last is not None
    wanted, name = (page.last, "page.last") if from_the_end else (page.first, "page.first")
    return Window(
        size=_size(PAGE_SIZE if wanted is None else wanted, name),
        after=None if page.after is None else cursor.open(page.after, "page.after"),
        before=None if page.before is None else cursor.open(page.before, "page.before"),
        from_the_end=from_the_end,
    )


def connection(
    found: Rows[Row], nodes: Sequence[Item], place: Callable[[Row], bytes], cursor: Cursor
) -> Connection[Item]:
    edges = [Edge(cursor=cursor.seal(place(row)), node=node) for row, node in zip(found.rows, nodes, strict=True)]
    info = PageInfo(
        has_next_page=found.has_next,
        has_previous_page=found.has_previous,
        start_cursor=edges[0].cursor if edges else None,
        end_cursor=edges[-1].cursor if edges else None,
    )
    return Connection(edges=edges, page_info=info, total_count=found.total_count)


def _size(wanted: int, name: str) -> int:
    if not 0 < wanted <= LARGEST_PAGE:
        raise InvalidInput("not a page size", field=name, why=f"it is between 1 and {LARGEST_PAGE}")
    return wanted
