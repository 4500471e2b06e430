"""Asks a model and reads its answer as JSON.

Invariant: an answer that is down, late, refused or unreadable raises; what comes back was really said, and is not
checked any further: a model may be wrong in the right form.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import httpx

from touchline.kernel import Misconfigured, Unavailable
from touchline.watch.http_request import OutgoingRequest, ServiceReply, ask
from touchline.watch.settings import ModelSettings

# What else can go wrong with a model.
#
# Unavailable
# └── InvalidAnswer           it said something that nobody can read: as good as nothing
#
# Invariant: neither of them ever means "no".


class InvalidAnswer(Unavailable):
    next_step = "Choose a model that supports JSON schemas, in the section `model` of the settings."


# JSON in what a model wrote: bare, in fences, between prose. Pure.
# Invariant: a document that was cut off is none; a part of it is never taken for the whole.

_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_OPENS = re.compile(r"[\[{]")
_DECODER = json.JSONDecoder()


def read_json(text: str) -> Any:
    """The first object or list that stands in the text. Raises ValueError when there is none."""
    text = _THOUGHTS.sub("", text)
    at = 0
    while opens := _OPENS.search(text, at):
        try:
            value, _ = _DECODER.raw_decode(text, opens.start())
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        except json.JSONDecodeError as error:
            if _is_cut_off(text, error):
                raise ValueError("it is truncated") from error
            at = opens.end()
        else:
            return value
    raise ValueError("it contains no JSON")


def missing_keys(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """What the schema requires of an object and this one has not. Types are the caller's business."""
    required = cast("list[str]", schema.get("required", []))
    if not isinstance(value, dict):
        return required or ["an object"]
    return [key for key in required if key not in value]


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """It broke at the end of the text, or in a word that nobody closed."""
    return error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string") or _is_cut_word(text, error)


def _is_cut_word(text: str, error: json.JSONDecodeError) -> bool:
    rest = text[error.pos :].strip()
    return bool(rest) and any(word.startswith(rest) for word in ("true", "false", "null"))


SERVICE = "the model"
PASSING = frozenset({408, 409, 425, 429})
REFUSALS = frozenset({400, 422})
OPTIONAL = {  # fields of a request that not every model takes, and by which words they are called in a refusal
    "temperature": ("temperature",),
    "response_format": ("response_format", "json_schema", "structured output", "guided"),
}
LONGEST_REFUSAL = 10_000


class ModelClient:
    def __init__(self, settings: ModelSettings, http: httpx.AsyncClient) -> None:
        self._settings = settings
        self._http = http
        self._refused = frozenset[str]()  # what this model does not take, by the names of the request's fields

    @property
    def is_set(self) -> bool:
        return bool(self._settings.url)

    async def ask(self, prompt: str, *, pictures: Sequence[bytes] = (), schema: Mapping[str, Any] | None = None) -> Any:
        """Pictures are JPEG or PNG. With a schema, which describes an object, the answer has its required keys; the
        prompt says itself that the answer is JSON, because some models take no schema.

        Raises Unavailable (none is set, down, late, busy), InvalidAnswer (unreadable) or Misconfigured (refused).
        """
        if not self.is_set:
            raise Unavailable("no model is configured", hint="Set `model.url`.")
        body = _body(self._settings.name, prompt, pictures, schema)
        refused = self._refused
        while True:  # at most once more for each optional field
            reply = await self._send({name: value for name, value in body.items() if name not in refused})
            more = refused_fields(reply) - refused
            if not more:
                break
            refused |= more
        _refuse(reply)
        self._refused = refused  # by now it has answered without them
        return _checked(_content(reply), schema)

    async def _send(self, body: Mapping[str, Any]) -> ServiceReply:
        headers = {"Authorization": f"Bearer {key}"} if (key := self._settings.key.get_secret_value()) else {}
        request = self._http.build_request("POST", f"{self._settings.url}/chat/completions", json=body, headers=headers)
        return await ask(self._http, OutgoingRequest(SERVICE, request, self._settings.timeout))


def _body(model: str, prompt: str, pictures: Sequence[bytes], schema: Mapping[str, Any] | None) -> dict[str, Any]:
    shown = [{"type": "image_url", "image_url": {"url": _data_url(picture)}} for picture in pictures]
    content = [{"type": "text", "text": prompt}, *shown] if shown else prompt
    body: dict[str, Any] = {"model": model, "temperature": 0, "messages": [{"role": "user", "content": content}]}
    if schema is not None:
        described = {"name": "answer", "strict": True, "schema": dict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": described}
    return body


def refused_fields(reply: ServiceReply) -> frozenset[str]:
    """What to leave out of the request, when the model refuses it: what its answer names, else all that may be."""
    if reply.status not in REFUSALS:
        return frozenset()
    text = reply.content[:LONGEST_REFUSAL].decode("utf-8", "replace").lower()
    named = frozenset(name for name, words in OPTIONAL.items() if any(word in text for word in words))
    return named or frozenset(OPTIONAL)


def _data_url(picture: bytes) -> str:
    kind = "png" if picture.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"


def _refuse(reply: ServiceReply) -> None:
    if reply.status == 200:
        return
    if reply.status >= 500 or reply.status in PASSING:
        raise Unavailable("the model is unavailable", why=f"status {reply.status}")
    hint = "Check the address, the key and the name in the section `model` of the settings."
    raise Misconfigured("the model rejected the request", why=f"status {reply.status}", hint=hint)


def _content(reply: ServiceReply) -> str:
    try:
        document = reply.document()
        content = document["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError) as error:
        raise InvalidAnswer("the response of the model is not a chat completion") from error
    if isinstance(content, list):  # some servers answer in parts
        parts = cast("list[Any]", content)
        content = "".join(str(cast("dict[str, Any]", part).get("text", "")) for part in parts if isinstance(part, dict))
    if not isinstance(content, str):
        raise InvalidAnswer("the response of the model is empty")
    return content


def _checked(content: str, schema: Mapping[str, Any] | None) -> Any:
    try:
        value = read_json(content)
    except ValueError as error:
        raise InvalidAnswer("the response of the model is not valid JSON", why=str(error)) from error
    if schema is not None and (missing := missing_keys(value, schema)):
        raise InvalidAnswer("the response of the model does not match the schema", why=f"without {', '.join(missing)}")
    return value
