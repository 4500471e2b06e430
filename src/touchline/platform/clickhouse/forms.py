"""Forms: clickhouse-connect sends one when the values of a statement are too long for a URL."""

from __future__ import annotations

from collections.abc import AsyncIterable
from email.message import Message
from email.parser import BytesParser
from typing import cast

from .limits import MIB
from .protocol import Code, refusal

FORM_TYPE = "multipart/form-data"
_MOST_BYTES = 8 * MIB


async def received(chunks: AsyncIterable[bytes]) -> bytes:
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > _MOST_BYTES:
            raise refusal(Code.QUERY_IS_TOO_LARGE, f"The form holds more than {_MOST_BYTES} bytes")
    return bytes(body)


def parse_form(content_type: str, body: bytes) -> dict[str, str]:
    """Its fields; a file would be an external table."""
    head = f"Content-Type: {content_type}\r\n\r\n"
    form = BytesParser().parsebytes(head.encode("latin-1") + body)
    if not form.is_multipart() or form.defects:
        raise refusal(Code.BAD_ARGUMENTS, "The form cannot be read")
    return dict(_field(part) for part in cast("list[Message]", form.get_payload()))


def _field(part: Message) -> tuple[str, str]:
    name = part.get_param("name", header="content-disposition")
    if part.get_filename() is not None:
        raise refusal(Code.NOT_IMPLEMENTED, "This server has no external tables")
    if not isinstance(name, str):
        raise refusal(Code.BAD_ARGUMENTS, "A field of the form has no name")
    value = part.get_payload(decode=True)
    if not isinstance(value, bytes):
        raise refusal(Code.BAD_ARGUMENTS, f"The field {name} of the form cannot be read")
    try:
        return name, value.decode()
    except UnicodeDecodeError:
        raise refusal(Code.BAD_ARGUMENTS, f"The field {name} of the form is not UTF-8") from None
