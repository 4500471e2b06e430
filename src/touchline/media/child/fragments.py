"""Fragments of MP4 (ISO 14496-12): boxes that say what lies in the `mdat` behind them, for pictures and sound."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from touchline.media.model import MediaFailure

from .failures import InputRefused
from .sample_tables import Numbers, TrackSamples

TYPE = struct.pack(">I4s4sI4s4s", 24, b"styp", b"msdh", 0, b"msdh", b"msix")
FROM_THE_FRAGMENT = 0x020000  # is where places are counted
PLACE, DELAYS = 0x001, 0x800
# Duration, size and flags: as a flag of the table where they differ, of the header where all are the same.
COLUMNS = ((0x100, 0x08), (0x200, 0x10), (0x400, 0x20))
LONG_TIME = 0x01000000  # the version with 64 bits
KEY, OTHER = 0x02000000, 0x01010000  # needs no other picture; needs others, and nothing can begin with it
MOST_BYTES = 0x7FFFFFFF
HEAD = 8  # of a box


def fragment(number: int, parts: Sequence[tuple[int, TrackSamples]]) -> bytes:
    """All but the samples, which follow part by part; each part with the number of its track."""
    lengths = [int(samples.sizes.sum()) for _, samples in parts]
    if sum(lengths) > MOST_BYTES // 2:
        raise InputRefused(MediaFailure.LIMIT, "a piece of it between two keyframes is too large")
    content = _box(b"mfhd", struct.pack(">II", 0, number))
    before = 2 * HEAD + len(content) + sum(len(_part(*part, 0)) for part in parts)
    for index, part in enumerate(parts):
        content += _part(*part, before + sum(lengths[:index]))
    return TYPE + _box(b"moof", content) + struct.pack(">I4s", HEAD + sum(lengths), b"mdat")


def _part(track: int, samples: TrackSamples, place: int) -> bytes:
    columns = samples.durations, samples.sizes, np.where(samples.is_key, KEY, OTHER)
    delays = samples.shown - samples.decoded
    header, table, same, own = FROM_THE_FRAGMENT, PLACE, b"", list[Numbers]()
    for (varies, default), column in zip(COLUMNS, columns, strict=True):
        if (column == column[0]).all():
            header, same = header | default, same + struct.pack(">I", int(column[0]))
        else:
            table, own = table | varies, [*own, column]
    if delays.any():
        table, own = table | DELAYS, [*own, delays]
    rows = np.stack(own, axis=1).astype(">u4").tobytes() if own else b""
    return _box(
        b"traf",
        _box(b"tfhd", struct.pack(">II", header, track), same),
        _box(b"tfdt", struct.pack(">IQ", LONG_TIME, int(samples.decoded[0]))),
        _box(b"trun", struct.pack(">III", table, len(samples), place), rows),
    )


def _box(kind: bytes, *content: bytes) -> bytes:
    return struct.pack(">I4s", HEAD + sum(map(len, content)), kind) + b"".join(content)
