"""How a file is cut into parts, when the parts are whole, and how a download is named. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from urllib.parse import quote

from touchline.kernel.errors import InvalidInput, LimitExceeded

from .model import Part, PartPlan, PartsCheck

MEBIBYTE = 1024**2
PART_BYTES = 20 * MEBIBYTE
MOST_PARTS = 10_000
LARGEST_OBJECT_BYTES = 5 * 1024**4
LARGEST_PAGE = 1000  # S3's limit
LONGEST_DOWNLOAD_NAME = 200
MOST_NAMED_PARTS = 20


class Fault(Enum):
    """In the order of the fields of `PartsCheck`."""

    MISSING = auto()
    WRONG_SIZE = auto()
    WRONG_CHECKSUM = auto()


def part_plan(size_bytes: int) -> PartPlan:
    """Parts of 20 MiB, grown by whole MiB so that 10,000 suffice."""
    if size_bytes < 1:
        raise InvalidInput("an upload needs at least one byte", field="size_bytes")
    if size_bytes > LARGEST_OBJECT_BYTES:
        raise LimitExceeded("the file is too large", why=f"an object has at most {LARGEST_OBJECT_BYTES} bytes")
    needed = -(-size_bytes // (MOST_PARTS * MEBIBYTE)) * MEBIBYTE
    return PartPlan(size_bytes, max(PART_BYTES, needed))


def check_parts(plan: PartPlan, arrived: Iterable[Part], etags: Mapping[int, str] | None = None) -> PartsCheck:
    """What has arrived against the plan and, if the sender says, against the checksums of what it sent."""
    candidates: dict[int, list[Part]] = {}
    for part in arrived:
        candidates.setdefault(part.number, []).append(part)
    chosen: list[Part] = []
    faults: dict[Fault, list[int]] = {fault: [] for fault in Fault}
    for number in range(1, plan.count + 1):
        verdict = _judge(candidates.get(number, []), plan.part_size(number), _declared(number, etags))
        if isinstance(verdict, Fault):
            faults[verdict].append(number)
        else:
            chosen.append(verdict)
    return PartsCheck(tuple(chosen), *(tuple(faults[fault]) for fault in Fault))


def require_whole(check: PartsCheck) -> None:
    """Names the parts, so that the sender can mend the upload."""
    reasons = (("missing", check.missing), ("wrong size", check.wrong_size), ("wrong checksum", check.wrong_checksum))
    why = "; ".join(f"{reason}: {_numbers(parts)}" for reason, parts in reasons if parts)
    if why:
        raise InvalidInput("the upload is not whole", field="parts", why=why, hint="Send these parts again.")


def page_size(limit: int) -> int:
    if limit < 1:
        raise InvalidInput("a page has at least one entry", field="limit")
    return min(limit, LARGEST_PAGE)


def attachment(download_name: str) -> str:
    """A Content-Disposition for a name that a stranger chose (RFC 6266): no quoting to break out of."""
    shown = "".join(letter if letter.isprintable() and letter not in '/\\"' else "_" for letter in download_name)
    shown = shown.strip(". ")[:LONGEST_DOWNLOAD_NAME] or "download"
    plain = shown.encode("ascii", "replace").decode().translate(str.maketrans("?%;", "___"))
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(shown, safe='')}"


def _declared(number: int, etags: Mapping[int, str] | None) -> str | None:
    return None if etags is None else etags.get(number, "").strip('"')


def _judge(candidates: list[Part], size_bytes: int, etag: str | None) -> Part | Fault:
    """The sender's word decides which one counts, else the newest; two newest that differ are no answer."""
    if not candidates:
        return Fault.MISSING
    newest = max(part.modified_at for part in candidates)
    wanted = [part for part in candidates if (part.modified_at == newest if etag is None else part.etag == etag)]
    fitting = {part.etag: part for part in wanted if part.size_bytes == size_bytes}
    if wanted and not fitting:
        return Fault.WRONG_SIZE
    return fitting.popitem()[1] if len(fitting) == 1 else Fault.WRONG_CHECKSUM


def _numbers(parts: tuple[int, ...]) -> str:
    named = ", ".join(str(number) for number in parts[:MOST_NAMED_PARTS])
    return named if len(parts) <= MOST_NAMED_PARTS else f"{named} and {len(parts) - MOST_NAMED_PARTS} more"
