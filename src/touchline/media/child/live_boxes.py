"""The header of a live stream in fragments of MP4, and what its codecs say about themselves. Pure.

H.264 comes with its parameter sets out of band (`avcC`, from FLV) or between its pictures (Annex B, from MPEG-TS); AAC
comes with an `AudioSpecificConfig` or with a header before each frame (ADTS). Both leave as MP4 has them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from touchline.media.model import MediaFailure

from .channel import InputRefused

VIDEO_TICKS = 90_000
VIDEO_TRACK, AUDIO_TRACK = 1, 2
PLAYABLE_PROFILES = frozenset({66, 77, 88, 100})  # 8 bits, 4:2:0: what browsers decode
SEQUENCE_SET, PICTURE_SET, DELIMITER = 7, 8, 9  # NAL units
LONGEST_SET = 4096
AAC_LC, SBR, PARAMETRIC_STEREO = 2, 5, 29
AAC_RATES = (96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350)
START_CODE = b"\x00\x00\x01"
UNITY = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


# H.264.


@dataclass(frozen=True, slots=True)
class ParameterSets:
    """Of one sequence of pictures: without them nobody can decode it."""

    sequence: bytes
    picture: bytes

    @property
    def configuration(self) -> bytes:
        """`avcC`, with lengths of four bytes."""
        head = b"\x01" + self.sequence[1:4] + b"\xff\xe1"
        sets = struct.pack(">H", len(self.sequence)) + self.sequence + b"\x01"
        return head + sets + struct.pack(">H", len(self.picture)) + self.picture

    @property
    def codec(self) -> str:
        return f"avc1.{self.sequence[1:4].hex()}"


def parameter_sets(sequence: bytes, picture: bytes) -> ParameterSets:
    if not (4 <= len(sequence) <= LONGEST_SET and 1 <= len(picture) <= LONGEST_SET):
        raise InputRefused(MediaFailure.DAMAGED, "its H.264 parameter sets are broken")
    if sequence[1] not in PLAYABLE_PROFILES:
        why = f"its H.264 profile {sequence[1]} does not play in browsers; use Baseline, Main or High"
        raise InputRefused(MediaFailure.UNSUPPORTED, why)
    return ParameterSets(sequence, picture)


def from_configuration(configuration: bytes) -> ParameterSets:
    """Of `avcC`: the first set of each kind."""
    if len(configuration) < 7 or configuration[4] & 3 != 3:
        raise InputRefused(MediaFailure.DAMAGED, "its H.264 configuration is broken")
    sequence, rest = _counted_set(configuration, 6)
    picture, _ = _counted_set(configuration, rest + 1)
    return parameter_sets(sequence, picture)


def _counted_set(data: bytes, place: int) -> tuple[bytes, int]:
    length = int.from_bytes(data[place : place + 2])
    return data[place + 2 : place + 2 + length], place + 2 + length


def split_annex_b(data: bytes) -> Iterator[bytes]:
    """The NAL units between start codes."""
    place = data.find(START_CODE)
    while place >= 0:
        begin = place + len(START_CODE)
        place = data.find(START_CODE, begin)
        unit = data[begin : place if place >= 0 else len(data)].rstrip(b"\x00")
        if unit:
            yield unit


def from_annex_b(data: bytes) -> tuple[bytes, ParameterSets | None]:
    """The pictures with lengths in front, and the parameter sets that came with them."""
    sequence = picture = b""
    kept: list[bytes] = []
    for unit in split_annex_b(data):
        match unit[0] & 31:
            case 7:
                sequence = unit
            case 8:
                picture = picture or unit
            case 9:
                pass
            case _:
                kept += (struct.pack(">I", len(unit)), unit)
    found = parameter_sets(sequence, picture) if sequence and picture else None
    return b"".join(kept), found


# AAC.


@dataclass(frozen=True, slots=True)
class AacConfiguration:
    """What a decoder has to know, and how long a frame is."""

    data: bytes
    rate: int  # of the samples that are coded; with spectral band replication twice as many are heard
    channels: int
    frame_samples: int

    @property
    def codec(self) -> str:
        return f"mp4a.40.{self.data[0] >> 3}"


def aac_configuration(data: bytes) -> AacConfiguration:
    if not 2 <= len(data) <= 64:
        raise InputRefused(MediaFailure.DAMAGED, "its AAC configuration is broken")
    bits = int.from_bytes(data[:2])
    kind, rate_index, channels = bits >> 11, bits >> 7 & 15, bits >> 3 & 15
    if kind not in (AAC_LC, SBR, PARAMETRIC_STEREO):
        raise InputRefused(MediaFailure.UNSUPPORTED, f"its AAC profile {kind} does not play in browsers; use AAC-LC")
    if rate_index >= len(AAC_RATES):
        raise InputRefused(MediaFailure.UNSUPPORTED, "its AAC sample rate is not a usual one")
    return AacConfiguration(
        data, AAC_RATES[rate_index], channels or 2, 960 if kind == AAC_LC and bits >> 2 & 1 else 1024
    )


def from_adts(data: bytes) -> tuple[bytes, AacConfiguration] | None:
    """A frame without its header, and what the header says. None: it is no such frame."""
    if len(data) < 7 or data[0] != 0xFF or data[1] & 0xF6 != 0xF0:
        return None
    kind, rate_index = (data[2] >> 6) + 1, data[2] >> 2 & 15
    channels = (data[2] & 1) << 2 | data[3] >> 6
    head = 7 if data[1] & 1 else 9
    length = (data[3] & 3) << 11 | data[4] << 3 | data[5] >> 5
    configuration = (kind << 11 | rate_index << 7 | channels << 3).to_bytes(2)
    return data[head : max(head, length)], aac_configuration(configuration)


# The header (ISO 14496-12): a movie that lists no sample, and promises fragments.


def box(kind: bytes, *content: bytes) -> bytes:
    return struct.pack(">I4s", 8 + sum(map(len, content)), kind) + b"".join(content)


def full_box(kind: bytes, version: int, flags: int, *content: bytes) -> bytes:
    return box(kind, struct.pack(">I", version << 24 | flags), *content)


@dataclass(frozen=True, slots=True)
class VideoTrackHeader:
    sets: ParameterSets
    width: int
    height: int

    def box(self) -> bytes:
        entry = box(
            b"avc1",
            struct.pack(">6xH16xHHII4xH32xHh", 1, self.width, self.height, 0x480000, 0x480000, 1, 24, -1),
            box(b"avcC", self.sets.configuration),
        )
        head = full_box(b"vmhd", 0, 1, bytes(8))
        return _track(VIDEO_TRACK, VIDEO_TICKS, b"vide", head, entry, size=(self.width, self.height))


@dataclass(frozen=True, slots=True)
class AudioTrackHeader:
    aac: AacConfiguration

    def box(self) -> bytes:
        rate = self.aac.rate << 16 if self.aac.rate < 0x10000 else 0  # the field has 16 bits for it
        entry = box(b"mp4a", struct.pack(">6xH8xHH4xI", 1, self.aac.channels, 16, rate), self._esds())
        return _track(AUDIO_TRACK, self.aac.rate, b"soun", full_box(b"smhd", 0, 0, bytes(4)), entry)

    def _esds(self) -> bytes:
        decoder = struct.pack(">BBxxxII", 0x40, 0x15, 0, 0) + _descriptor(5, self.aac.data)
        return full_box(
            b"esds", 0, 0, _descriptor(3, struct.pack(">HB", AUDIO_TRACK, 0), _descriptor(4, decoder), b"\x06\x01\x02")
        )


def init_segment(video: VideoTrackHeader, audio: AudioTrackHeader | None) -> bytes:
    tracks = [video.box(), *([audio.box()] if audio else [])]
    numbers = [VIDEO_TRACK, *([AUDIO_TRACK] if audio else [])]
    extends = [full_box(b"trex", 0, 0, struct.pack(">5I", number, 1, 0, 0, 0)) for number in numbers]
    movie = full_box(
        b"mvhd", 0, 0, struct.pack(">4IIH10x", 0, 0, 1000, 0, 0x10000, 0x100), UNITY, bytes(24), struct.pack(">I", 3)
    )
    kind = box(b"ftyp", b"iso5", struct.pack(">I", 512), b"iso5iso6mp41")
    return kind + box(b"moov", movie, *tracks, box(b"mvex", *extends))


def _track(number: int, ticks: int, handler: bytes, head: bytes, entry: bytes, size: tuple[int, int] = (0, 0)) -> bytes:
    width, height = size
    volume = 0x100 if handler == b"soun" else 0
    header = full_box(
        b"tkhd", 0, 3, struct.pack(">5I8xHHHxx", 0, 0, number, 0, 0, 0, 0, volume), UNITY,
        struct.pack(">II", width << 16, height << 16),
    )  # fmt: skip
    samples = box(
        b"stbl",
        full_box(b"stsd", 0, 0, struct.pack(">I", 1), entry),
        *(full_box(kind, 0, 0, bytes(8 if kind == b"stsz" else 4)) for kind in (b"stts", b"stsc", b"stsz", b"stco")),
    )
    places = box(b"dinf", full_box(b"dref", 0, 0, struct.pack(">I", 1), full_box(b"url ", 0, 1)))
    media = box(
        b"mdia",
        full_box(b"mdhd", 0, 0, struct.pack(">4IHH", 0, 0, ticks, 0, 0x55C4, 0)),
        full_box(b"hdlr", 0, 0, struct.pack(">I4s12x", 0, handler), b"live\x00"),
        box(b"minf", head, places, samples),
    )
    return box(b"trak", header, media)


def _descriptor(tag: int, *content: bytes) -> bytes:
    """MPEG-4 systems: a tag, a length of up to four bytes, and what it is."""
    data = b"".join(content)
    return bytes([tag, 0x80, 0x80, 0x80 | len(data) >> 7, len(data) & 0x7F]) + data
