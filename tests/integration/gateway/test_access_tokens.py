"""Access tokens and the keys behind them: what is refused, and what survives a rotation."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from touchline.gateway.auth import credentials
from touchline.gateway.auth.credentials import SigningKeys
from touchline.gateway.auth.rules import WITHOUT_TENANT
from touchline.gateway.auth.sessions.rules import SigningKey, StoredKey
from touchline.gateway.auth.store import SessionStore
from touchline.kernel import Role, Unauthenticated

from .conftest import SECRET, SETTINGS, World


async def signing_key(world: World) -> SigningKey:
    return await SigningKeys(world.database, SECRET, SETTINGS, world.clock).signing()


def body(world: World, **changed: Any) -> dict[str, Any]:
    now = int(world.clock.now().timestamp())
    proper: dict[str, Any] = {
        "iss": "touchline",
        "aud": "touchline",
        "sub": str(uuid4()),
        "tenant_id": str(world.ours.id),
        "role": "operator",
        "sid": str(uuid4()),
        "iat": now,
        "nbf": now,
        "exp": now + 60,
        "jti": "1",
    }
    return {name: value for name, value in (proper | changed).items() if value is not None}


async def refused(world: World, token: str) -> str:
    with pytest.raises(Unauthenticated) as caught:
        await world.auth.authentication.authenticate(token)
    return caught.value.why


async def test_the_proper_token_that_the_others_differ_from_is_accepted(world: World) -> None:
    key = await signing_key(world)
    token = jwt.encode(body(world), key.private_key, "EdDSA", headers={"kid": key.kid})
    assert (await world.auth.authentication.authenticate(token)).role is Role.OPERATOR


WRONG_CLAIMS: list[tuple[str, dict[str, Any]]] = [
    ("another audience", {"aud": "elsewhere"}),
    ("another audience", {"aud": ["touchline"]}),
    ("another issuer", {"iss": "elsewhere"}),
    ("malformed", {"role": "emperor"}),
    ("malformed", {"tenant_id": "ours"}),
    ("malformed", {"exp": "soon"}),
    ("malformed", {"exp": 10**30}),
    *(("claims", {name: None}) for name in credentials.REQUIRED),
]


async def test_wrong_or_missing_claims_are_refused(world: World) -> None:
    key = await signing_key(world)
    for why, changed in WRONG_CLAIMS:
        token = jwt.encode(body(world, **changed), key.private_key, "EdDSA", headers={"kid": key.kid})
        assert why in await refused(world, token), changed


async def test_other_algorithms_are_refused(world: World) -> None:
    key = await signing_key(world)
    public = key.private_key.public_key().public_bytes_raw()
    headers = {"kid": key.kid}
    none = jwt.encode(body(world), "", "none", headers=headers)
    confused = jwt.encode(body(world), public, "HS256", headers=headers)
    stripped = none.rsplit(".", 1)[0] + "."
    for token in (none, confused, stripped):
        assert "EdDSA" in await refused(world, token)


async def test_forged_signatures_and_unknown_keys_are_refused(world: World) -> None:
    key = await signing_key(world)
    forger = Ed25519PrivateKey.generate()
    assert "signature" in await refused(world, jwt.encode(body(world), forger, "EdDSA", headers={"kid": key.kid}))
    assert "not known" in await refused(world, jwt.encode(body(world), forger, "EdDSA", headers={"kid": "0" * 16}))
    assert "named key" in await refused(world, jwt.encode(body(world), forger, "EdDSA"))


async def test_a_changed_body_is_refused(world: World) -> None:
    signed_in = await world.sign_in(await world.user())
    header, payload, signature = signed_in.access_token.split(".")
    said = json.loads(base64.urlsafe_b64decode(payload + "=="))
    raised = base64.urlsafe_b64encode(json.dumps(said | {"role": "operator"}).encode()).rstrip(b"=").decode()
    assert "signature" in await refused(world, f"{header}.{raised}.{signature}")


async def test_nonsense_is_refused(world: World) -> None:
    deep = base64.urlsafe_b64encode(b"[" * 3000).decode()
    for token in ("", ".", "a.b.c", "e30.e30.", "x" * 5000, f"{deep}.e30.", "tl", "Bearer", "\u00e9.\u00e9.\u00e9"):
        assert await refused(world, token), token


async def test_times_are_kept_to_the_leeway(world: World) -> None:
    signed_in = await world.sign_in(await world.user())
    token, start = signed_in.access_token, world.clock.now()
    world.clock.advance(-SETTINGS.leeway)
    await world.auth.authentication.authenticate(token)
    world.clock.advance(-timedelta(seconds=1))
    assert "not valid yet" in await refused(world, token)
    world.clock.advance(start + SETTINGS.access_lifetime + SETTINGS.leeway - timedelta(seconds=1) - world.clock.now())
    await world.auth.authentication.authenticate(token)
    world.later(seconds=1)
    assert "expired" in await refused(world, token)


async def test_rotation_keeps_old_tokens_valid_until_they_expire(world: World) -> None:
    user = await world.user()
    await signing_key(world)
    world.clock.advance(SETTINGS.key_lifetime - timedelta(seconds=1))
    before = await world.sign_in(user)
    world.later(seconds=2)
    after = await world.sign_in(user)
    assert credentials.key_id(before.access_token) != credentials.key_id(after.access_token)
    fresh_process = world.process()
    for token in (before.access_token, after.access_token):
        await world.auth.authentication.authenticate(token)
        await fresh_process.authentication.authenticate(token)
    world.clock.advance(SETTINGS.access_lifetime + SETTINGS.leeway)
    assert await refused(world, before.access_token)


async def test_a_retired_key_verifies_nothing_new(world: World) -> None:
    """Whoever steals an old key cannot use it: it is forgotten once its last token has expired."""
    old = await signing_key(world)
    world.clock.advance(SETTINGS.key_lifetime + SETTINGS.access_lifetime + 2 * SETTINGS.leeway)
    token = jwt.encode(body(world), old.private_key, "EdDSA", headers={"kid": old.kid})
    assert "no longer valid" in await refused(world, token)


async def test_another_process_accepts_a_key_that_was_made_a_moment_ago(world: World) -> None:
    other = world.process()
    user = await world.user()
    await other.authentication.authenticate((await world.sign_in(user)).access_token)
    world.clock.advance(SETTINGS.key_lifetime)
    await other.authentication.authenticate((await world.sign_in(user)).access_token)


async def test_processes_that_rotate_at_once_make_one_key(world: World) -> None:
    processes = [SigningKeys(world.database, SECRET, SETTINGS, world.clock) for _ in range(6)]
    first = {key.kid for key in await asyncio.gather(*(process.signing() for process in processes))}
    world.clock.advance(SETTINGS.key_lifetime)
    second = {key.kid for key in await asyncio.gather(*(process.signing() for process in processes))}
    assert len(first) == len(second) == 1
    assert first != second
    assert [key.number for key in await stored_keys(world)] == [2, 1]


async def test_private_keys_are_sealed_and_another_secret_makes_its_own(world: World) -> None:
    ours = await signing_key(world)
    [stored] = await stored_keys(world)
    assert ours.private_key.private_bytes_raw() not in stored.sealed_key
    strangers = [SigningKeys(world.database, "another secret", SETTINGS, world.clock) for _ in range(2)]
    theirs = {(await stranger.signing()).kid for stranger in strangers}
    assert len(theirs) == 1
    assert ours.kid not in theirs
    assert (await signing_key(world)).kid == ours.kid  # and so each keeps to its own


async def stored_keys(world: World) -> Sequence[StoredKey]:
    async with world.database.transaction(WITHOUT_TENANT) as transaction:
        return await SessionStore(transaction.connection).keys()
