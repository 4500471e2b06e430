"""The model behind OpenAI's chat interface: the form of its replies, the aliases it chooses, what it sees."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.world import MINUTE, day_of, served, world_of
from touchline_world.application import build_app
from touchline_world.days.model import Fault, Service, Trouble
from touchline_world.frames import pictures
from touchline_world.language_model.replies import choose_aliases, most_wanted, offered_words, write_reply
from touchline_world.language_model.requests import Question

from .conftest import Small

SEEN = {"soccer": True, "screen": False, "clock": "63:12"}
KNOWN_WORDS = {"words": ["LFC", "Reds"]}


def question(text: str = "What is this?", form: str = "text", schema: dict[str, Any] | None = None) -> Question:
    return Question("any", (text,), (), form, schema)


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


BOOLEAN, STRING = {"type": "boolean"}, {"type": "string"}


@pytest.mark.parametrize(
    ("asked", "facts", "reply"),
    [
        (question(), SEEN, SEEN),
        (
            question('Answer {"is_football": …, "filmed_screen": …}'),
            SEEN,
            {"is_football": True, "filmed_screen": False},
        ),
        (question('Answer {"clock_on_screen": null}'), SEEN, {"clock_on_screen": "63:12"}),
        (question(schema=schema(soccer=BOOLEAN, screen=BOOLEAN)), SEEN, {"soccer": True, "screen": False}),
        (question(schema=schema(football=STRING)), SEEN, {"football": "yes"}),
        (question(schema=schema(screen={"enum": ["YES", "NO"]})), SEEN, {"screen": "NO"}),
        (question(schema=schema(clock={"type": ["string", "null"]})), {**SEEN, "clock": None}, {"clock": None}),
        (question(schema=schema(clock=STRING)), {**SEEN, "clock": None}, {"clock": ""}),
        (question(schema=schema(confidence={"type": "number"})), SEEN, {"confidence": 0.97}),
        (question(schema=schema(reason=STRING)), SEEN, {"reason": ""}),
        (question(), KNOWN_WORDS, ["LFC", "Reds"]),
        (question(form="json_object"), KNOWN_WORDS, {"words": ["LFC", "Reds"]}),
        (question('As JSON: {"aliases": []}', "json_object"), KNOWN_WORDS, {"aliases": ["LFC", "Reds"]}),
        (question(schema=schema(names={"type": "array"})), KNOWN_WORDS, {"names": ["LFC", "Reds"]}),
    ],
)
def test_forms(asked: Question, facts: dict[str, Any], reply: Any) -> None:
    assert json.loads(write_reply(asked, facts, None)) == reply


def test_bad_answers_have_the_right_form_and_are_wrong() -> None:
    assert json.loads(write_reply(question(), SEEN, Trouble.BAD)) == {"soccer": False, "screen": True, "clock": "07:07"}
    assert {*json.loads(write_reply(question(), KNOWN_WORDS, Trouble.BAD))}.isdisjoint(KNOWN_WORDS["words"])


def test_odd_answers_come_in_several_ways_and_each_stays_the_same() -> None:
    replies = [write_reply(question(f"What is this, {number}?"), SEEN, Trouble.ODD) for number in range(40)]
    assert len({*replies}) == 5
    assert replies[7] == write_reply(question("What is this, 7?"), SEEN, Trouble.ODD)
    plain = json.dumps(SEEN)
    assert plain not in {*replies}
    assert any(reply.startswith("```") for reply in replies)
    assert any(plain in reply for reply in replies)
    assert {"soccer": "TRUE", "screen": "FALSE", "clock": '"63:12"'} in [_loaded(reply) for reply in replies]


def _loaded(reply: str) -> Any:
    try:
        return json.loads(reply)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (['Choose from ["LFC", "The Reds", "Liverpool"]'], ["LFC", "The Reds", "Liverpool"]),
        (['An example: ["x"]. Words: ["LFC", "Reds"]'], ["LFC", "Reds"]),
        (["Words:\n- LFC\n- The Reds\n\nAnswer in JSON."], ["LFC", "The Reds"]),
        (["1. LFC\n2) Reds"], ["LFC", "Reds"]),
        (["Candidates: LFC, The Reds, Liverpool FC"], ["LFC", "The Reds", "Liverpool FC"]),
        (['["old", "ones"]', "Thanks", '["new"]'], ["new"]),
        (["Hello"], []),
        (["[1, 2]"], []),
        ([], []),
    ],
)
def test_words_that_are_offered(texts: list[str], words: list[str]) -> None:
    assert offered_words(texts) == words


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["Liverpool Football Club", "Liverpool FC", "Liverpool", "LFC", "The Reds"], ["Liverpool", "LFC", "The Reds"]),
        (["Paris Saint-Germain", "PSG", "Les Parisiens"], ["PSG", "Paris Saint-Germain", "Les Parisiens"]),
        (["FC", "Football Club", "1892"], []),
        (["Olympique de Marseille Football Club de Provence"], []),
        (["Göteborg", "GOTEBORG"], ["GOTEBORG"]),
    ],
)
def test_the_choice(offered: list[str], chosen: list[str]) -> None:
    assert choose_aliases(offered, 5) == chosen


@given(st.lists(st.text(max_size=20)), st.integers(1, 8))
def test_only_what_was_offered_is_chosen(offered: list[str], most: int) -> None:
    chosen = choose_aliases(offered, most)
    assert {*chosen} <= {*offered}
    assert len(chosen) == len({*chosen}) <= most


@pytest.mark.parametrize(
    ("text", "most"),
    [("at most 3 words", 3), ("Up to 10, please", 10), ("a maximum of 2", 2), ("some", 5), ("up to 0", 1)],
)
def test_how_many(text: str, most: int) -> None:
    assert most_wanted(text) == most


CHAT = "/model/v1/chat/completions"
KEY = {"Authorization": "Bearer sk-world"}
WORDS = 'Which of these do people write? ["Northport Football Club", "Northport", "NFC", "The Dockers"]'


def message(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if len(content) == 1 else list(content)}


def shown(picture: Image.Image, kind: str = "JPEG") -> dict[str, Any]:
    written = io.BytesIO()
    picture.save(written, kind)
    data = base64.b64encode(written.getvalue()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind.lower()};base64,{data}"}}


TEXT = {"type": "text", "text": "Is this football?"}


async def ask(small: Small, *messages: Any, **more: Any) -> httpx.Response:
    document = {"model": "gpt-4o-mini", "messages": list(messages), **more}
    return await small.client.post(CHAT, json=document, headers=KEY)


async def test_a_completion(small: Small) -> None:
    answer = await ask(small, {"role": "system", "content": "You know football."}, message(WORDS))
    told = answer.json()
    assert told == {
        "id": told["id"],
        "object": "chat.completion",
        "created": int(small.wall.now().timestamp()),
        "model": "gpt-4o-mini",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": '["Northport", "NFC", "The Dockers"]',
                    "refusal": None,
                    "annotations": [],
                },
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": told["usage"],
        "service_tier": "default",
        "system_fingerprint": "fp_world",
    }
    assert told["id"].startswith("chatcmpl-")
    used = told["usage"]
    assert used["total_tokens"] == used["prompt_tokens"] + used["completion_tokens"]
    assert answer.headers["x-ratelimit-remaining-requests"] == "499"


async def test_a_schema(small: Small) -> None:
    schema = {"type": "object", "properties": {"aliases": {"type": "array", "items": {"type": "string"}}}}
    form = {"type": "json_schema", "json_schema": {"name": "aliases", "strict": True, "schema": schema}}
    told = (await ask(small, message(WORDS), response_format=form)).json()
    assert json.loads(told["choices"][0]["message"]["content"]) == {"aliases": ["Northport", "NFC", "The Dockers"]}


async def test_streaming(small: Small) -> None:
    answer = await ask(small, message(WORDS), stream=True, stream_options={"include_usage": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert events.pop() == "[DONE]"
    chunks = [json.loads(event) for event in events]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1
    *deltas, last = chunks
    assert (last["choices"], last["usage"]["total_tokens"] > 0) == ([], True)
    assert {chunk["usage"] for chunk in deltas} == {None}
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in deltas)
    assert json.loads(text) == ["Northport", "NFC", "The Dockers"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in deltas][-2:] == [None, "stop"]


async def test_models(small: Small) -> None:
    told = (await small.client.get("/model/v1/models", headers=KEY)).json()
    assert told["object"] == "list"
    assert {*told["data"][0]} == {"id", "object", "created", "owned_by"}


async def picture_at(small: Small, name: str, at_ms: int) -> Image.Image:
    path = await small.world.videos.file(small.posts[name].clips[0].recipe)
    found = await asyncio.to_thread(lambda: next(each for at, each in pictures(path, 1) if at >= at_ms))
    return Image.fromarray(np.ascontiguousarray(found[:, :, ::-1]))


@pytest.mark.parametrize(("at_ms", "clock"), [(500, "22:00"), (1_500, "22:01"), (4_500, "22:04")])
async def test_it_knows_its_videos(small: Small, at_ms: int, clock: str) -> None:
    picture = (await picture_at(small, "video", at_ms)).resize((640, 360))
    told = (await ask(small, message(TEXT, shown(picture)))).json()
    seen = json.loads(told["choices"][0]["message"]["content"])
    assert seen == {"soccer": True, "screen": False, "clock": clock}
    assert told["usage"]["prompt_tokens"] > 255


async def test_a_picture_by_its_address(small: Small) -> None:
    told = (
        await small.client.get("/syndication/tweet-result", params={"id": small.posts["video"].id, "token": "a"})
    ).json()
    address = {"type": "image_url", "image_url": {"url": told["video"]["poster"]}}
    seen = json.loads((await ask(small, message(TEXT, address))).json()["choices"][0]["message"]["content"])
    assert seen == {"soccer": True, "screen": False, "clock": "22:01"}


async def test_no_other_server_is_asked_for_a_picture(small: Small) -> None:
    asked = list[str]()

    async def note(request: Request) -> Response:
        asked.append(request.url.path)
        return Response(status_code=404)

    async with served(Starlette(routes=[Route("/a.png", note)])) as url:
        port = url.rpartition(":")[2]
        for address in (f"{url}/a.png", f"http://localhost:{port}/a.png", f"http://user@127.0.0.1:{port}/a.png"):
            answer = await small.client.post(
                CHAT, json={"model": "m", "messages": [image(address)]}, headers={**KEY, "Host": f"127.0.0.1:{port}"}
            )
            assert answer.json()["error"]["code"] == "invalid_image_url"
    assert asked == []


@pytest.mark.parametrize(("colour", "soccer"), [((50, 130, 60), True), ((90, 90, 200), False), ((0, 0, 0), False)])
async def test_a_picture_that_nobody_here_drew(small: Small, colour: tuple[int, int, int], soccer: bool) -> None:
    picture = Image.new("RGB", (160, 90), colour)
    told = (await ask(small, message(TEXT, shown(picture, "PNG")))).json()
    seen = json.loads(told["choices"][0]["message"]["content"])
    assert seen == {"soccer": soccer, "screen": False, "clock": None}


def image(url: str) -> dict[str, Any]:
    return message(TEXT, {"type": "image_url", "image_url": {"url": url}})


@pytest.mark.parametrize(
    ("document", "status", "code"),
    [
        (b"{", 400, None),
        (b"[" * 100_000, 400, None),
        ({"messages": [message("Hi")]}, 400, None),
        ({"model": "m"}, 400, "missing_required_parameter"),
        ({"model": "m", "messages": "Hi"}, 400, "invalid_type"),
        ({"model": "m", "messages": [{"role": "king", "content": "Hi"}]}, 400, "invalid_value"),
        ({"model": "m", "messages": [message("Hi")], "response_format": {"type": "json_object"}}, 400, None),
        ({"model": "m", "messages": [message("Hi")], "response_format": {"type": "yaml"}}, 400, "invalid_value"),
        ({"model": "m", "messages": [image("data:image/png;base64,AAAA")]}, 400, "invalid_image_format"),
        ({"model": "m", "messages": [image("data:image/png;base64,!")]}, 400, "invalid_base64"),
        ({"model": "m", "messages": [image("file:///etc/passwd")]}, 400, "invalid_image_url"),
        ({"model": "m", "messages": [image("http://127.0.0.1:1/a.png")]}, 400, "invalid_image_url"),
    ],
)
async def test_wrong_requests(small: Small, document: Any, status: int, code: str | None) -> None:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    answer = await small.client.post(CHAT, content=body, headers=KEY)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert {*error} == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("invalid_request_error", code)


@pytest.mark.parametrize(
    ("header", "code"), [({}, None), ({"Authorization": "Bearer sk-nobody-knows"}, "invalid_api_key")]
)
async def test_without_the_key(small: Small, header: dict[str, str], code: str | None) -> None:
    answer = await small.client.post(CHAT, json={}, headers=header)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, code)
    assert "nobody" not in answer.text


async def test_troubles(tmp_path_factory: pytest.TempPathFactory) -> None:
    troubles = [Trouble.OUTAGE, Trouble.LIMITED, Trouble.ERRORS, Trouble.EMPTY, Trouble.BAD]
    faults = [Fault(Service.MODEL, each, at * MINUTE, (at + 1) * MINUTE) for at, each in enumerate(troubles)]
    world, wall = world_of(day_of([], faults), tmp_path_factory.mktemp("moody"), 0)
    answers = list[httpx.Response]()
    async with served(build_app(world)) as url, httpx.AsyncClient(base_url=url, headers=KEY) as client:
        for _ in troubles:
            answers.append(await client.post(CHAT, json={"model": "m", "messages": [message(WORDS)]}))
            wall.advance(world.clock.at(MINUTE) - world.clock.starts)
    assert [answer.status_code for answer in answers] == [503, 429, 500, 200, 200]
    errors = [(answer.json()["error"]["type"], answer.json()["error"]["code"]) for answer in answers[:3]]
    assert errors == [("engine_overloaded", None), ("requests", "rate_limit_exceeded"), ("server_error", None)]
    assert answers[1].headers["x-ratelimit-remaining-requests"] == "0"
    assert answers[1].headers["retry-after"] == "1"
    replies = [answer.json()["choices"][0]["message"]["content"] for answer in answers[3:]]
    assert replies[0] == ""
    assert "Northport" not in replies[1]
