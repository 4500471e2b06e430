"""Whatever the guards let pass and the quick parser takes, the slow reader takes too, and finds the same depth."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import example, given, strategies as st

from tests.support.builds import LINES, VALUES, broken_line
from tests.support.properties import examples
from touchline.measure.engines.plain_events import LONGEST, PlainEnvelope, judged
from touchline.measure.sessions.parser import DEEPEST, Quarantined, Reason, read_text

HEAD = b'{"id":"%d","type":"ai_stream_status","timestamp":"1767960000000","data":{"stream_id":"s","x":'
LEFT_TO_THE_READER = {Reason.UNPARSABLE, Reason.TOO_DEEP, Reason.TOO_LARGE}

quick = msgspec.json.Decoder(PlainEnvelope)

fillings = st.one_of(
    st.sampled_from(VALUES),
    st.integers(DEEPEST - 6, DEEPEST + 3).map(lambda depth: b"[" * depth + b"]" * depth),
    st.integers(1, 40).map(lambda many: b"[" + b",".join([b'{"a":[0]}'] * many) + b"]"),
    st.builds(
        lambda sign, digits, point, exponent: f"{sign}{digits}{point}{exponent}".encode(),
        st.sampled_from(("", "-")),
        st.integers(1, 330).map(lambda many: "7" * many),
        st.sampled_from(("", ".5", "." + "0" * 70)),
        st.sampled_from(("", "e1", "E30", "e308", "e309", "e+309", "E+30", "e-400", "e0308")),
    ),
    st.text(max_size=30).map(msgspec.json.encode),
    st.binary(max_size=12).map(lambda content: b'"' + content.replace(b"\n", b" ") + b'"'),
    st.from_regex(rb"[0-9a-f]{8}-[0-9a-f]{4}", fullmatch=True).map(lambda text: b'"' + text + b'"'),
    st.integers(0, LONGEST + 9).map(lambda many: b'"' + b"x" * many + b'"'),
)


def line(number: int, value: bytes) -> bytes:
    return HEAD % number + value + b"}}"


def vouched_for(lines: list[bytes], tail: bytes = b"", *, ended: bool = True) -> list[bool]:
    content = b"\n".join(lines) + (b"\n" if ended else b"")
    ends, doubtful = judged(content + tail, len(content))
    assert [content[start:end] for start, end in zip([0, *(ends[:-1] + 1)], ends, strict=True)] == lines
    return [not doubt for doubt in doubtful.tolist()]


def taken(content: bytes) -> bool:
    try:
        quick.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def check(lines: list[bytes], sure: list[bool]) -> None:
    for content, passed in zip(lines, sure, strict=True):
        reading = read_text(content)
        refused = isinstance(reading, Quarantined) and reading.reason in LEFT_TO_THE_READER
        assert not (passed and refused and taken(content)), content


@examples(300)
@example(values=list(VALUES), seed=0, ended=False, tail=b"\xff1e999")
@given(
    values=st.lists(fillings, min_size=1, max_size=20),
    seed=st.integers(0, 2**32),
    ended=st.booleans(),
    tail=st.sampled_from((b"", b'{"id":1e999', b"\xff")),
)
def test_what_passes_is_read_without_complaint(values: list[bytes], seed: int, ended: bool, tail: bytes) -> None:
    random = Random(seed)
    lines = [line(number, value) for number, value in enumerate(values)]
    lines = [broken_line(random, one) if random.random() < 0.2 else one for one in lines]
    lines = [one for one in lines if one] or [b"{}"]
    check(lines, vouched_for(lines, tail, ended=ended))


@pytest.mark.parametrize("shift", range(64))
def test_what_is_looked_for_is_found_across_words(shift: int) -> None:
    """Wherever in a word it begins."""
    before = line(0, b'"' + b"x" * shift + b'"')
    doubted = [b"1e309", b"12E999", b"-0.5e400", b"7e+999", b"7" * 310, b"[" * 64 + b"]" * 64]
    plain = [b"1e30", b'"1e309"', b"7" * 190, b"[" * 61 + b"]" * 61, b'"0f1e3094-5e4321"', b'"\xe2\x9a\xbd"']
    lines = [before, *(line(1, value) for value in doubted + plain)]
    sure = vouched_for(lines)
    assert sure == [True] + [False] * len(doubted) + [True] * len(plain)
    check(lines, sure)


def test_lines_that_nobody_can_read_are_judged_too() -> None:
    for content in (*LINES, b"7" * 400, b"e" * 400, b"+" * 70, b"1e309"):
        lines = [content] if content else [b"{}"]
        check(lines, vouched_for(lines, ended=False))
