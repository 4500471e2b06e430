from __future__ import annotations

import asyncio

from touchline.gateway.auth.credentials import Cost, Passwords

CHEAP = Cost(n=2, r=1, p=1)


async def test_the_right_password_and_no_other() -> None:
    passwords = Passwords(CHEAP)
    stored = await passwords.hash("correct horse")
    assert await passwords.verify("correct horse", stored)
    for wrong in ("", "correct horse ", "Correct horse", "\ud800"):
        assert not await passwords.verify(wrong, stored)


async def test_the_same_password_is_stored_differently_each_time() -> None:
    passwords = Passwords(CHEAP)
    stored = await asyncio.gather(*(passwords.hash("correct horse") for _ in range(5)))
    assert len(set(stored)) == 5
    assert not any("correct" in text for text in stored)


async def test_old_costs_still_verify() -> None:
    stored = await Passwords(Cost(n=4, r=2, p=2)).hash("correct horse")
    assert stored.startswith("scrypt$4$2$2$")
    assert await Passwords(CHEAP).verify("correct horse", stored)


async def test_nobody_has_a_password() -> None:
    assert not await Passwords(CHEAP).verify("anything", None)


async def test_who_has_the_hashes_pays_for_each_guess() -> None:
    """The costs when nobody chooses others: those that OWASP advises."""
    assert (await Passwords().hash("correct horse")).startswith("scrypt$16384$8$5$")
