"""The window of a live stream on a disk: what goes when time, budget or disk run out."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from touchline.kernel import ManualClock, NotFound
from touchline.media.live import InitMessage, PartMessage
from touchline.serve.live.playlists import Reload
from touchline.serve.live.window import KEPT_IN_MEMORY, LiveStorage, StreamWindow

NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def window(folder: Path, budget_bytes: int = 10**9, length: timedelta = timedelta(hours=2)) -> StreamWindow:
    storage = LiveStorage(folder, budget_bytes)
    storage.open()
    made = StreamWindow(
        folder / "stream", storage, ManualClock(NOON), length, timedelta(milliseconds=500), 100, 2 * SECOND
    )
    storage.windows.append(made)
    made.take_init(InitMessage(1, 640, 360, "avc1.64001e"), b"init")
    return made


def part(number: int, **other: Any) -> PartMessage:
    """Of segments of two parts, a second each."""
    values: dict[str, Any] = {
        "start_us": number * 1_000_000,
        "duration_us": 1_000_000,
        "frames": 25,
        "begins_segment": number % 2 == 0,
        "ends_segment": number % 2 == 1,
        "independent": number % 2 == 0,
        "discontinuity": False,
        "keyframe_gap_us": 2_000_000,
        "dropped_frames": 0,
    }
    return PartMessage(**(values | other))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def filled(made: StreamWindow, parts: int, size: int = 100) -> None:
    for number in range(parts):
        await made.take_part(part(number), bytes([number % 250]) * size)


async def test_segments_are_read_as_they_were_written(tmp_path: Path) -> None:
    made = window(tmp_path)
    await filled(made, 6)
    segments = made.segments(NOON - SECOND, NOON + 60 * SECOND)
    assert [each.sequence for each in segments] == [100, 101, 102]
    assert await made.segment_bytes(segments[1]) == bytes([2]) * 100 + bytes([3]) * 100
    assert [each.starts_at for each in segments] == [NOON - SECOND + 2 * number * SECOND for number in range(3)]
    assert await made.init_bytes(segments[0].init) == b"init"
    assert [each.sequence for each in made.segments(NOON + SECOND, NOON + 3 * SECOND)] == [101]


async def test_what_is_older_than_the_window_goes(tmp_path: Path) -> None:
    made = window(tmp_path, length=4 * SECOND)
    await filled(made, 20)
    assert [each.sequence for each in made.view.segments] == [107, 108, 109]
    assert len(list((tmp_path / "stream").iterdir())) == 3
    with pytest.raises(NotFound):
        await made.init_bytes(7)


async def test_the_budget_of_all_windows_takes_from_the_largest(tmp_path: Path) -> None:
    large = window(tmp_path, budget_bytes=2000)
    await filled(large, 14)
    small = StreamWindow(tmp_path / "other", large.storage, large.clock, large.length, large.part_target, 1, 2 * SECOND)
    large.storage.windows.append(small)
    small.take_init(InitMessage(1, 640, 360, "avc1.64001e"), b"init")
    await filled(small, 8)
    assert large.storage.used_bytes == large.used_bytes + small.used_bytes <= 2000
    assert len(small.view.segments) == 4
    assert len(large.view.segments) < 7


async def test_a_full_disk_leaves_the_live_edge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = window(tmp_path)
    await filled(made, 16)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("touchline.serve.live.window.os.pwrite", full)
    for number in range(16, 60):
        await made.take_part(part(number), bytes([number]) * 100)
    segments = made.segments(NOON - SECOND, NOON + 600 * SECOND)
    assert segments[-1].sequence == 129
    assert len(segments) == KEPT_IN_MEMORY
    assert await made.segment_bytes(segments[-1]) == bytes([58]) * 100 + bytes([59]) * 100
    monkeypatch.undo()
    await made.take_part(part(60), b"again")
    await made.take_part(part(61), b"again")
    assert (tmp_path / "stream" / "segment_130.m4s").read_bytes() == b"againagain"


async def test_a_break_begins_another_segment_and_counts_when_it_leaves(tmp_path: Path) -> None:
    made = window(tmp_path, length=6 * SECOND)
    await made.take_part(part(0), b"a")
    closed = made.break_off()
    assert closed
    assert (closed.sequence, closed.duration) == (100, SECOND)
    made.take_init(InitMessage(1, 640, 360, "avc1.64001e"), b"second")
    await filled(made, 2)
    [_, second] = made.view.segments
    assert (second.sequence, second.init, second.follows_break) == (101, 2, True)
    assert second.starts_at >= closed.starts_at + closed.duration
    await filled(made, 20)
    assert made.breaks_before == 1


async def test_players_wait_for_the_next_part(tmp_path: Path) -> None:
    made = window(tmp_path)
    await filled(made, 2)
    waiting = asyncio.create_task(made.wait(Reload(101, 0), 60 * SECOND))
    await asyncio.sleep(0)
    assert not waiting.done()
    await made.take_part(part(2), b"c")
    assert await waiting
    assert not await made.wait(Reload(101, 1), timedelta(0))


async def test_what_an_earlier_process_left_is_cleared(tmp_path: Path) -> None:
    await filled(window(tmp_path), 4)
    storage = LiveStorage(tmp_path, 10**9)
    assert storage.open() == 1
    assert names(tmp_path) == []


async def test_a_deleted_window_gives_its_space_back(tmp_path: Path) -> None:
    made = window(tmp_path)
    await filled(made, 4)
    made.delete()
    assert (made.storage.used_bytes, made.storage.windows, names(tmp_path)) == (0, [], [])


async def test_a_discontinuity_closes_what_was_open(tmp_path: Path) -> None:
    """And says so: recordings count on every closed segment."""
    made = window(tmp_path)
    assert await made.take_part(part(0), b"a") == []
    [closed] = await made.take_part(part(0, discontinuity=True), b"b")
    assert (closed.sequence, closed.size_bytes) == (100, 1)
    [second] = await made.take_part(part(1), b"c")
    assert (second.sequence, second.follows_break, second.size_bytes) == (101, True, 2)
