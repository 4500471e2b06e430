"""What a stranger may call a file, and what we make of that. Pure.

Invariant: nothing of the name reaches an object key but an extension that we know.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from touchline.kernel.errors import InvalidInput
from touchline.kernel.ids import ArtifactHash, video_id
from touchline.platform.objects.rules import ObjectKey, join_key

LONGEST_NAME = 255
JOINERS = "\u200c\u200d"  # invisible, but some scripts and emoji need them

CONTENT_TYPES = {
    "mp4": "video/mp4",
    "m4v": "video/mp4",
    "mov": "video/quicktime",
    "3gp": "video/3gpp",
    "mkv": "video/x-matroska",
    "webm": "video/webm",
    "avi": "video/x-msvideo",
    "ts": "video/mp2t",
    "mts": "video/mp2t",
    "m2ts": "video/mp2t",
    "mpg": "video/mpeg",
    "mpeg": "video/mpeg",
    "vob": "video/mpeg",
    "flv": "video/x-flv",
    "ogv": "video/ogg",
    "ogg": "video/ogg",
    "wmv": "video/x-ms-wmv",
    "asf": "video/x-ms-asf",
}


@dataclass(frozen=True, slots=True)
class FileKind:
    extension: str
    content_type: str


def valid_file_name(text: str) -> str:
    """In one form, however the sender's system composes letters."""
    name = unicodedata.normalize("NFC", text)
    if not name.strip(". "):
        raise _refused("it is empty")
    if len(name) > LONGEST_NAME or len(name.encode("utf-8", "replace")) > LONGEST_NAME:
        raise _refused(f"it is longer than {LONGEST_NAME} bytes")
    if "/" in name or "\\" in name:
        raise _refused("it has parts of a path in it")
    if not is_plain(name):
        raise _refused("it has characters that do not print")
    return name


def is_plain(text: str) -> bool:
    """No control characters, nothing that turns the direction of the text around it."""
    return all(letter.isprintable() or letter in JOINERS for letter in text)


def file_kind(file_name: str) -> FileKind:
    """By its extension. What is really inside is looked at when it is here."""
    extension = file_name.rpartition(".")[2].lower() if "." in file_name else ""
    content_type = CONTENT_TYPES.get(extension)
    if content_type is None:
        known = ", ".join(CONTENT_TYPES)
        raise _refused(f"its ending is none of {known}", hint="Send a video file, under its usual ending.")
    return FileKind(extension, content_type)


def original_key(artifact_hash: ArtifactHash, kind: FileKind) -> ObjectKey:
    return join_key("videos", "original", str(video_id(artifact_hash)), f"master.{kind.extension}")


def _refused(why: str, hint: str = "") -> InvalidInput:
    return InvalidInput("this file name cannot be used", field="file_name", why=why, hint=hint)
