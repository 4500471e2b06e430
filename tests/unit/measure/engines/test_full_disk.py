"""Files that are unpacked where there is no space: /dev/full is such a place on every Linux."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from touchline.kernel import StorageFull
from touchline.measure.engines.inputs import plain_files


def test_an_input_that_cannot_be_unpacked_for_want_of_space_is_not_unreadable(tmp_path: Path) -> None:
    packed = tmp_path / "events.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"type": "x"}\n' * 10_000))
    (tmp_path / "input-0.unpacked").symlink_to("/dev/full")
    with pytest.raises(StorageFull):
        list(plain_files([str(packed)], tmp_path))
