"""What a chat request asks, read from the document itself: its texts, its pictures and the form of the answer.

Invariant: nothing of the product is known here; any client that keeps to the documented form is understood.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from .errors import Refused

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
        raise Refused("you must provide a model parameter", param="model")
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
        raise Refused(message, param="messages")
    return question


def _require_supported(model: str, document: Document) -> None:
    """Not every model takes every field: those that reason choose their temperature, old ones know no schemas."""
    if model.startswith(REASONING) and document.get("temperature", 1) != 1:
        given = document["temperature"]
        message = f"'temperature' does not support {given} with this model. Only the default (1) value is supported."
        raise Refused(f"Unsupported value: {message}", param="temperature", code="unsupported_value")
    form = document.get("response_format")
    if model.startswith(OLD) and isinstance(form, dict) and cast("Document", form).get("type") == "json_schema":
        message = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
        raise Refused(message, param="response_format")


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        message = "We could not parse the JSON body of your request."
        raise Refused(message) from None


def _object(value: Any, name: str) -> Document:
    if not isinstance(value, dict):
        raise Refused(f"Invalid type for '{name}': expected an object.", param=name, code="invalid_type")
    return cast("Document", value)


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise Refused(f"Invalid type for '{name}': expected an array.", param=name, code="invalid_type")
    return cast("list[Any]", value)


def _messages(value: Any) -> tuple[list[str], list[str]]:
    if value is None:
        raise Refused("Missing required parameter: 'messages'.", param="messages", code="missing_required_parameter")
    messages = _list(value, "messages")
    if not 0 < len(messages) <= MOST_MESSAGES:
        raise Refused("Invalid 'messages': expected an array of a sensible length.", param="messages")
    texts, pictures = list[str](), list[str]()
    for number, each in enumerate(messages):
        name = f"messages[{number}]"
        message = _object(each, name)
        if message.get("role") not in ROLES:
            raise Refused(f"Invalid value for '{name}.role'.", param=f"{name}.role", code="invalid_value")
        _content(message.get("content"), f"{name}.content", texts, pictures)
    if len(pictures) > MOST_PICTURES:
        raise Refused("Too many images in the request.", param="messages")
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
                raise Refused(f"Invalid value: '{other}'.", param=f"{name}[{number}].type", code="invalid_value")


def _address(value: Any, name: str) -> str:
    address = _object(value, name).get("url")
    if not isinstance(address, str):
        raise Refused(f"Missing required parameter: '{name}.url'.", param=name, code="missing_required_parameter")
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
            raise Refused(f"Invalid value: '{other}'.", param="response_format.type", code="invalid_value")


def _schema(document: Document) -> Document:
    described = _object(document.get("json_schema"), "response_format.json_schema")
    if not described.get("name"):
        name = "response_format.json_schema.name"
        raise Refused(f"Missing required parameter: '{name}'.", param=name, code="missing_required_parameter")
    schema = _object(described.get("schema") or {}, "response_format.json_schema.schema")
    if schema.get("type", "object") != "object":
        message = "Invalid schema for response_format: schema must be a JSON Schema of 'type: \"object\"'."
        raise Refused(message, param="response_format")
    return schema
