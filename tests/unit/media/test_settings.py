from __future__ import annotations

import os
from dataclasses import asdict
from datetime import timedelta

from touchline.media.child.order import ChildLimits, Options, TaskOrder
from touchline.media.settings import MOST_THREADS, MediaSettings, child_limits, child_options, child_threads


def test_limits_are_of_processor_time_and_the_clock_is_generous() -> None:
    settings = MediaSettings(threads=3)
    short, long = child_limits(settings, timedelta(seconds=10)), child_limits(settings, timedelta(hours=6))
    assert (short.cpu_s, short.wall_s) == (31, 600)
    assert (long.cpu_s, long.wall_s) == (3 * 6 * 3600 + 1, 60 * 3600)


def test_as_many_threads_as_cores_but_not_without_end() -> None:
    assert child_threads(MediaSettings()) == min(os.cpu_count() or 1, MOST_THREADS)
    assert child_threads(MediaSettings(threads=5)) == 5


def test_options_are_whole_numbers() -> None:
    options = asdict(child_options(MediaSettings.model_validate({"segment_duration": "6s", "longest_video": "2h"})))
    assert (options["segment_ms"], options["longest_ms"]) == (6000, 7_200_000)
    assert Options(**options)


def test_an_order_reads_back_as_it_was_written() -> None:
    limits = ChildLimits(wall_s=1.5, cpu_s=2, memory_bytes=3, file_bytes=4, output_bytes=5, processes=None)
    order = TaskOrder("probe", {"a": [1, "b"]}, limits, user_id=7, namespaces=True)
    assert TaskOrder.decode(order.encode()) == order
