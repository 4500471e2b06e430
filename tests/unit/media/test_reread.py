"""Packets that were read once can be had again, if they are not too large."""

from __future__ import annotations

from itertools import islice

from av.packet import Packet

from touchline.media.child.probe import MOST_BYTES, ReplayablePackets


def test_what_was_read_comes_again_before_the_rest() -> None:
    packets = [Packet(bytes(size)) for size in (5, 6, 7, 8)]
    kept = ReplayablePackets(iter(packets))
    assert list(islice(kept, 2)) == packets[:2]
    again = kept.again()
    assert again
    assert list(again) == packets


def test_what_is_too_large_has_to_be_read_again() -> None:
    kept = ReplayablePackets(iter([Packet(MOST_BYTES), Packet(1), Packet(1)]))
    assert len(list(islice(kept, 2))) == 2
    assert kept.again() is None
