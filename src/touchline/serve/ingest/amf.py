"""AMF0, the form of the commands in RTMP: read from bytes of strangers, and written.

Invariant: reading takes time and memory in proportion to the bytes, and fails with `InvalidInput` alone.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from touchline.kernel import InvalidInput

Value: TypeAlias = "float | bool | str | Mapping[str, Value] | Sequence[Value] | None"

MAX_DEPTH = 8
MAX_VALUES = 1024  # in one message

NUMBER, BOOLEAN, STRING, OBJECT, NULL, UNDEFINED = 0x00, 0x01, 0x02, 0x03, 0x05, 0x06
ECMA_ARRAY, OBJECT_END, STRICT_ARRAY, DATE, LONG_STRING = 0x08, 0x09, 0x0A, 0x0B, 0x0C
UNSUPPORTED, XML, TYPED_OBJECT = 0x0D, 0x0F, 0x10


def decode(data: bytes) -> list[Value]:
    """Every value of a message."""
    reader = _Reader(data)
    values: list[Value] = []
    while not reader.is_at_end:
        values.append(reader.value())
    return values


def encode(*values: Value) -> bytes:
    return b"".join(map(_encoded, values))


def _encoded(value: Value) -> bytes:
    match value:
        case None:
            return bytes([NULL])
        case bool():
            return bytes([BOOLEAN, value])
        case int() | float():
            return struct.pack(">Bd", NUMBER, value)
        case str():
            return _encoded_text(value.encode())
        case Mapping():
            members = b"".join(_name(name) + _encoded(member) for name, member in value.items())
            return bytes([OBJECT]) + members + bytes([0, 0, OBJECT_END])
        case _:
            return struct.pack(">BI", STRICT_ARRAY, len(value)) + encode(*value)


def _encoded_text(text: bytes) -> bytes:
    if len(text) > 0xFFFF:
        return struct.pack(">BI", LONG_STRING, len(text)) + text
    return struct.pack(">BH", STRING, len(text)) + text


def _name(name: str) -> bytes:
    text = name.encode()
    return struct.pack(">H", len(text)) + text


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at, self._values = data, 0, 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._data)

    def value(self, depth: int = 0) -> Value:
        self._values += 1
        if depth > MAX_DEPTH or self._values > MAX_VALUES:
            raise InvalidInput("an RTMP command is nested too deeply or has too many values")
        kind = self._take(1)[0]
        if kind in {OBJECT, ECMA_ARRAY, TYPED_OBJECT, STRICT_ARRAY}:
            return self._compound(kind, depth)
        return self._scalar(kind)

    def _scalar(self, kind: int) -> Value:
        match kind:
            case 0x00:  # NUMBER
                return self._number()
            case 0x01:  # BOOLEAN
                return self._take(1) != b"\0"
            case 0x02:  # STRING
                return self._text(2)
            case 0x0C | 0x0F:  # LONG_STRING, XML
                return self._text(4)
            case 0x0B:  # DATE
                moment = self._number()
                self._take(2)  # a time zone, which nobody uses
                return moment
            case 0x05 | 0x06 | 0x0D:  # NULL, UNDEFINED, UNSUPPORTED
                return None
            case _:
                raise InvalidInput("an RTMP command has a value of an unknown type")

    def _compound(self, kind: int, depth: int) -> Value:
        if kind == STRICT_ARRAY:
            count = self._unsigned(4)
            if count > MAX_VALUES:
                raise InvalidInput("an RTMP command has too many values")
            return [self.value(depth + 1) for _ in range(count)]
        if kind == ECMA_ARRAY:
            self._take(4)  # a count, which many clients leave at 0
        if kind == TYPED_OBJECT:
            self._text(2)
        return self._members(depth)

    def _members(self, depth: int) -> dict[str, Value]:
        members: dict[str, Value] = {}
        while True:
            name = self._text(2)
            if not name and self._data[self._at : self._at + 1] == bytes([OBJECT_END]):
                self._at += 1
                return members
            members[name] = self.value(depth + 1)

    def _number(self) -> float:
        return struct.unpack(">d", self._take(8))[0]

    def _text(self, length_bytes: int) -> str:
        return self._take(self._unsigned(length_bytes)).decode("utf-8", "replace")

    def _unsigned(self, count: int) -> int:
        return int.from_bytes(self._take(count), "big")

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise InvalidInput("an RTMP command ends in the middle of a value")
        self._at += count
        return taken
