"""Compressed request bodies, opened piece by piece: a small body that is a huge one inside stops at the limit."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Protocol, cast

from .protocol import Code, refusal

PIECE = 1024**2


class Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class ZlibDecompressor:
    """zlib's object, with the manners that the other two share."""

    def __init__(self, window_bits: int) -> None:
        self._inner = zlib.decompressobj(window_bits)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = PIECE) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def _zstd() -> Decompressor:
    module = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    return cast("Decompressor", module.ZstdDecompressor())


def _lz4() -> Decompressor:
    frame: Any = import_module("lz4.frame")
    return cast("Decompressor", frame.LZ4FrameDecompressor())


_METHODS: dict[str, Callable[[], Decompressor]] = {
    "gzip": lambda: ZlibDecompressor(zlib.MAX_WBITS | 16),
    "deflate": lambda: ZlibDecompressor(zlib.MAX_WBITS),
    "zstd": _zstd,
    "lz4": _lz4,
}


class Unpacker:
    """One body, in any number of frames: clickhouse-connect closes one with every block."""

    def __init__(self, method: str) -> None:
        if method not in _METHODS:
            known = ", ".join(_METHODS)
            raise refusal(Code.UNKNOWN_COMPRESSION_METHOD, f"Unknown compression {method!r}; known are {known}")
        self._method = method
        self._frame: Decompressor | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the data holds, in pieces of limited size."""
        try:
            while data:
                frame = self._frame = self._frame or _METHODS[self._method]()
                yield frame.decompress(data, PIECE)
                while not frame.eof and not frame.needs_input:
                    yield frame.decompress(b"", PIECE)
                data = (frame.unused_data or b"") if frame.eof else b""
                if frame.eof:
                    self._frame = None
        except Exception as error:
            raise self._broken(str(error)) from None  # each of the libraries has errors of its own

    def finish(self) -> None:
        if self._frame is not None:
            raise self._broken("it ends in the middle")

    def _broken(self, why: str) -> Exception:
        return refusal(Code.CANNOT_DECOMPRESS, f"Cannot decompress the body as {self._method}: {why}")
