"""How server-sent events are written, and how a stream stays alive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest
from hypothesis import given, strategies as some

from touchline.gateway.rest.watch import frame, last_position, with_pauses


@given(some.dictionaries(some.text(), some.text()), some.integers(0, 2**60))
def test_a_document_is_one_line_whatever_is_in_it(document: dict[str, str], position: int) -> None:
    lines = frame("goal", document, position).split("\n")
    assert lines[:2] == [f"id: {position}", "event: goal"]
    assert lines[2].startswith("data: {")
    assert lines[3:] == ["", ""]
    assert "\r" not in lines[2]


@pytest.mark.parametrize(
    ("header", "position"),
    [
        ("17", 17),
        ("0", 0),
        (None, None),
        ("", None),
        ("-1", None),
        ("1e3", None),
        ("9" * 19, None),
        ("\u0661\u0667", None),
    ],
)
def test_only_a_position_is_one(header: str | None, position: int | None) -> None:
    assert last_position(header) == position


async def test_silence_is_noticed_and_nothing_is_lost_by_it() -> None:
    gate, ended = asyncio.Event(), asyncio.Event()

    async def items() -> AsyncGenerator[int]:
        try:
            yield 1
            await gate.wait()
            yield 2
        finally:
            ended.set()

    stream = with_pauses(items(), timedelta(milliseconds=1))
    assert await anext(stream) == 1
    assert await anext(stream) is None
    gate.set()
    rest = [item async for item in stream if item is not None]
    assert rest == [2]
    assert ended.is_set()


async def test_whoever_leaves_ends_what_it_waited_for() -> None:
    ended = asyncio.Event()

    async def silent() -> AsyncGenerator[int]:
        try:
            await asyncio.Event().wait()
            yield 1
        finally:
            ended.set()

    stream = with_pauses(silent(), timedelta(milliseconds=1))
    assert await anext(stream) is None
    await stream.aclose()
    assert ended.is_set()
