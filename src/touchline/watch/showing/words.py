"""The classes of failures in words. One that is newer than this list shows as it is. Pure."""

from __future__ import annotations

SEARCH = "search_unavailable"
WAITS = "waiting_for_validation"
NOTHING_FOUND = "nothing was found"
UNIDENTIFIED = "the scorer was never identified"
LOST = "its search was lost"

REJECTED = {
    "not_football": "not football",
    "screen": "a phone filming a screen",
    "filmed_screen": "a phone filming a screen",
    "another_minute": "another minute",
    "wrong_minute": "another minute",
    "too_short": "too short",
    "too_long": "too long",
    "shape": "wrong shape",
    "too_small": "picture too small",
    "duplicate": "the same video again",
}
FAILED = {
    "forbidden": "403",
    "not_found": "404",
    "rate_limited": "429",
    "malformed": "not a video",
    "too_small": "too small a file",
    "too_large": "too large a file",
    "timeout": "timed out",
    "deadline_exceeded": "timed out",
    "validator_unavailable": "validator unavailable",
}
SEARCHES = {
    "login_expired": "login expired",
    "unauthenticated": "login expired",
    "unavailable": "it does not answer",
    "rate_limited": "too many searches",
    "deadline_exceeded": "it timed out",
}
_WHOLE = frozenset({"validator_unavailable"})  # says by itself what failed


def class_words(state: str, code: str | None) -> str:
    if state == "rejected":
        return REJECTED.get(code or "", plain(code) or "rejected")
    words = FAILED.get(code or "", plain(code))
    if not words:
        return "download failed"
    return words if code in _WHOLE else f"download failed: {words}"


def search_words(failure: str | None) -> str:
    """`search unavailable: login expired`."""
    code, _, detail = (failure or "").partition(":")
    said = SEARCHES.get(code.strip(), detail.strip() or plain(code))
    return f"search unavailable: {said}" if said else "search unavailable"


def plain(code: str | None) -> str:
    return (code or "").strip().removeprefix("http_").replace("_", " ")
