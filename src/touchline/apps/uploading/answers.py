"""What an answer of the gateway means, and what it means when somebody else answers in its place.

Invariant: data with an error beside it is an error: null is then unknown, not nothing.
"""

from __future__ import annotations

from typing import Any

import httpx

from touchline.kernel.errors import Defect, InvalidInput, TouchlineError, Unavailable, error_classes

NOT_OURS = "Try again; if it stays so, check the address, and what stands between here and the gateway."


def data_of(response: httpx.Response) -> dict[str, Any]:
    document = _document(response)
    match document:
        case {"errors": [{"message": str(what), "extensions": {"code": str(code), **more}}, *_]}:
            raise error_of(code, what, hint=more.get("hint"), field=more.get("field"))
        case {"data": dict(), **more} if response.is_success and not more.get("errors"):
            return document["data"]
        case {"code": str(code), "title": str(what), **more}:
            raise error_of(code, what, why=more.get("detail"), hint=more.get("next"), field=more.get("field"))
        case _:
            why = f"{response.url.copy_with(raw_path=b'/')} answers {response.status_code} with {_kind(response)}"
            raise Unavailable("this is not a gateway's answer", why=why, hint=NOT_OURS)


def error_of(code: str, what: str, why: Any = None, hint: Any = None, field: Any = None) -> TouchlineError:
    """The same error as there."""
    kind = next((kind for kind in error_classes() if kind.code == code), Defect)
    more = {"field": str(field or "")} if issubclass(kind, InvalidInput) else {}
    return kind(what, why=str(why or ""), hint=str(hint or ""), **more)


def _document(response: httpx.Response) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def _kind(response: httpx.Response) -> str:
    return response.headers.get("Content-Type", "").partition(";")[0] or "nothing"
