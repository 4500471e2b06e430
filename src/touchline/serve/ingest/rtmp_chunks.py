"""The chunk streams of RTMP: messages are cut into chunks, and those of several messages may alternate.

Invariant: what a stranger sends takes at most `MAX_PENDING_BYTES` of memory here, and fails with `InvalidInput` alone.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum

from touchline.kernel import InvalidInput

FIRST_CHUNK_BYTES = 128  # the size until somebody sets another
MIN_CHUNK_BYTES = 128
MAX_CHUNK_BYTES = 0xFFFFFF
MAX_CHUNK_STREAMS = 32
MAX_COMMAND_BYTES = 64 * 1024
MAX_MEDIA_BYTES = 8 * 1024**2
MAX_PENDING_BYTES = 12 * 1024**2  # of unfinished messages
EXTENDED = 0xFFFFFF  # in place of a time: it follows in four bytes of its own
HEADER_BYTES = (11, 7, 3, 0)
TIME_MODULUS = 2**32


class MessageType(IntEnum):
    SET_CHUNK_SIZE = 1
    ABORT = 2
    ACKNOWLEDGEMENT = 3
    USER_CONTROL = 4
    WINDOW_SIZE = 5
    PEER_BANDWIDTH = 6
    AUDIO = 8
    VIDEO = 9
    AMF3_DATA = 15
    AMF3_COMMAND = 17
    DATA = 18
    COMMAND = 20
    AGGREGATE = 22


MEDIA = frozenset({MessageType.AUDIO, MessageType.VIDEO})


@dataclass(frozen=True, slots=True)
class Message:
    type: int
    time_ms: int  # modulo 2**32
    stream: int
    payload: bytes = field(repr=False)  # of a command: it may hold a key


@dataclass(slots=True)
class _ChunkStream:
    """What is known of one chunk stream: the last header, and the message that is not complete yet."""

    time_field: int = 0
    extended: int | None = None
    time_ms: int = 0
    length: int = 0
    type: int = 0
    stream: int = 0
    payload: bytearray | None = None

    @property
    def step(self) -> int:
        return self.time_field if self.extended is None else self.extended


class ChunkReader:
    """Messages from bytes, however those were split."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._streams: dict[int, _ChunkStream] = {}
        self._current: _ChunkStream | None = None
        self._chunk_left = 0  # bytes of the current chunk that have not come yet
        self._chunk_bytes = FIRST_CHUNK_BYTES
        self._pending_bytes = 0
        self.takes_media = False  # until then no message is large

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> Message | None:
        """None: more bytes are needed."""
        while self._current is not None or self._begin_chunk():
            message = self._continue_chunk()
            if message is not None:
                self._obey(message)
                return message
            if self._current is not None:
                return None
        return None

    def _continue_chunk(self) -> Message | None:
        stream = self._current
        assert stream is not None and stream.payload is not None  # noqa: S101, PT018 - `_begin_chunk` has set both
        taken = self._buffer[: self._chunk_left]
        del self._buffer[: len(taken)]
        stream.payload += taken
        self._chunk_left -= len(taken)
        self._pending_bytes += len(taken)
        if self._pending_bytes > MAX_PENDING_BYTES:
            raise InvalidInput("too many RTMP messages are unfinished")
        if self._chunk_left:
            return None
        self._current = None
        if len(stream.payload) < stream.length:
            return None
        payload, stream.payload = bytes(stream.payload), None
        self._pending_bytes -= len(payload)
        return Message(stream.type, stream.time_ms, stream.stream, payload)

    def _begin_chunk(self) -> bool:
        """Whether a whole header was there."""
        basic = _basic_header(self._buffer)
        if basic is None:
            return False
        kind, number, at = basic
        end = at + HEADER_BYTES[kind]
        if len(self._buffer) < end:
            return False
        header = bytes(self._buffer[at:end])
        stream = self._stream(kind, number)
        time_field = int.from_bytes(header[:3], "big") if header else stream.time_field
        extended = None
        if time_field == EXTENDED:
            if len(self._buffer) < end + 4:
                return False
            extended = int.from_bytes(self._buffer[end : end + 4], "big")
            # Some clients leave it out of a chunk that continues a message.
            end += 0 if kind == 3 and extended != stream.extended else 4
        del self._buffer[:end]
        if kind != 3:
            stream.extended = extended
        self._begin(stream, kind, header)
        return True

    def _stream(self, kind: int, number: int) -> _ChunkStream:
        stream = self._streams.get(number)
        if stream is None:
            if kind != 0:
                raise InvalidInput("an RTMP chunk refers to a chunk stream that has not begun")
            if len(self._streams) >= MAX_CHUNK_STREAMS:
                raise InvalidInput(f"an RTMP connection has more than {MAX_CHUNK_STREAMS} chunk streams")
            stream = self._streams[number] = _ChunkStream()
        if kind != 3 and stream.payload is not None:
            raise InvalidInput("an RTMP message begins before the last one of its chunk stream has ended")
        return stream

    def _begin(self, stream: _ChunkStream, kind: int, header: bytes) -> None:
        if kind <= 2:
            stream.time_field = int.from_bytes(header[:3], "big")
        if kind <= 1:
            stream.length, stream.type = int.from_bytes(header[3:6], "big"), header[6]
        if kind == 0:
            stream.stream = int.from_bytes(header[7:11], "little")
        if stream.payload is None:
            self._check_length(stream)
            stream.time_ms = stream.step if kind == 0 else (stream.time_ms + stream.step) % TIME_MODULUS
            stream.payload = bytearray()
        self._current = stream
        self._chunk_left = min(self._chunk_bytes, stream.length - len(stream.payload))

    def _check_length(self, stream: _ChunkStream) -> None:
        limit = MAX_MEDIA_BYTES if self.takes_media and stream.type in MEDIA else MAX_COMMAND_BYTES
        if stream.length > limit:
            raise InvalidInput("an RTMP message is too long", why=f"{stream.length} bytes, the limit is {limit}")

    def _obey(self, message: Message) -> None:
        if message.type == MessageType.SET_CHUNK_SIZE:
            size = control_number(message)
            if not MIN_CHUNK_BYTES <= size <= MAX_CHUNK_BYTES:
                why = f"{size} bytes, allowed are {MIN_CHUNK_BYTES} to {MAX_CHUNK_BYTES}"
                raise InvalidInput("the RTMP chunk size is out of bounds", why=why)
            self._chunk_bytes = size
        elif message.type == MessageType.ABORT:
            stream = self._streams.get(control_number(message))
            if stream is not None and stream.payload is not None:
                self._pending_bytes -= len(stream.payload)
                stream.payload = None


def control_number(message: Message) -> int:
    """The number that a message of the protocol's own begins with."""
    if len(message.payload) < 4:
        raise InvalidInput("an RTMP control message is too short")
    return int.from_bytes(message.payload[:4], "big")


def _basic_header(buffer: bytearray) -> tuple[int, int, int] | None:
    """The header's type, the number of the chunk stream, and where the rest begins."""
    if not buffer:
        return None
    kind, number = buffer[0] >> 6, buffer[0] & 0x3F
    length = {0: 2, 1: 3}.get(number, 1)
    if len(buffer) < length:
        return None
    if length == 2:
        number = 64 + buffer[1]
    elif length == 3:
        number = 64 + buffer[1] + 256 * buffer[2]
    return kind, number, length


def encode_chunks(message: Message, chunk_stream: int, chunk_bytes: int) -> bytes:
    """A message as chunks, with a whole header each."""
    time = min(message.time_ms, EXTENDED)
    extended = struct.pack(">I", message.time_ms) if time == EXTENDED else b""
    head = time.to_bytes(3, "big") + len(message.payload).to_bytes(3, "big") + bytes([message.type])
    parts = [bytes([chunk_stream]), head, message.stream.to_bytes(4, "little"), extended]
    for begin in range(0, len(message.payload) or 1, chunk_bytes):
        if begin:
            parts += [bytes([3 << 6 | chunk_stream]), extended]
        parts.append(message.payload[begin : begin + chunk_bytes])
    return b"".join(parts)
