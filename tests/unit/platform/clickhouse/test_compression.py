from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import lz4.frame
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from touchline.platform.clickhouse.compression import PIECE, Unpacker
from touchline.platform.clickhouse.protocol import ServerException

COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstd.compress,
    "lz4": lz4.frame.compress,
}
methods = pytest.mark.parametrize("method", COMPRESSORS)


def unpacked(method: str, chunks: list[bytes]) -> bytes:
    unpacker = Unpacker(method)
    data = b"".join(piece for chunk in chunks for piece in unpacker.feed(chunk))
    unpacker.finish()
    return data


@methods
@given(blocks=st.lists(st.binary(max_size=500), min_size=1, max_size=4), size=st.integers(1, 50))
def test_any_blocks_in_any_chunks(method: str, blocks: list[bytes], size: int) -> None:
    packed = b"".join(COMPRESSORS[method](block) for block in blocks)
    chunks = [packed[start : start + size] for start in range(0, len(packed), size)]
    assert unpacked(method, chunks) == b"".join(blocks)


@methods
def test_a_bomb_comes_in_pieces(method: str) -> None:
    bomb = COMPRESSORS[method](b"\0" * 8 * PIECE)
    pieces = [len(piece) for piece in Unpacker(method).feed(bomb)]
    assert max(pieces) <= PIECE
    assert sum(pieces) == 8 * PIECE


@methods
@given(cut=st.integers(1, 20))
def test_an_early_end_is_noticed(method: str, cut: int) -> None:
    packed = COMPRESSORS[method](bytes(range(256)))
    with pytest.raises(ServerException) as caught:
        unpacked(method, [packed[:-cut]])
    assert caught.value.code == 271


@methods
def test_what_is_not_compressed_is_refused(method: str) -> None:
    with pytest.raises(ServerException) as caught:
        unpacked(method, [b"INSERT INTO t FORMAT CSV\n1,2,3\n"])
    assert caught.value.code == 271


@pytest.mark.parametrize("method", ["br", "gzip, zstd", "x"])
def test_unknown_methods_are_refused(method: str) -> None:
    with pytest.raises(ServerException) as caught:
        Unpacker(method)
    assert caught.value.code == 89
