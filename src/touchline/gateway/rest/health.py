"""Is it alive, is it ready, and what has it counted.

Invariant: alive says nothing about other parts, so that nobody restarts us because the database is away.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from touchline.gateway.composition import Check, Gateway
from touchline.kernel import Forbidden, Role, Scope, Unavailable

from .callers import Bearer, current_principal, is_this_machine
from .problems import RESPONSES, problem, request_id_of

logger = logging.getLogger(__name__)
router = APIRouter(tags=["health"], responses=RESPONSES)


@router.get("/health/live")
async def live() -> dict[str, str]:
    return {"status": "live"}


@router.get("/health/ready", response_model=None)
async def ready(request: Request, gateway: Gateway) -> Response:
    names = list(gateway.checks)
    async with asyncio.TaskGroup() as group:
        running = [
            group.create_task(_is_up(name, gateway.checks[name], gateway.settings.check_timeout)) for name in names
        ]
    states = {name: "up" if task.result() else "down" for name, task in zip(names, running, strict=True)}
    down = [name for name, state in states.items() if state == "down"]
    if down:
        error = Unavailable("not ready", why=f"down: {', '.join(down)}")
        return problem(error, request_id_of(request), extra={"parts": states})
    return JSONResponse({"status": "ready", "parts": states})


@router.get("/metrics", response_model=None)
async def metrics(request: Request, bearer: Bearer, gateway: Gateway) -> Response:
    """For this machine, and for operators from anywhere."""
    if not is_this_machine(request.client.host if request.client else "", request.headers):
        principal = await current_principal(bearer, gateway)
        principal.require(Scope.READ)
        if principal.role is not Role.OPERATOR:
            raise Forbidden("only an operator may do this", why="it shows the whole installation")
    return Response(generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _is_up(name: str, check: Check, at_most: timedelta) -> bool:
    """Whatever goes wrong means down; why is for the log, not for strangers."""
    try:
        async with asyncio.timeout(at_most.total_seconds()):
            await check()
    except Exception as error:
        logger.warning("a part is down", extra={"part": name, "reason": f"{type(error).__name__}: {error}"})
        return False
    return True
