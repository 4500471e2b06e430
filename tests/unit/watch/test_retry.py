"""How long workflows wait for parts of our own."""

from __future__ import annotations

from datetime import timedelta

from touchline.watch.temporal import FIRST_PAUSE, LONGEST_PAUSE, TIMEOUT, pause


def test_pauses_grow_to_a_limit() -> None:
    assert [pause(rounds).total_seconds() for rounds in range(6)] == [15, 30, 60, 120, 120, 120]
    assert (pause(0), pause(10_000)) == (FIRST_PAUSE, LONGEST_PAUSE)


def test_a_history_stays_short_while_it_waits() -> None:
    rounds, waited = 0, timedelta(0)
    while waited < TIMEOUT:
        waited += pause(rounds)
        rounds += 1
    assert rounds < 20
