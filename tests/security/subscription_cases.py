"""The cases of subscriptions: subscribed as one tenant while both tenants change something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from graphql import GraphQLSchema

from tests.integration.gateway.graphql.subscriber import LIVE, Socket, opened

from .graphql_cases import argument_leaves, operation
from .leaves import Leaf, built, variations
from .matrix import Case, Ids

TRIED, FENCE = "tried", "fence"


@dataclass(frozen=True, slots=True)
class Stage:
    """Where to connect, as whom, and how to make something happen: first in the other tenant, then in one's own."""

    address: str
    token: str = field(repr=False)
    stir: Callable[[], Awaitable[str]]  # answers the hash of one's own artifact that changed


def subscription_cases(schema: GraphQLSchema, stage: Stage) -> Iterator[Case]:
    fields = schema.subscription_type.fields if schema.subscription_type else {}
    for name, one in fields.items():
        document = operation("subscription", name, one, schema)
        for variation, leaves in variations(list(argument_leaves(name, one.args))):
            takes_ids = any(leaf.id_kind for leaf in leaves)
            yield Case(f"Subscription.{name}{variation}", takes_ids, _runner(stage, document, leaves))


def _runner(stage: Stage, document: str, leaves: list[Leaf]) -> Callable[[Ids], Awaitable[Any]]:
    async def run(ids: Ids) -> Any:
        async with opened(stage.address) as socket:
            await socket.hello(stage.token)
            await socket.subscribe(name=FENCE, query=LIVE)
            payload = {"query": document, "variables": built(leaves, ids)}
            await socket.say("subscribe", id=TRIED, payload=payload)
            heard = await _until(socket, await stage.stir())
            # What was on its way at the first fence has arrived at the second; what came with that one does not count.
            second = await stage.stir()
            heard += await _until(socket, second)
            return [message for message in heard if second not in str(message)]

    return run


async def _until(socket: Socket, fence: str) -> list[Any]:
    """What the subscription in question says until the other one has seen the fence."""
    heard: list[Any] = []
    while True:
        message = await socket.hear()
        if message.get("id") == TRIED:
            heard.append(message)
        elif fence in str(message):
            return heard
