"""Where a stadium's encoder sends its stream, and how.

Invariant: the key of a stream is in no text that is meant for people: `shown` is what may be said of a target.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from touchline.kernel import InvalidInput

HINT = "Use rtmp://host[:port]/application/key or srt://host:port[?streamid=key]."


SECRET_OPTIONS = {"streamid": "srt_streamid", "passphrase": "passphrase"}  # as ffmpeg names them outside of a URL


class Protocol(StrEnum):
    RTMP = "rtmp"
    RTMPS = "rtmps"
    SRT = "srt"


@dataclass(frozen=True, slots=True)
class StreamTarget:
    url: str = field(repr=False)
    protocol: Protocol
    shown: str

    @property
    def secrets(self) -> tuple[str, ...]:
        """What nobody may read: the key of the stream, and what else its address carries."""
        parts = urlsplit(self.url)
        key = parts.path.strip("/").partition("/")[2]
        return tuple(
            each for each in (self.url, key, parts.query, *(value for _, value in parse_qsl(parts.query))) if each
        )

    @property
    def secret_options(self) -> tuple[tuple[str, str], ...]:
        """Those of SRT, which another program must not get on its command line."""
        given = parse_qsl(urlsplit(self.url).query)
        return tuple((SECRET_OPTIONS[name], value) for name, value in given if name in SECRET_OPTIONS)

    @property
    def public_url(self) -> str:
        """Of SRT, without them."""
        parts = urlsplit(self.url)
        rest = [(name, value) for name, value in parse_qsl(parts.query) if name not in SECRET_OPTIONS]
        return parts._replace(query=urlencode(rest)).geturl()

    @classmethod
    def parse(cls, url: str) -> StreamTarget:
        parts = urlsplit(url)
        try:
            protocol, port = Protocol(parts.scheme), parts.port
        except ValueError as error:
            raise InvalidInput("this is not the URL of a live stream", field="--to", hint=HINT) from error
        if any(not character.isprintable() for character in unquote(parts.query)):
            raise InvalidInput("the URL of the stream has control characters", field="--to", hint=HINT)
        if not parts.hostname or (protocol is Protocol.SRT and not port):
            raise InvalidInput("the URL of the stream has no host or port", field="--to", hint=HINT)
        application = parts.path.strip("/").partition("/")[0]
        where = f"{parts.hostname}:{port}" if port else parts.hostname
        rest = f"/{application}/…" if protocol is not Protocol.SRT and application else ""
        return cls(url, protocol, f"{protocol}://{where}{rest}")


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    seed: int = 1
    height: int = 720
    speed: float = 1.0
    kilobits: int = 2500
    loop_ms: int | None = None  # so much is drawn once, and sent again and again; none: all is drawn
    length_ms: int | None = None  # none: until somebody stops it


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """How far the stream is."""

    at_ms: int  # of the match
    pictures: int  # over this connection
