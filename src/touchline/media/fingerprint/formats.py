"""Fingerprints written down: as text that others read too, and compactly as bytes.

    dense:0.25:0.25=32b475b2b2513362,0.50=…            the text, style first; all digits zero: no information
    "TLFP", version, style, 2 spare bytes, interval,
    count, the hashes, a checksum of all before        the bytes, lowest first

Invariant: what is read back is what was written; everything else is `InvalidFingerprint`, whoever wrote it.
"""

from __future__ import annotations

import re
import struct
from zlib import crc32

import numpy as np

from .errors import InvalidFingerprint
from .model import INTERVAL_MS, MOST_SAMPLES, Fingerprint, Style
from .rules import sample_time_ms

STYLES: tuple[Style, ...] = tuple(Style)  # by their number in the bytes; new ones go to the end
PREFIXES = {f"{style}:0.25:": style for style in STYLES}
LONGEST_PREFIX = max(map(len, PREFIXES))
ENTRY = re.compile(r"([0-9]{1,7}\.[0-9]{2})=([0-9a-f]{16})")
LONGEST_ENTRY = len("1234567.25=0123456789abcdef,")
LONGEST_TEXT = LONGEST_PREFIX + LONGEST_ENTRY * MOST_SAMPLES
MAGIC, VERSION = b"TLFP", 1
HEAD = struct.Struct("<4sBB2xII")
CHECK = struct.Struct("<I")
LONGEST_BINARY = HEAD.size + 8 * MOST_SAMPLES + CHECK.size


def to_text(fingerprint: Fingerprint) -> str:
    hashes: list[int] = fingerprint.hashes.tolist()
    entries = (f"{sample_time_ms(number) / 1000:.2f}={value:016x}" for number, value in enumerate(hashes))
    return f"{fingerprint.style}:0.25:" + ",".join(entries)


def from_text(text: str) -> Fingerprint:
    """Samples that are left out have no information."""
    prefix = next((each for each in PREFIXES if text.startswith(each)), None)
    if prefix is None:
        raise _invalid(f"it begins with none of {', '.join(PREFIXES)}")
    if len(text) > LONGEST_TEXT:
        raise _invalid(f"it has more than {MOST_SAMPLES} samples")
    hashes: list[int] = []
    for entry in text.removeprefix(prefix).split(",") if text != prefix else ():
        number, value = _entry(entry)
        if not len(hashes) <= number < MOST_SAMPLES:
            raise _invalid(f"the time of {entry[:40]} is out of order")
        hashes.extend([0] * (number - len(hashes)))
        hashes.append(value)
    return Fingerprint.of(hashes, PREFIXES[prefix])


def _entry(entry: str) -> tuple[int, int]:
    parts = ENTRY.fullmatch(entry)
    if not parts:
        raise _invalid(f"{entry[:40]!r} is no time and hash")
    time_ms = int(parts[1].replace(".", "")) * 10
    if time_ms % INTERVAL_MS or not time_ms:
        raise _invalid(f"{parts[1]} s is no time at which samples are taken")
    return time_ms // INTERVAL_MS - 1, int(parts[2], 16)


def to_bytes(fingerprint: Fingerprint) -> bytes:
    head = HEAD.pack(MAGIC, VERSION, STYLES.index(fingerprint.style), INTERVAL_MS, len(fingerprint))
    body = head + fingerprint.hashes.astype("<u8").tobytes()
    return body + CHECK.pack(crc32(body))


def from_bytes(content: bytes) -> Fingerprint:
    if len(content) < HEAD.size + CHECK.size or content[: len(MAGIC)] != MAGIC:
        raise _invalid("it does not begin like one")
    version, style, interval_ms, count = _head(content)
    if version != VERSION:
        raise _invalid(f"its version is {version}; this program knows {VERSION}")
    if style >= len(STYLES) or interval_ms != INTERVAL_MS or count > MOST_SAMPLES:
        raise _invalid(f"{count} samples of style {style}, one each {interval_ms} ms, are not possible")
    if len(content) != HEAD.size + 8 * count + CHECK.size:
        raise _invalid("it is cut off, or something was added")
    body = content[: -CHECK.size]
    if CHECK.unpack_from(content, len(body))[0] != crc32(body):
        raise _invalid("its checksum is wrong")
    return Fingerprint(np.frombuffer(body, "<u8", offset=HEAD.size).astype(np.uint64), STYLES[style])


def _head(content: bytes) -> tuple[int, int, int, int]:
    _, version, style, interval_ms, count = HEAD.unpack_from(content)
    return version, style, interval_ms, count


def is_binary(content: bytes) -> bool:
    return content.startswith(MAGIC)


def is_text(content: bytes) -> bool:
    return content.startswith(tuple(prefix.encode() for prefix in PREFIXES))


def _invalid(why: str) -> InvalidFingerprint:
    return InvalidFingerprint("this is not a fingerprint", why=why)
