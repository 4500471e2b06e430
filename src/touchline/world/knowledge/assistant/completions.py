"""Completions and their chunks in the form of the OpenAI API."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from .requests import Question

PICTURE_TOKENS = 255
FINGERPRINT = "fp_world"

_PIECE = re.compile(r"\s*\S+\s*")


def completion(question: Question, reply: str, created: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply, "refusal": None, "annotations": []}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return {
        "id": _id(question),
        "object": "chat.completion",
        "created": created,
        "model": question.model,
        "choices": [choice],
        "usage": usage(question, reply),
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
    }


def chunks(question: Question, reply: str, created: int) -> Iterator[str]:
    """As server-sent events: the role, the pieces, the end, the usage if it was asked for."""
    yield _event(question, created, [_delta({"role": "assistant", "content": "", "refusal": None})])
    for piece in _PIECE.findall(reply):
        yield _event(question, created, [_delta({"content": piece})])
    yield _event(question, created, [_delta({}, "stop")])
    if question.streams_usage:
        yield _event(question, created, [], usage(question, reply))
    yield "data: [DONE]\n\n"


def usage(question: Question, reply: str) -> dict[str, Any]:
    prompt, answered = tokens(question.text) + PICTURE_TOKENS * len(question.pictures), tokens(reply)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answered,
        "total_tokens": prompt + answered,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def tokens(text: str) -> int:
    """Nearly as many as the real ones count."""
    return -(-len(text) // 4)


def _id(question: Question) -> str:
    told = "\n".join((question.model, question.text, *question.pictures)).encode()
    return f"chatcmpl-{hashlib.sha256(told).hexdigest()[:29]}"


def _delta(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _event(question: Question, created: int, choices: list[dict[str, Any]], used: dict[str, Any] | None = None) -> str:
    document: dict[str, Any] = {
        "id": _id(question),
        "object": "chat.completion.chunk",
        "created": created,
        "model": question.model,
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
        "choices": choices,
    }
    if question.streams_usage:
        document["usage"] = used
    return f"data: {json.dumps(document, ensure_ascii=False, separators=(',', ':'))}\n\n"
