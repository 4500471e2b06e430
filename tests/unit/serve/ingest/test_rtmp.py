"""RTMP as bytes: AMF0, chunk streams, and what a publisher and we say to each other."""

from __future__ import annotations

import contextlib
import itertools
import struct
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import Conflict, Forbidden, InvalidInput, NotFound, TouchlineError, Unavailable
from touchline.serve.ingest import amf, rtmp_chunks
from touchline.serve.ingest.rtmp_chunks import ChunkReader, Message, MessageType, encode_chunks
from touchline.serve.ingest.rtmp_session import Flv, PublishAsked, PublishEnded, RtmpSession, flv_tag, status_code

KEY = "tlk_0123456789abcdefghijklmnopqrstuvwxyz"
HANDSHAKE = b"\x03" + bytes(1536) + bytes(1536)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT.filter(bool), inner, max_size=4),
    max_leaves=12,
)


def command(*values: amf.Value, stream: int = 0) -> bytes:
    return encode_chunks(Message(MessageType.COMMAND, 0, stream, amf.encode(*values)), 3, 128)


def size(chunk_bytes: int) -> bytes:
    return encode_chunks(Message(MessageType.SET_CHUNK_SIZE, 0, 0, struct.pack(">I", chunk_bytes)), 2, 128)


def connect(application: str = "live") -> bytes:
    return HANDSHAKE + command("connect", 1.0, {"app": application, "tcUrl": "rtmp://host/live"})


# As OBS and ffmpeg begin.
OPENING = (
    connect()
    + command("releaseStream", 2.0, None, KEY)
    + command("FCPublish", 3.0, None, KEY)
    + command("createStream", 4.0, None)
)
PUBLISH = command("publish", 5.0, None, KEY, "live", stream=1)


def pieces(data: bytes, cuts: Sequence[int]) -> Iterator[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    yield from (data[begin:end] for begin, end in itertools.pairwise(edges))


def conversation(parts: Iterator[bytes] | Sequence[bytes]) -> tuple[list[str], bytes, bytes]:
    """The keys, the FLV and the answers, where every key is accepted."""
    session, keys, flv, answers = RtmpSession(bytes(1528)), list[str](), b"", b""
    for part in parts:
        session.feed(part)
        for event in session.events():
            match event:
                case PublishAsked(key):
                    keys.append(key)
                    session.accept()
                case Flv(data):
                    flv += data
                case PublishEnded():
                    flv += b"END"
        answers += session.take_outgoing()
    return keys, flv, answers


def statuses(answers: bytes) -> list[str]:
    """The codes that we said, and whether it went well."""
    reader, found = ChunkReader(), list[str]()
    reader.feed(answers[1 + 2 * 1536 :])
    while message := reader.next():
        if message.type == MessageType.COMMAND:
            found += [
                str(value["code"])
                for value in amf.decode(message.payload)
                if isinstance(value, dict) and "code" in value
            ]
    return found


# AMF0


@given(st.lists(VALUES, max_size=4))
def test_amf_values_come_back(values: list[amf.Value]) -> None:
    assert amf.decode(amf.encode(*values)) == values


@given(st.binary(max_size=200))
def test_amf_garbage_is_refused_and_nothing_else(data: bytes) -> None:
    with contextlib.suppress(InvalidInput):
        amf.decode(data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x03" * 20_000, id="objects without end"),
        pytest.param(b"\x0a\0\0\0\1" * 20_000, id="arrays in arrays"),
        pytest.param(b"\x0a\xff\xff\xff\xff", id="an array of four thousand million"),
        pytest.param(b"\x0c\xff\xff\xff\xff" + bytes(100), id="a string of four gigabytes"),
        pytest.param(b"\x05" * 20_000, id="too many values"),
        pytest.param(b"\x07\0\0", id="a reference"),
        pytest.param(b"\x11", id="AMF3"),
    ],
)
def test_amf_has_bounds(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        amf.decode(data)


def test_amf_reads_what_only_others_write() -> None:
    array = b"\x08\0\0\0\0" + b"\0\1a" + amf.encode(1.0) + b"\0\0\x09"
    date = b"\x0b" + struct.pack(">d", 5.0) + b"\0\0"
    typed = b"\x10\0\1T" + b"\0\1b" + amf.encode(True) + b"\0\0\x09"
    assert amf.decode(array + date + typed + b"\x06\x0d") == [{"a": 1.0}, 5.0, {"b": True}, None, None]


# Chunks


MESSAGES = st.lists(
    st.tuples(st.sampled_from([4, 5, 6]), st.integers(0, 2**32 - 1), st.binary(max_size=600)), max_size=6
)


@given(MESSAGES, st.sampled_from([128, 200, 4096]), st.lists(st.integers(0, 10_000), max_size=8))
def test_messages_come_back_however_the_bytes_are_split(
    given_messages: list[tuple[int, int, bytes]], chunk_bytes: int, cuts: list[int]
) -> None:
    messages = [Message(MessageType.DATA, time_ms, 1, payload) for _, time_ms, payload in given_messages]
    sent = size(chunk_bytes) + b"".join(
        encode_chunks(message, number, chunk_bytes)
        for message, (number, _, _) in zip(messages, given_messages, strict=True)
    )
    reader, found = ChunkReader(), list[Message]()
    for piece in pieces(sent, cuts):
        reader.feed(piece)
        while message := reader.next():
            found.append(message)
    assert found[1:] == messages


@given(st.binary(max_size=400))
def test_chunks_of_garbage_are_refused_and_nothing_else(data: bytes) -> None:
    reader = ChunkReader()
    reader.feed(data)
    try:
        while reader.next():
            pass
    except InvalidInput:
        pass


def read(*sent: bytes) -> list[tuple[int, int, bytes]]:
    reader, found = ChunkReader(), list[tuple[int, int, bytes]]()
    reader.feed(b"".join(sent))
    while message := reader.next():
        found.append((message.type, message.time_ms, message.payload))
    return found


def header(kind: int, number: int, time: int, length: int = 0) -> bytes:
    head = bytes([kind << 6 | number]) + time.to_bytes(3, "big")
    rest = length.to_bytes(3, "big") + b"\x12" if kind < 2 else b""
    return head + rest + (b"\1\0\0\0" if kind == 0 else b"")


@pytest.mark.parametrize(
    ("sent", "times"),
    [
        ([header(0, 4, 1000, 1), b"a", header(1, 4, 20, 1), b"b", header(2, 4, 30), b"c"], [1000, 1020, 1050]),
        ([header(0, 4, 1000, 1), b"a", header(1, 4, 20, 1), b"b", b"\xc4c"], [1000, 1020, 1040]),
        ([header(0, 4, 1000, 1), b"a", b"\xc4b"], [1000, 2000]),
        ([header(0, 4, 0xFFFFFF, 1), b"\xff\xff\xff\xfea", header(2, 4, 4), b"b"], [2**32 - 2, 2]),
        ([header(0, 4, 5, 1), b"a", header(2, 4, 0xFFFFFF), b"\x01\0\0\0b"], [5, 2**24 + 5]),
    ],
)
def test_times_add_up(sent: list[bytes], times: list[int]) -> None:
    assert [time for _, time, _ in read(*sent)] == times


def test_chunks_of_two_messages_may_alternate() -> None:
    first, second = bytes(range(200)), bytes(150)
    sent = [
        header(0, 4, 0, 200),
        first[:128],
        header(0, 5, 7, 150),
        second[:128],
        b"\xc4",
        first[128:],
        b"\xc5",
        second[128:],
    ]
    assert [(time, payload) for _, time, payload in read(*sent)] == [(0, first), (7, second)]


@pytest.mark.parametrize("repeats", [True, False])
def test_a_long_time_may_be_repeated_in_each_chunk_or_not(repeats: bool) -> None:
    payload, time = bytes([9]) * 300, struct.pack(">I", 2**24 + 1)
    again = b"\xc4" + (time if repeats else b"")
    sent = [header(0, 4, 0xFFFFFF, 300), time, payload[:128], again, payload[128:256], again, payload[256:]]
    assert [(at, got) for _, at, got in read(*sent)] == [(2**24 + 1, payload)]


def test_an_abandoned_message_is_forgotten() -> None:
    abort = encode_chunks(Message(MessageType.ABORT, 0, 0, struct.pack(">I", 4)), 2, 128)
    assert read(header(0, 4, 0, 200), bytes(128), abort, header(0, 4, 9, 1), b"x")[1:] == [(18, 9, b"x")]


def test_chunk_streams_have_long_numbers_too() -> None:
    head = header(0, 0, 3, 1)[1:]
    assert [payload for _, _, payload in read(b"\0\x05", head, b"a", b"\1\x05\x07", head, b"b")] == [b"a", b"b"]


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"".join(header(0, number, 0, 200) + bytes(128) for number in range(3, 60)), id="streams"),
        pytest.param(header(0, 4, 0, 0xFFFFFF), id="a message of 16 MB before anything was agreed"),
        pytest.param(header(0, 4, 0, 200) + bytes(128) + header(0, 4, 0, 200), id="a message within another"),
        pytest.param(b"\xc4", id="a chunk that continues nothing"),
        pytest.param(size(1), id="tiny chunks"),
        pytest.param(size(2**31 - 1), id="huge chunks"),
        pytest.param(encode_chunks(Message(MessageType.SET_CHUNK_SIZE, 0, 0, b"\0"), 2, 128), id="a short number"),
    ],
)
def test_chunks_have_bounds(sent: bytes) -> None:
    with pytest.raises(InvalidInput):
        read(sent)


def test_unfinished_messages_have_a_bound_together() -> None:
    reader = ChunkReader()
    reader.takes_media = True
    reader.feed(size(rtmp_chunks.MAX_CHUNK_BYTES))
    reader.feed(size(4 * 1024**2))
    most = 0
    with pytest.raises(InvalidInput, match="unfinished"):
        for number in range(4, 30):
            reader.feed(header(0, number, 0, 8 * 1024**2)[:7] + b"\x09\1\0\0\0" + bytes(4 * 1024**2))
            most = number
            while reader.next():
                pass
    assert most == 7


# The conversation


def media(kind: int, time_ms: int, payload: bytes) -> bytes:
    return encode_chunks(Message(kind, time_ms, 1, payload), 4 + kind % 2, 128)


META = amf.encode("onMetaData", {"width": 320.0})
STREAM = (
    encode_chunks(Message(MessageType.DATA, 0, 1, amf.encode("@setDataFrame") + META), 4, 128)
    + media(9, 0, b"\x17\0" + bytes(300))
    + media(8, 0, b"\xaf\0\x12\x10")
    + media(9, 0x01234567, b"\x17\1" + bytes(500))
    + command("FCUnpublish", 6.0, None, KEY)
)
FLV = (
    flv_tag(18, 0, META)
    + flv_tag(9, 0, b"\x17\0" + bytes(300))
    + flv_tag(8, 0, b"\xaf\0\x12\x10")
    + flv_tag(9, 0x01234567, b"\x17\1" + bytes(500))
)


@given(st.lists(st.integers(0, 10_000), max_size=12))
def test_a_stream_is_the_same_however_its_bytes_are_split(cuts: list[int]) -> None:
    keys, flv, answers = conversation(pieces(OPENING + PUBLISH + STREAM, cuts))
    assert keys == [KEY]
    assert flv == FLV + b"END"
    assert statuses(answers) == ["NetConnection.Connect.Success", "NetStream.Publish.Start"]


def test_an_flv_tag_has_its_time_in_two_parts_and_its_size_behind() -> None:
    assert flv_tag(9, 0x12345678, b"ab") == bytes.fromhex("09 000002 345678 12 000000") + b"ab" + bytes([0, 0, 0, 13])


@pytest.mark.parametrize("application", ["live", "live/", "live?token=x"])
def test_applications_that_are_taken(application: str) -> None:
    assert "NetConnection.Connect.Success" in statuses(conversation([connect(application)])[2])


@pytest.mark.parametrize("application", ["", "vod", "live/other"])
def test_other_applications_are_rejected(application: str) -> None:
    session = RtmpSession(bytes(1528))
    session.feed(connect(application))
    with pytest.raises(NotFound):
        list(session.events())
    assert statuses(session.take_outgoing()) == ["NetConnection.Connect.Rejected"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Forbidden("x"), "NetStream.Publish.BadName"),
        (Conflict("x"), "NetStream.Publish.BadName"),
        (InvalidInput("x"), "NetStream.Publish.Rejected"),
        (Unavailable("x"), "NetStream.Publish.Denied"),
    ],
)
def test_a_refusal_has_the_code_of_rtmp(error: TouchlineError, code: str) -> None:
    assert status_code(error) == code
    session = RtmpSession(bytes(1528))
    session.feed(OPENING + PUBLISH)
    assert [event for event in session.events() if isinstance(event, PublishAsked)]
    session.refuse(error)
    assert statuses(session.take_outgoing())[-1] == code


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"\x06", id="encrypted"),
        pytest.param(b"GET /", id="HTTP"),
        pytest.param(HANDSHAKE + command("createStream", 1.0, None), id="a command before connect"),
        pytest.param(connect() + connect()[len(HANDSHAKE) :], id="connect twice"),
        pytest.param(OPENING + command("publish", 5.0, None, "", "live"), id="no key"),
        pytest.param(OPENING + command("publish", 5.0, None), id="no name"),
        pytest.param(OPENING + command("publish", 5.0, None, "k" * 1000), id="an endless key"),
        pytest.param(OPENING + PUBLISH + PUBLISH, id="publish twice"),
        pytest.param(OPENING + media(9, 0, b"x"), id="media before publish"),
        pytest.param(OPENING + command("play", 5.0, None, KEY), id="play"),
        pytest.param(OPENING + encode_chunks(Message(22, 0, 1, b"x"), 4, 128), id="aggregates"),
        pytest.param(OPENING + command("_checkbw", 5.0, None) * 100, id="commands without end"),
        pytest.param(
            OPENING + encode_chunks(Message(20, 0, 0, b"\2\xff\xff" + bytes(90)), 3, 128), id="endless string"
        ),
    ],
)
def test_what_is_refused_says_so_without_the_key(sent: bytes) -> None:
    with pytest.raises(TouchlineError) as refused:
        conversation([sent])
    assert KEY not in f"{refused.value} {refused.value.hint}"


@given(st.binary(max_size=300), st.sampled_from([b"", HANDSHAKE, OPENING, OPENING + PUBLISH]))
def test_garbage_at_any_point_is_refused_and_nothing_else(garbage: bytes, before: bytes) -> None:
    with contextlib.suppress(TouchlineError):
        conversation([before + garbage])


@given(st.integers(0, len(OPENING + PUBLISH + STREAM) - 1), st.integers(1, 255))
def test_one_wrong_byte_is_refused_or_makes_another_stream(at: int, change: int) -> None:
    sent = bytearray(OPENING + PUBLISH + STREAM)
    sent[at] ^= change
    with contextlib.suppress(TouchlineError):
        conversation([bytes(sent)])


def test_keys_do_not_show() -> None:
    assert KEY not in repr(PublishAsked(KEY))
    assert KEY not in repr(Message(20, 0, 0, KEY.encode()))


def test_metadata_that_cannot_be_read_is_left_out() -> None:
    script = encode_chunks(Message(MessageType.DATA, 0, 1, b"\x0c\xff\xff\xff\xff"), 4, 128)
    clear = encode_chunks(Message(MessageType.DATA, 0, 1, amf.encode("@clearDataFrame")), 4, 128)
    assert conversation([OPENING + PUBLISH + script + clear])[1] == b""


def test_what_was_received_is_confirmed_where_a_window_was_agreed() -> None:
    window = encode_chunks(Message(MessageType.WINDOW_SIZE, 0, 0, struct.pack(">I", 70_000)), 2, 128)
    parts = [OPENING + window + PUBLISH, *[media(9, 0, bytes(50_000))] * 3]
    reader, confirmed = ChunkReader(), list[int]()
    reader.feed(conversation(parts)[2][1 + 2 * 1536 :])
    while message := reader.next():
        if message.type == MessageType.ACKNOWLEDGEMENT:
            confirmed.append(int.from_bytes(message.payload, "big"))
    assert confirmed == [sum(map(len, parts[:3]))]
