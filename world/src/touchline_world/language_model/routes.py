"""`POST /v1/chat/completions` and `GET /v1/models`, as any client of the OpenAI API calls them."""

from __future__ import annotations

import hmac
from dataclasses import asdict, dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from touchline_world.days.model import Service, Trouble
from touchline_world.http import BodyTooLarge, fault_response, read_body
from touchline_world.world import World

from .replies import Facts, choose_aliases, chunks, completion, most_wanted, offered_words, write_reply
from .requests import (
    LIMITS,
    MOST_BYTES,
    InvalidRequest,
    Question,
    broken,
    limited,
    open_picture,
    overloaded,
    read_question,
    unauthenticated,
)
from .vision import PictureRecogniser

MODEL = "touchline-world"
MOST_BODY = MOST_BYTES * 4 // 3 + 1024 * 1024
REMAINING = {"x-ratelimit-remaining-requests": "499", "x-ratelimit-remaining-tokens": "199000"}


def routes(world: World, key: str, sight: PictureRecogniser) -> list[BaseRoute]:
    assistant = _Assistant(world, key, sight)
    return [
        Route("/v1/models", assistant.models),
        Route("/v1/models/{name:str}", assistant.model),
        Route("/v1/chat/completions", assistant.chat, methods=["POST"]),
    ]


@dataclass(frozen=True, slots=True)
class _Assistant:
    world: World
    key: str
    sight: PictureRecogniser

    async def models(self, request: Request) -> Response:
        return self._refusal(request) or JSONResponse({"object": "list", "data": [self._described(MODEL)]})

    async def model(self, request: Request) -> Response:
        return self._refusal(request) or JSONResponse(self._described(request.path_params["name"]))

    def _described(self, name: str) -> dict[str, object]:
        created = int(self.world.clock.starts.timestamp())
        return {"id": name, "object": "model", "created": created, "owned_by": "touchline"}

    async def chat(self, request: Request) -> Response:
        refused = self._refusal(request)
        if refused is not None:
            return refused
        try:
            question = read_question(await read_body(request, MOST_BODY))
            trouble = self.world.trouble(Service.MODEL)
            facts = await self._facts(question, request.scope["server"][1])
            reply = "" if trouble is Trouble.EMPTY else write_reply(question, facts, trouble)
        except BodyTooLarge:
            return InvalidRequest("The request is too large.", status=413).answer()
        except InvalidRequest as wrong:
            return wrong.answer()
        return self._answer(question, reply)

    async def _facts(self, question: Question, port: int) -> Facts:
        """A question with a picture is about what it shows, every other one about words."""
        if question.pictures:
            return asdict(await self.sight.look(await open_picture(question.pictures[0], port)))
        return {"words": choose_aliases(offered_words(question.texts), most_wanted(question.text))}

    def _answer(self, question: Question, reply: str) -> Response:
        created = int(self.world.clock.wall.now().timestamp())
        headers = {**LIMITS, **REMAINING, "openai-version": "2020-10-01"}
        if question.streams:
            return StreamingResponse(iter(chunks(question, reply, created)), 200, headers, "text/event-stream")
        return JSONResponse(completion(question, reply, created), headers=headers)

    def _refusal(self, request: Request) -> Response | None:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(given.encode(), self.key.encode()):
            return unauthenticated(given)
        match self.world.trouble(Service.MODEL):
            case Trouble.OUTAGE:
                return overloaded()
            case Trouble.LIMITED:
                return limited(MODEL)
            case Trouble.ERRORS:
                return broken()
            case _:
                common = fault_response(self.world, Service.MODEL)
                return common if isinstance(common, Response) else None
