"""The user's session of the network: cookies that were exported from a browser, kept as Playwright keeps them.

Invariant: only cookies of the network are kept, in a file that nobody else reads; nothing of them is ever told.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from touchline.kernel import InvalidInput
from touchline.platform.stack.folder import private_folder, write_private

NAME = "session.json"
SEARCHES = "searches.json"
SIGNED_IN = "auth_token"  # the cookie that shows it
MOST_BYTES = 4 * 1024**2
SAME_SITE = {"strict": "Strict", "none": "None", "no_restriction": "None"}
HOW = "Export the cookies of the network as cookies.txt or JSON from a browser in which you are signed in."

Cookie = dict[str, Any]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Imported:
    cookies: int
    expires_at: datetime | None  # of the one that shows who we are


class Session:
    """The file in its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / NAME

    @property
    def saved_at(self) -> datetime | None:
        try:
            return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
        except FileNotFoundError:
            return None

    def read(self) -> dict[str, Any] | None:
        try:
            return json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return None

    def write(self, state: Mapping[str, Any]) -> None:
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        private_folder(self._folder)
        write_private(self.path, json.dumps(state), durable=True)


class SearchLog:
    """When the account was searched with, in a file beside its session: a restart does not give it a new budget."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / SEARCHES
        self._times = self._load()

    def read(self) -> list[datetime]:
        return self._times

    def add(self, now: datetime, window: timedelta) -> None:
        self._times = [each for each in self._times if each > now - window] + [now]
        try:
            self._path.parent.parent.mkdir(parents=True, exist_ok=True)
            private_folder(self._path.parent)
            write_private(self._path, json.dumps([each.timestamp() for each in self._times]))
        except OSError as error:  # a full disk stops no search; what counts until the next start is known here
            logger.warning("[TWITTER] the searches cannot be kept", extra={"reason": str(error)})

    def _load(self) -> list[datetime]:
        """A file that cannot be read is as good as none: the network's own limit is behind it."""
        try:
            return [datetime.fromtimestamp(each, UTC) for each in json.loads(self._path.read_text("utf-8"))]
        except (OSError, ValueError, TypeError, OverflowError):
            return []


def import_cookies(file: Path, folder: Path, network_url: str, now: float | None = None) -> Imported:
    """What `touchline watch login --cookies FILE` does. The role notices it before its next search."""
    now = time.time() if now is None else now
    host = urlsplit(network_url).hostname or ""
    cookies = [each for each in _cookies(_text(file)) if _is_of(each["domain"], host) and _lives(each, now)]
    proof = next((each for each in cookies if each["name"] == SIGNED_IN), None)
    if proof is None:
        why = f"it has no valid cookie `{SIGNED_IN}` of {host}"
        raise InvalidInput("these cookies are not from a signed-in account", field="cookies", why=why, hint=HOW)
    Session(folder).write({"cookies": cookies, "origins": []})
    return Imported(len(cookies), _end(proof["expires"]))


def _end(expires: float) -> datetime | None:
    return datetime.fromtimestamp(expires, UTC) if expires > 0 else None


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InvalidInput("this is not a cookie file", field="cookies", why="it is too large", hint=HOW)
        return content.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read", field="cookies", why=error.strerror or "") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            "this is not a cookie file", field="cookies", why="it is not a text file", hint=HOW
        ) from error


def _cookies(text: str) -> list[Cookie]:
    """Of cookies.txt, of the lists that extensions of browsers write, or of Playwright's storage state."""
    if not text.lstrip().startswith(("[", "{")):
        return list(_from_lines(text))
    try:
        document: Any = json.loads(text)
        listed = cast("dict[str, Any]", document)["cookies"] if isinstance(document, dict) else document
        return [_from_document(each) for each in listed]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise InvalidInput("no cookies found", field="cookies", why="the JSON contains no cookies", hint=HOW) from None


def _from_lines(text: str) -> Iterator[Cookie]:
    for line in text.splitlines():
        is_hidden = line.startswith("#HttpOnly_")
        fields = line.removeprefix("#HttpOnly_").split("\t")
        if len(fields) != 7 or (line.startswith("#") and not is_hidden) or not _is_number(fields[4]):
            continue
        domain, _, path, secure, expires, name, value = fields
        yield _cookie((domain, path, name, value), float(expires), secure.upper() == "TRUE", is_hidden)


def _from_document(each: Mapping[str, Any]) -> Cookie:
    ends = each.get("expires", each.get("expirationDate"))
    same_site = str(each.get("sameSite") or "").lower()
    place = (str(each["domain"]), str(each.get("path") or "/"), str(each["name"]), str(each["value"]))
    return _cookie(place, float(ends or -1), bool(each.get("secure")), bool(each.get("httpOnly"))) | {
        "sameSite": SAME_SITE.get(same_site, "Lax")
    }


def _cookie(place: tuple[str, str, str, str], expires: float, secure: bool, hidden: bool) -> Cookie:
    domain, path, name, value = place
    return {
        "name": name,
        "value": value,
        "domain": domain,
        "path": path,
        "expires": expires if expires > 0 else -1,
        "httpOnly": hidden,
        "secure": secure,
        "sameSite": "None" if secure else "Lax",
    }


def _is_of(domain: str, host: str) -> bool:
    bare = domain.lower().lstrip(".")
    return host == bare or host.endswith(f".{bare}")


def _lives(cookie: Cookie, now: float) -> bool:
    return cookie["expires"] == -1 or cookie["expires"] > now


def _is_number(text: str) -> bool:
    try:
        return float(text) < 2**53
    except ValueError:
        return False
