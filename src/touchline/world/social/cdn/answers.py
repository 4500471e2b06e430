"""What the CDN answers when a video does not come as it should."""

from __future__ import annotations

from starlette.responses import PlainTextResponse, Response

from touchline.world.days.model import Delivery

BUSY_TIMES = 2
RETRY_AFTER_S = 2

_PAGE = (
    '<?xml version="1.0" encoding="iso-8859-1"?>\n<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en">\n'
    "<head><title>{status} - {title}</title></head>\n<body><h1>{status} - {title}</h1></body>\n</html>\n"
)


class Visits:
    """How often each video was asked for: the only thing that the world remembers."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def count(self, key: str) -> int:
        """With this one."""
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key]


def refusal(delivery: Delivery, key: str, visits: Visits) -> Response | None:
    match delivery:
        case Delivery.GONE:
            return page(404, "Not Found")
        case Delivery.FORBIDDEN:
            return page(403, "Forbidden")
        case Delivery.BLOCKED:
            return page(451, "Unavailable For Legal Reasons")
        case Delivery.BUSY if visits.count(key) <= BUSY_TIMES:
            return PlainTextResponse("Too Many Requests", 429, {"Retry-After": str(RETRY_AFTER_S)})
        case Delivery.EMPTY:
            return Response(b"", media_type="video/mp4", headers={"Accept-Ranges": "bytes"})
        case _:
            return None


def page(status: int, title: str) -> Response:
    return Response(_PAGE.format(status=status, title=title), status, media_type="text/html")
