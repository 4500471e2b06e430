from __future__ import annotations

from collections.abc import Callable
from threading import get_ident

import pytest

from touchline.media.child.renditions import MOST_WAITING, WriterThread


def appending(done: list[int], number: int) -> Callable[[], None]:
    return lambda: done.append(number)


def failing() -> None:
    raise OSError(28, "no room")


def test_one_after_the_other_in_another_thread() -> None:
    writer, done, threads = WriterThread(), list[int](), set[int]()
    for number in range(3 * MOST_WAITING):
        writer.add(appending(done, number))
    writer.add(lambda: threads.add(get_ident()))
    writer.settle()
    assert done == list(range(3 * MOST_WAITING))
    assert get_ident() not in threads


def test_nothing_is_done_after_a_failure_and_everybody_is_told() -> None:
    writer, done = WriterThread(), list[int]()
    writer.add(failing)
    with pytest.raises(OSError, match="no room"):
        for number in range(3 * MOST_WAITING):
            writer.add(appending(done, number))
        writer.settle()
    with pytest.raises(OSError, match="no room"):
        writer.add(appending(done, 1))
    with pytest.raises(OSError, match="no room"):
        writer.settle()
    assert not done
