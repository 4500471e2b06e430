"""The classes of failures in words. One that is newer than this list shows as it is. Pure."""

from __future__ import annotations

import re

SEARCH = "search_unavailable"
WAITS = "waiting_for_validation"
NOTHING_FOUND = "nothing was found"
UNIDENTIFIED = "the scorer was never identified"
LOST = "its search was lost"
LONGEST_DETAIL = 80

REJECTED = {
    "not_football": "not football",
    "filmed_screen": "a phone filming a screen",
    "another_minute": "clock shows another minute",
    "too_short": "too short",
    "too_long": "too long",
    "too_few_pixels": "too small a picture",
    "wrong_shape": "wrong shape",
    "dropped": "was dropped before",
}
DOWNLOADS = {
    "forbidden": "403",
    "blocked": "blocked",
    "gone": "404",
    "busy": "429",
    "no_video": "the post has no video",
    "malformed": "not a video",
    "refused_address": "address refused",
    "too_small": "too small a file",
    "too_large": "too large a file",
    "cut_off": "cut off",
    "no_answer": "no answer",
    "timed_out": "timed out",
    "file_lost": "file lost",
    "incoming_lost": "file lost",
}
OURS = {"validator_unavailable": "validator unavailable", "not_comparable": "could not be compared"}
SEARCHES = {
    "unauthenticated": "login expired",
    "login_expired": "login expired",
    "unavailable": "it does not answer",
    "rate_limited": "too many searches",
    "deadline_exceeded": "it timed out",
    "misconfigured": "it is not set up",
}
_LOGIN = re.compile(r"\b(log(ged)? ?in|sign(ed)? in|sign us in|session)\b", re.IGNORECASE)


def class_words(state: str, code: str | None) -> str:
    """Whoever rejected or failed it: the judge, the download or we ourselves."""
    key = _key(code)
    if state == "rejected" and key in REJECTED:
        return REJECTED[key]
    if key in OURS:
        return OURS[key]
    words = DOWNLOADS.get(key, plain(code))
    if state == "rejected" and key not in DOWNLOADS:
        return words or "rejected"
    return f"download failed: {words}" if words else "download failed"


def search_words(failure: str | None) -> str:
    """`search unavailable: login expired`."""
    code, _, detail = (failure or "").partition(":")
    if _LOGIN.search(detail):
        said = SEARCHES["login_expired"]
    else:
        said = SEARCHES.get(_key(code), detail.strip().partition(". ")[0][:LONGEST_DETAIL] or plain(code))
    return f"search unavailable: {said}" if said else "search unavailable"


def plain(code: str | None) -> str:
    return (code or "").strip().removeprefix("http_").replace("_", " ")


def _key(code: str | None) -> str:
    return (code or "").strip().lower().replace(" ", "_")
