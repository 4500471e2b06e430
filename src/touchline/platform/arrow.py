"""pyarrow, for everybody who exchanges columns. It has no types, so that everything of it is `Any` here."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any, Protocol, cast

import pyarrow  # pyright: ignore[reportMissingTypeStubs]  # noqa: ICN001

pa = cast("Any", pyarrow)
ArrowRows = Any  # a `pyarrow.Table` or a `pyarrow.RecordBatch`


class _NoPandas(MetaPathFinder):
    """With its first array pyarrow tries to import pandas, once, to recognize its objects. We use none of them, and
    pandas comes with chdb: loading it would cost a second and 58 MiB during the first events."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ImportError(fullname)


def _skip_pandas() -> None:
    sys.meta_path.insert(0, nothing := _NoPandas())
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(nothing)


_skip_pandas()


class ArrowTable(Protocol):
    """What we use of `pyarrow.Table`."""

    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def schema(self) -> Any: ...
    def column(self, i: str | int) -> Any: ...
    def to_pylist(self) -> list[dict[str, Any]]: ...
