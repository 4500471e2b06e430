"""Share links: how long one may live, and whether it may be used now. Pure."""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import datetime, timedelta
from uuid import UUID

from touchline.contracts.playback import ShareLink
from touchline.kernel import InvalidInput, LimitExceeded, NotFound, format_duration
from touchline.serve.settings import ServeSettings

TOKEN_PREFIX = "tlv_"  # noqa: S105  says to people and to secret scanners what it is
SHORTEST_LIFETIME = timedelta(minutes=1)
_TOKEN = re.compile(rf"{TOKEN_PREFIX}[A-Za-z0-9_-]{{43}}", re.ASCII)


def new_token() -> str:
    """256 random bits, so that a plain hash of it is all that has to be kept."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_hash(token: str) -> bytes:
    """Of a text that could be a token."""
    if not _TOKEN.fullmatch(token):
        raise no_such_link()
    return hashlib.sha256(token.encode()).digest()


def valid_end(expires_at: datetime | None, now: datetime, settings: ServeSettings) -> datetime:
    if expires_at is None:
        return now + settings.share_link_lifetime
    if expires_at.tzinfo is None:
        raise InvalidInput("not a time", field="expires_at", why="it has no time zone")
    if expires_at < now + SHORTEST_LIFETIME:
        raise InvalidInput(
            "the link would expire too soon", field="expires_at", why="it must be valid for at least a minute"
        )
    if expires_at > now + settings.longest_share_link:
        longest = format_duration(settings.longest_share_link)
        raise InvalidInput("the link would be valid for too long", field="expires_at", why=f"the limit is {longest}")
    return expires_at


def require_room(valid_links: int, settings: ServeSettings) -> None:
    if valid_links >= settings.share_links_per_artifact:
        hint = "Revoke one that is no longer needed."
        raise LimitExceeded("this video has too many share links", why=f"the limit is {valid_links}", hint=hint)


def is_valid(link: ShareLink, now: datetime) -> bool:
    return link.revoked_at is None and now < link.expires_at


def valid_link_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise unknown_link() from error


def unknown_link() -> NotFound:
    return NotFound("no such share link")


def no_such_link() -> NotFound:
    """For whoever holds a token: why is not theirs to know."""
    return NotFound(
        "there is nothing to play here",
        why="the link has expired, was revoked or never existed",
        hint="Ask for a new link.",
    )
