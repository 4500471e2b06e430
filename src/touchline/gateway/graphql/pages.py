"""Pages of lists: connections, cursors and global ids.

Invariant: a page is the `first` or the `last` rows between two places; a place is a row's exact key, never an offset. A
cursor is sealed: one that was changed, or made for another list or another tenant, is refused.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import strawberry
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from touchline.kernel import InvalidInput, TenantId

# --- Cursors: where a list or a stream resumes, as opaque text that only this installation can make. One place has
# one text.

LONGEST_CURSOR = 512


class Cursors:
    def __init__(self, cluster_secret: str) -> None:
        derive = HKDF(hashes.SHA256(), length=64, salt=None, info=b"touchline cursors")
        self._cipher = AESSIV(derive.derive(cluster_secret.encode()))

    def of(self, tenant_id: TenantId, kind: str) -> Cursor:
        """The cursors of one list of one tenant."""
        return Cursor(self._cipher, (kind.encode(), tenant_id.bytes))


@dataclass(frozen=True, slots=True)
class Cursor:
    _cipher: AESSIV = field(repr=False)
    _bound: tuple[bytes, bytes] = field(repr=False)

    def seal(self, place: bytes) -> str:
        return _text(self._cipher.encrypt(place, list(self._bound)))

    def open(self, text: str, name: str) -> bytes:
        """The place; `name` is the argument that a wrong cursor is reported under."""
        try:
            return self._cipher.decrypt(_bytes(text), list(self._bound))
        except (InvalidTag, ValueError) as error:
            hint = "Use a cursor that this list returned, unchanged."
            raise InvalidInput(
                "not a valid cursor", field=name, why="it does not belong to this list", hint=hint
            ) from error


def _text(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    """One text for one cursor: what the decoder would forgive is refused."""
    if len(text) > LONGEST_CURSOR:
        raise ValueError("too long")
    sealed = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    if _text(sealed) != text:
        raise ValueError("not canonical")
    return sealed


# --- Pages.

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
class PageWindow:
    """The rows strictly between two places: the first of them, or the last. Without a place there is no border."""

    size: int
    after: bytes | None
    before: bytes | None
    from_the_end: bool


@dataclass(frozen=True, slots=True)
class PageRows(Generic[Row]):
    """One page as its owner answers it."""

    rows: Sequence[Row]
    has_next: bool
    has_previous: bool
    total_count: int


def window(page: PageInput | None, cursor: Cursor) -> PageWindow:
    page = page or PageInput()
    if page.first is not None and page.last is not None:
        raise InvalidInput("invalid page arguments", field="page", why="use either `first` or `last`")
    from_the_end = page.last is not None
    wanted, name = (page.last, "page.last") if from_the_end else (page.first, "page.first")
    return PageWindow(
        size=_size(PAGE_SIZE if wanted is None else wanted, name),
        after=None if page.after is None else cursor.open(page.after, "page.after"),
        before=None if page.before is None else cursor.open(page.before, "page.before"),
        from_the_end=from_the_end,
    )


def connection(
    found: PageRows[Row], nodes: Sequence[Item], place: Callable[[Row], bytes], cursor: Cursor
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
        raise InvalidInput("invalid page size", field=name, why=f"it must be between 1 and {LARGEST_PAGE}")
    return wanted


# --- Global ids, for `node(id)`: a kind and a key, nothing else. One that we did not make finds nothing.

LONGEST_ID = 200


@strawberry.interface
class Node:
    id: strawberry.ID


def global_id(kind: str, key: str) -> strawberry.ID:
    return strawberry.ID(urlsafe_b64encode(f"{kind}:{key}".encode()).decode().rstrip("="))


def parse_global_id(text: str) -> tuple[str, str] | None:
    if len(text) > LONGEST_ID:
        return None
    try:
        kind, separator, key = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition(":")
    except ValueError:
        return None
    return (kind, key) if separator else None
