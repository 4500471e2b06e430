"""Fingerprints written down: as text that others read too, and compactly as bytes.

    dense:0.25:0.25=32b475b2b2513362,0.50=…            the text, style first; all digits zero: no information
    careful:0.25:0.25=32b475b2b2513362:9f9f9fedaf2fbbf7,…    the same, with details
    "TLFP", version, style, 2 spare bytes, interval,
    count, the hashes, the details if it is careful,
    a checksum of all before                           the bytes, lowest first

Invariant: what is read back is what was written; everything else is `InvalidFingerprint`, whoever wrote it.
"""

from __future__ import annotations

import re
import struct
from zlib import crc32

import numpy as np

from touchline.media.errors import InvalidFingerprint

from .model import INTERVAL_MS, MOST_SAMPLES, Fingerprint, Style
from .pictures import sample_time_ms

STYLES: tuple[Style, ...] = tuple(Style)  # by their number in the bytes; new ones go to the end
PREFIXES = {f"{style}:0.25:": style for style in STYLES}
LONGEST_PREFIX = max(map(len, PREFIXES))
ENTRY = re.compile(r"([0-9]{1,7}\.[0-9]{2})=([0-9a-f]{16})(?::([0-9a-f]{16}))?")
LONGEST_ENTRY = len("1234567.25=0123456789abcdef:0123456789abcdef,")
LONGEST_TEXT = LONGEST_PREFIX + LONGEST_ENTRY * MOST_SAMPLES
MAGIC = b"TLFP"
VERSIONS = {Style.DENSE: 1, Style.CAREFUL: 2}  # of the bytes
HEAD = struct.Struct("<4sBB2xII")
CHECK = struct.Struct("<I")
Sample = tuple[int, int]  # a hash and its detail
LONGEST_BINARY = HEAD.size + 16 * MOST_SAMPLES + CHECK.size


def to_text(fingerprint: Fingerprint) -> str:
    values = [f"{value:016x}" for value in fingerprint.hashes.tolist()]
    if fingerprint.style is Style.CAREFUL:
        values = [f"{value}:{detail:016x}" for value, detail in zip(values, fingerprint.details.tolist(), strict=True)]
    entries = (f"{sample_time_ms(number) / 1000:.2f}={value}" for number, value in enumerate(values))
    return f"{fingerprint.style}:0.25:" + ",".join(entries)


def from_text(text: str) -> Fingerprint:
    """Samples that are left out have no information."""
    prefix = next((each for each in PREFIXES if text.startswith(each)), None)
    if prefix is None:
        raise _invalid(f"it must start with one of {', '.join(PREFIXES)}")
    if len(text) > LONGEST_TEXT:
        raise _invalid(f"it has more than {MOST_SAMPLES} samples")
    style, samples = PREFIXES[prefix], list[Sample]()
    for entry in text.removeprefix(prefix).split(",") if text != prefix else ():
        number, sample = _entry(entry, style)
        if not len(samples) <= number < MOST_SAMPLES:
            raise _invalid(f"the time of {entry[:40]} is out of order")
        samples.extend([(0, 0)] * (number - len(samples)))
        samples.append(sample)
    details = [detail for _, detail in samples] if style is Style.CAREFUL else []
    return Fingerprint.of([value for value, _ in samples], style, details)


def _entry(entry: str, style: Style) -> tuple[int, Sample]:
    parts = ENTRY.fullmatch(entry)
    if not parts or (parts[3] is not None) != (style is Style.CAREFUL):
        raise _invalid(f"{entry[:60]!r} is not a time and a hash of style {style}")
    time_ms = int(parts[1].replace(".", "")) * 10
    if time_ms % INTERVAL_MS or not time_ms:
        raise _invalid(f"{parts[1]} s is not a sample time")
    return time_ms // INTERVAL_MS - 1, (int(parts[2], 16), int(parts[3] or "0", 16))


def to_bytes(fingerprint: Fingerprint) -> bytes:
    style = fingerprint.style
    head = HEAD.pack(MAGIC, VERSIONS[style], STYLES.index(style), INTERVAL_MS, len(fingerprint))
    body = head + fingerprint.hashes.astype("<u8").tobytes() + fingerprint.details.astype("<u8").tobytes()
    return body + CHECK.pack(crc32(body))


def from_bytes(content: bytes) -> Fingerprint:
    if len(content) < HEAD.size + CHECK.size or content[: len(MAGIC)] != MAGIC:
        raise _invalid("the file format is wrong")
    style, count = _head(content)
    numbers = 2 * count if style is Style.CAREFUL else count
    if len(content) != HEAD.size + 8 * numbers + CHECK.size:
        raise _invalid("it is truncated or has extra data")
    body = content[: -CHECK.size]
    if CHECK.unpack_from(content, len(body))[0] != crc32(body):
        raise _invalid("its checksum is wrong")
    values = np.frombuffer(body, "<u8", offset=HEAD.size).astype(np.uint64)
    return Fingerprint(values[:count], style, values[count:])


def _head(content: bytes) -> tuple[Style, int]:
    version, number, interval_ms, count = _numbers(content)
    if number >= len(STYLES) or interval_ms != INTERVAL_MS or count > MOST_SAMPLES:
        raise _invalid(f"{count} samples of style {number} every {interval_ms} ms are impossible")
    style = STYLES[number]
    if version != VERSIONS[style]:
        raise _invalid(f"its version is {version}; this program supports {VERSIONS[style]} of style {style}")
    return style, count


def _numbers(content: bytes) -> tuple[int, int, int, int]:
    _, version, style, interval_ms, count = HEAD.unpack_from(content)
    return version, style, interval_ms, count


def is_binary(content: bytes) -> bool:
    return content.startswith(MAGIC)


def is_text(content: bytes) -> bool:
    return content.startswith(tuple(prefix.encode() for prefix in PREFIXES))


def _invalid(why: str) -> InvalidFingerprint:
    return InvalidFingerprint("this is not a fingerprint", why=why)
