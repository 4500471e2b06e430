"""What a chat request asks: its texts, its pictures and the form of the answer; errors in the form of the OpenAI API.

Any client that follows the documented API is understood: nothing here knows the product. Invariant: pictures are
opened as hostile input (few formats, limited in bytes and pixels) and fetched from this server only.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import json
import re
from dataclasses import dataclass
from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit

import httpx
from PIL import Image
from starlette.responses import JSONResponse, Response

LIMITS = {
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-limit-tokens": "200000",
    "x-ratelimit-reset-requests": "1s",
    "x-ratelimit-reset-tokens": "1s",
}


class InvalidRequest(Exception):
    """`param`: what of the request is wrong."""

    def __init__(self, message: str, *, code: str | None = None, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param

    def answer(self) -> Response:
        return problem(self.status, str(self), kind="invalid_request_error", code=self.code, param=self.param)


def problem(
    status: int, message: str, *, kind: str, code: str | None = None, param: str | None = None, wait_s: int = 0
) -> Response:
    document = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    waiting = {"Retry-After": str(wait_s), "retry-after-ms": str(wait_s * 1000)} if wait_s else {}
    return JSONResponse(document, status, waiting)


def overloaded() -> Response:
    message = "The engine is currently overloaded, please try again later"
    return problem(503, message, kind="engine_overloaded", wait_s=1)


def broken() -> Response:
    message = "The server had an error while processing your request. Sorry about that!"
    return problem(500, message, kind="server_error")


def limited(model: str) -> Response:
    message = f"Rate limit reached for {model} on requests per min (RPM): Limit 500, Used 500, Requested 1."
    answer = problem(429, message, kind="requests", code="rate_limit_exceeded", wait_s=1)
    answer.headers.update({**LIMITS, "x-ratelimit-remaining-requests": "0", "x-ratelimit-remaining-tokens": "199000"})
    return answer


def unauthenticated(given: str) -> Response:
    if not given:
        message = "You didn't provide an API key. Provide it in an Authorization header using Bearer auth."
        return problem(401, message, kind="invalid_request_error")
    hidden = f"{given[:3]}{'*' * 8}{given[-4:]}" if len(given) > 12 else "*" * len(given)
    message = f"Incorrect API key provided: {hidden}."
    return problem(401, message, kind="invalid_request_error", code="invalid_api_key")


Document: TypeAlias = dict[str, Any]

ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
REASONING, OLD = ("o1", "o3", "o4", "gpt-5"), ("gpt-3.5", "gpt-4-", "o1-mini")
MOST_MESSAGES, MOST_PICTURES = 200, 20


@dataclass(frozen=True, slots=True)
class Question:
    model: str
    texts: tuple[str, ...]  # in the order of the messages
    pictures: tuple[str, ...]  # addresses: data or http
    form: str = "text"  # or json_object, json_schema
    schema: Document | None = None
    streams: bool = False
    streams_usage: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


def read_question(body: bytes) -> Question:
    document = _object(_json(body), "body")
    model = document.get("model")
    if not isinstance(model, str) or not model:
        raise InvalidRequest("you must provide a model parameter", param="model")
    texts, pictures = _messages(document.get("messages"))
    _require_supported(model, document)
    form, schema = _form(document.get("response_format"))
    question = Question(
        model=model,
        texts=tuple(texts),
        pictures=tuple(pictures),
        form=form,
        schema=schema,
        streams=document.get("stream") is True,
        streams_usage=_object(document.get("stream_options") or {}, "stream_options").get("include_usage") is True,
    )
    if form == "json_object" and "json" not in question.text.casefold():
        message = (
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        )
        raise InvalidRequest(message, param="messages")
    return question


def _require_supported(model: str, document: Document) -> None:
    """Not every model takes every field: those that reason choose their temperature, old ones know no schemas."""
    if model.startswith(REASONING) and document.get("temperature", 1) != 1:
        given = document["temperature"]
        message = f"'temperature' does not support {given} with this model. Only the default (1) value is supported."
        raise InvalidRequest(f"Unsupported value: {message}", param="temperature", code="unsupported_value")
    form = document.get("response_format")
    if model.startswith(OLD) and isinstance(form, dict) and cast("Document", form).get("type") == "json_schema":
        message = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
        raise InvalidRequest(message, param="response_format")


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        message = "We could not parse the JSON body of your request."
        raise InvalidRequest(message) from None


def _object(value: Any, name: str) -> Document:
    if not isinstance(value, dict):
        raise InvalidRequest(f"Invalid type for '{name}': expected an object.", param=name, code="invalid_type")
    return cast("Document", value)


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidRequest(f"Invalid type for '{name}': expected an array.", param=name, code="invalid_type")
    return cast("list[Any]", value)


def _messages(value: Any) -> tuple[list[str], list[str]]:
    if value is None:
        raise InvalidRequest(
            "Missing required parameter: 'messages'.", param="messages", code="missing_required_parameter"
        )
    messages = _list(value, "messages")
    if not 0 < len(messages) <= MOST_MESSAGES:
        raise InvalidRequest("Invalid 'messages': expected an array of a sensible length.", param="messages")
    texts, pictures = list[str](), list[str]()
    for number, each in enumerate(messages):
        name = f"messages[{number}]"
        message = _object(each, name)
        if message.get("role") not in ROLES:
            raise InvalidRequest(f"Invalid value for '{name}.role'.", param=f"{name}.role", code="invalid_value")
        _content(message.get("content"), f"{name}.content", texts, pictures)
    if len(pictures) > MOST_PICTURES:
        raise InvalidRequest("Too many images in the request.", param="messages")
    return texts, pictures


def _content(content: Any, name: str, texts: list[str], pictures: list[str]) -> None:
    if content is None:
        return
    if isinstance(content, str):
        texts.append(content)
        return
    for number, each in enumerate(_list(content, name)):
        part = _object(each, f"{name}[{number}]")
        match part.get("type"):
            case "text":
                texts.append(str(part.get("text", "")))
            case "image_url":
                pictures.append(_address(part.get("image_url"), f"{name}[{number}].image_url"))
            case other:
                raise InvalidRequest(f"Invalid value: '{other}'.", param=f"{name}[{number}].type", code="invalid_value")


def _address(value: Any, name: str) -> str:
    address = _object(value, name).get("url")
    if not isinstance(address, str):
        raise InvalidRequest(
            f"Missing required parameter: '{name}.url'.", param=name, code="missing_required_parameter"
        )
    return address


def _form(value: Any) -> tuple[str, Document | None]:
    if value is None:
        return "text", None
    document = _object(value, "response_format")
    match document.get("type"):
        case "text" | "json_object" as form:
            return str(form), None
        case "json_schema":
            return "json_schema", _schema(document)
        case other:
            raise InvalidRequest(f"Invalid value: '{other}'.", param="response_format.type", code="invalid_value")


def _schema(document: Document) -> Document:
    described = _object(document.get("json_schema"), "response_format.json_schema")
    if not described.get("name"):
        name = "response_format.json_schema.name"
        raise InvalidRequest(f"Missing required parameter: '{name}'.", param=name, code="missing_required_parameter")
    schema = _object(described.get("schema") or {}, "response_format.json_schema.schema")
    if schema.get("type", "object") != "object":
        message = "Invalid schema for response_format: schema must be a JSON Schema of 'type: \"object\"'."
        raise InvalidRequest(message, param="response_format")
    return schema


MOST_BYTES, MOST_PIXELS = 20 * 1024 * 1024, 40_000_000
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
TIMEOUT_S = 10
OWN_HOSTS = ("127.0.0.1", "localhost")

_DATA = re.compile(r"data:image/[a-z.+-]+;base64,", re.ASCII | re.IGNORECASE)


async def open_picture(address: str, port: int) -> Image.Image:
    """`port`: at which this server answers."""
    content = await _picture_bytes(address, port)
    try:
        return await asyncio.to_thread(_decoded, content)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        message = "You uploaded an unsupported image. Please make sure your image is valid."
        raise InvalidRequest(message, code="invalid_image_format", param="messages") from None


def _decoded(content: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(content), formats=FORMATS)
    if picture.width * picture.height > MOST_PIXELS:
        raise ValueError("too many pixels")
    return picture.convert("RGB")


async def _picture_bytes(address: str, port: int) -> bytes:
    if match := _DATA.match(address):
        try:
            return base64.b64decode(address[match.end() :], validate=True)
        except (binascii.Error, ValueError):
            raise InvalidRequest("Invalid base64 image_url.", code="invalid_base64", param="messages") from None
    if not address.startswith(("http://", "https://")):
        message = f"Invalid image URL: {address[:80]!r}. Expected a valid URL or a base64-encoded data URL."
        raise InvalidRequest(message, code="invalid_image_url", param="messages")
    if not _is_own(address, port):
        raise _unreachable(address)
    return await _fetched(address)


def _is_own(address: str, port: int) -> bool:
    try:
        parts = urlsplit(address)
        where = parts.scheme, parts.hostname, parts.port
    except ValueError:
        return False
    return where in [("http", host, port) for host in OWN_HOSTS]


def _unreachable(address: str) -> InvalidRequest:
    return InvalidRequest(f"Failed to download image from {address[:200]}.", code="invalid_image_url", param="messages")


async def _fetched(address: str) -> bytes:
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_S) as client, client.stream("GET", address) as answer:
            answer.raise_for_status()
            content = bytearray()
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > MOST_BYTES:
                    raise InvalidRequest("The image is too large.", code="image_too_large", param="messages")
            return bytes(content)
    except (httpx.HTTPError, httpx.InvalidURL):
        raise _unreachable(address) from None
