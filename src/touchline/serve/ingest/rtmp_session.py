"""What a publisher and we say to each other by RTMP, without input or output: handshake, commands, and FLV out.

Invariant: it fails with a `TouchlineError` alone, which never repeats what the publisher sent: that may hold the key.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from touchline.kernel import Conflict, Forbidden, InvalidInput, NotFound, TouchlineError, is_plain

from . import amf
from .rtmp_chunks import MEDIA, ChunkReader, Message, MessageType, control_number, encode_chunks

APPLICATION = "live"
VERSION = 3
HANDSHAKE_BYTES = 1536
MAX_KEY_LENGTH = 256
MAX_MESSAGES_BEFORE_PUBLISH = 100
OUR_CHUNK_BYTES = 4096
WINDOW_BYTES = 2_500_000  # after which the other side confirms what it received
MIN_WINDOW_BYTES = 64 * 1024
STREAM = 1  # the only message stream we give out
CONTROL_CHUNKS, COMMAND_CHUNKS = 2, 3
STREAM_BEGIN = 0
PING_REQUEST, PING_RESPONSE = 6, 7

FLV_HEADER = b"FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00"
SET_DATA_FRAME = amf.encode("@setDataFrame")
CLEAR_DATA_FRAME = amf.encode("@clearDataFrame")


@dataclass(frozen=True, slots=True)
class PublishAsked:
    """To be answered by `accept` or `refuse` before anything else is read."""

    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Flv:
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PublishEnded:
    """The publisher said that it is done."""


Event: TypeAlias = PublishAsked | Flv | PublishEnded


class RtmpSession:
    def __init__(self, randomness: bytes) -> None:
        """`randomness`: `HANDSHAKE_BYTES - 8` bytes that the other side repeats."""
        self._handshake = _Handshake(randomness)
        self._chunks = ChunkReader()
        self._out = bytearray()
        self._is_connected = self._is_publishing = False
        self._messages = 0
        self._window_bytes = WINDOW_BYTES
        self._received = self._confirmed = 0

    def feed(self, data: bytes) -> None:
        self._received += len(data)
        rest = self._handshake.feed(data)
        self._out += self._handshake.take_answer()
        self._chunks.feed(rest)
        if self._is_connected and self._received - self._confirmed >= self._window_bytes:
            self._confirmed = self._received
            self._control(MessageType.ACKNOWLEDGEMENT, struct.pack(">I", self._received % 2**32))

    def events(self) -> Iterator[Event]:
        """What can be said from the bytes so far. Lazy: what follows a `PublishAsked` is read after its answer."""
        while (message := self._chunks.next()) is not None:
            event = self._event(message)
            if event is not None:
                yield event

    def take_outgoing(self) -> bytes:
        """What is to be sent to the publisher now."""
        taken, self._out = bytes(self._out), bytearray()
        return taken

    def accept(self) -> None:
        self._is_publishing = self._chunks.takes_media = True
        self._control(MessageType.USER_CONTROL, struct.pack(">HI", STREAM_BEGIN, STREAM))
        self._status("status", "NetStream.Publish.Start", "the stream is live")

    def refuse(self, error: TouchlineError) -> None:
        """Tell the publisher why it is hung up on, if it can be told."""
        if self._is_connected:
            self._status("error", status_code(error), f"{error}. {error.hint}")

    def _event(self, message: Message) -> Event | None:
        if not self._is_publishing:
            self._messages += 1
            if self._messages > MAX_MESSAGES_BEFORE_PUBLISH:
                raise InvalidInput("too many RTMP messages without a publish command")
        if message.type in MEDIA:
            return self._media(message)
        match message.type:
            case MessageType.COMMAND:
                return self._command(message.payload)
            case MessageType.AMF3_COMMAND:  # a format byte, then AMF0 all the same
                return self._command(message.payload[1:])
            case MessageType.DATA:
                return self._script(message, message.payload)
            case MessageType.AMF3_DATA:
                return self._script(message, message.payload[1:])
            case MessageType.AGGREGATE:
                raise InvalidInput("RTMP aggregate messages are not supported")
            case _:
                return self._protocol(message)

    def _protocol(self, message: Message) -> None:
        if message.type == MessageType.WINDOW_SIZE:
            self._window_bytes = max(MIN_WINDOW_BYTES, control_number(message))
        elif message.type == MessageType.USER_CONTROL and len(message.payload) == 6:
            kind, data = message.payload[:2], message.payload[2:]
            if kind == struct.pack(">H", PING_REQUEST) and not self._is_publishing:
                self._control(MessageType.USER_CONTROL, struct.pack(">H", PING_RESPONSE) + data)

    # Commands

    def _command(self, payload: bytes) -> Event | None:
        name, transaction, *arguments = [*amf.decode(payload), None, None][: amf.MAX_VALUES]
        number = transaction if isinstance(transaction, float) else 0.0
        if name == "connect":
            self._connect(number, arguments[0] if arguments else None)
            return None
        if not self._is_connected:
            raise InvalidInput("an RTMP command comes before `connect`")
        match name:
            case "releaseStream" | "FCPublish":
                self._reply("_result", number, None, None)
            case "createStream":
                self._reply("_result", number, None, float(STREAM))
            case "publish":
                return self._publish(arguments)
            case "FCUnpublish" | "deleteStream" | "closeStream":
                return PublishEnded() if self._is_publishing else None
            case "play" | "play2":
                raise InvalidInput("this RTMP port takes publishers only", hint="Watch the stream on its page.")
            case _:
                pass  # clients say much that needs no answer
        return None

    def _connect(self, transaction: float, options: amf.Value) -> None:
        if self._is_connected:
            raise InvalidInput("a second RTMP `connect` on one connection")
        self._control(MessageType.WINDOW_SIZE, struct.pack(">I", WINDOW_BYTES))
        self._control(MessageType.PEER_BANDWIDTH, struct.pack(">IB", WINDOW_BYTES, 2))
        self._control(MessageType.SET_CHUNK_SIZE, struct.pack(">I", OUR_CHUNK_BYTES))
        application = options.get("app") if isinstance(options, Mapping) else None
        name = application.partition("?")[0].strip("/") if isinstance(application, str) else ""
        if name != APPLICATION:
            hint = f"Use rtmp://HOST/{APPLICATION} as the server, and the stream key as its key."
            error = NotFound("there is no such RTMP application", hint=hint)
            information = {
                "level": "error",
                "code": "NetConnection.Connect.Rejected",
                "description": f"{error}. {hint}",
            }
            self._reply("_error", transaction, None, information)
            raise error
        self._is_connected = True
        properties: dict[str, amf.Value] = {"fmsVer": "FMS/3,5,7,7009", "capabilities": 31.0}
        success = "NetConnection.Connect.Success"
        information = {"level": "status", "code": success, "description": "connected", "objectEncoding": 0.0}
        self._reply("_result", transaction, properties, information)

    def _publish(self, arguments: list[amf.Value]) -> PublishAsked:
        if self._is_publishing:
            raise InvalidInput("a second RTMP `publish` on one connection")
        name = arguments[1] if len(arguments) > 1 else None
        key = name.partition("?")[0] if isinstance(name, str) else ""
        if not key:
            raise Forbidden("the stream key is missing", hint="Copy the stream key from the page of the stream.")
        if len(key) > MAX_KEY_LENGTH or not is_plain(key):
            raise Forbidden("this is not a stream key", hint="Copy the stream key from the page of the stream.")
        return PublishAsked(key)

    # Media

    def _media(self, message: Message) -> Flv | None:
        if not self._is_publishing:
            raise InvalidInput("RTMP media comes before `publish`")
        return Flv(flv_tag(message.type, message.time_ms, message.payload)) if message.payload else None

    def _script(self, message: Message, payload: bytes) -> Flv | None:
        """Metadata, without the command that wraps it. What cannot be read is left out: no stream needs it."""
        if not self._is_publishing or payload.startswith(CLEAR_DATA_FRAME) or not _is_amf(payload):
            return None
        return Flv(flv_tag(MessageType.DATA, message.time_ms, payload.removeprefix(SET_DATA_FRAME)))

    # Answers

    def _reply(self, name: str, transaction: float, *values: amf.Value) -> None:
        self._send(0, amf.encode(name, transaction, *values))

    def _status(self, level: str, code: str, description: str) -> None:
        information: amf.Value = {"level": level, "code": code, "description": description}
        self._send(STREAM, amf.encode("onStatus", 0.0, None, information))

    def _send(self, stream: int, payload: bytes) -> None:
        message = Message(MessageType.COMMAND, 0, stream, payload)
        self._out += encode_chunks(message, COMMAND_CHUNKS, OUR_CHUNK_BYTES)

    def _control(self, kind: MessageType, payload: bytes) -> None:
        self._out += encode_chunks(Message(kind, 0, 0, payload), CONTROL_CHUNKS, OUR_CHUNK_BYTES)


def status_code(error: TouchlineError) -> str:
    """As RTMP names it. Encoders show `BadName` as a wrong key, or one that is in use."""
    match error:
        case Forbidden() | NotFound() | Conflict():
            return "NetStream.Publish.BadName"
        case InvalidInput():
            return "NetStream.Publish.Rejected"
        case _:
            return "NetStream.Publish.Denied"


def _is_amf(payload: bytes) -> bool:
    try:
        return bool(amf.decode(payload))
    except InvalidInput:
        return False


def flv_tag(kind: int, time_ms: int, payload: bytes) -> bytes:
    """With the size of the tag behind it, as in a file."""
    size = len(payload).to_bytes(3, "big")
    time = (time_ms & 0xFFFFFF).to_bytes(3, "big") + bytes([time_ms >> 24])
    head = bytes([kind]) + size + time + b"\0\0\0"
    return head + payload + struct.pack(">I", len(head) + len(payload))


class _Handshake:
    """The simple one: each side sends a version and a block, and repeats the other's block."""

    def __init__(self, randomness: bytes) -> None:
        self._block = bytes(8) + randomness
        self._buffer = bytearray()
        self._answer = b""
        self._has_answered = self._is_done = False

    def feed(self, data: bytes) -> bytes:
        """What follows the handshake."""
        if self._is_done:
            return data
        self._buffer += data
        if self._buffer and self._buffer[0] != VERSION:
            raise InvalidInput("this is not RTMP", why="the connection does not begin with version 3")
        if not self._has_answered and len(self._buffer) >= 1 + HANDSHAKE_BYTES:
            self._has_answered = True
            self._answer = bytes([VERSION]) + self._block + bytes(self._buffer[1 : 1 + HANDSHAKE_BYTES])
        end = 1 + 2 * HANDSHAKE_BYTES
        if len(self._buffer) < end:
            return b""
        self._is_done = True
        rest, self._buffer = bytes(self._buffer[end:]), bytearray()
        return rest

    def take_answer(self) -> bytes:
        taken, self._answer = self._answer, b""
        return taken
