"""The scanner: what lies under `videos/original/` against the artifacts, one bounded pass after the other.

Invariant: one page in memory. A known object is never taken in again; one that cannot be is reported, left alone, and
does not hold up the others. Any number of scanners may run at once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import timedelta

from touchline.contracts.tenants import Owners
from touchline.kernel import Clock
from touchline.kernel.errors import Conflict, NotFound
from touchline.platform.objects.rules import ObjectPage
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.serve.settings import ServeSettings

from . import metrics, rules
from .absence import Absence, sample
from .model import MOST_NAMED, Candidate, Known, Place, Refusal, Refused, Report
from .rules import FIRST_HASH, LAST_HASH, Skipped
from .store import ScannerStore
from .taking import OwnerUnknown, Taking

LONGEST = timedelta(minutes=5)  # of one pass: half of what a periodic task may take
SHOWN = 5  # keys in a line of the log

logger = logging.getLogger(__name__)


class Scanner:
    def __init__(
        self, database: Database, objects: ObjectStore, owners: Owners, settings: ServeSettings, clock: Clock
    ) -> None:
        self._database = database
        self._objects = objects
        self._settings = settings
        self._clock = clock
        self._taking = Taking(database, objects, owners, settings.bucket_owner, clock)
        self._absence = Absence(database, objects, clock, settings.scan_most)
        self._place = Place()

    async def run_pass(self) -> bool:
        """True when the pass stopped at a limit."""
        report = await self.scan()
        _log(report)
        return report.more

    async def scan(self) -> Report:
        report, until = Report(), time.monotonic() + LONGEST.total_seconds()
        while True:
            page = await self._objects.list(rules.ORIGINALS, after=self._place.key)
            self._place = await self._look_at(page, report, until)
            if report.more or page.next_after is None:
                break
        await self._count(report)
        return report

    async def _look_at(self, page: ObjectPage, report: Report, until: float) -> Place:
        now, settle = self._clock.now(), self._settings.scan_settle
        verdicts = [rules.judge(listed, now, settle) for listed in page.objects]
        candidates = [verdict for verdict in verdicts if isinstance(verdict, Candidate)]
        report.listed += len(verdicts)
        report.fresh += verdicts.count(Skipped.FRESH)
        for verdict in verdicts:
            if isinstance(verdict, Refused):
                report.refuse(verdict)
        known = await self._known([each.artifact_hash for each in candidates])
        for candidate in candidates:
            await self._settle(candidate, known.get(candidate.artifact_hash), report)
            if report.taken_count >= self._settings.scan_most or time.monotonic() > until:
                report.more = True
                return self._place  # the page is looked at again, and by then this part of it is known
        return await self._compare(page, candidates, report)

    async def _known(self, hashes: Sequence[str]) -> dict[str, Known]:
        async with self._database.system("find artifacts of objects") as transaction:
            return await ScannerStore(transaction.connection).known(hashes)

    async def _settle(self, candidate: Candidate, known: Known | None, report: Report) -> None:
        key = candidate.listed.key
        try:
            if known is None:
                await self._take_in(candidate, report)
            elif known.original_key == key:
                report.known += 1
                report.returned += known.original_missing_since is not None and await self._absence.returned(known)
            elif known.original_key == candidate.home and not candidate.is_home:
                await self._taking.finish(candidate)
                report.tidied += 1
            else:
                report.refuse(Refused(key, Refusal.OTHER_ORIGINAL, f"the original is {known.original_key}"))
        except OwnerUnknown as error:
            report.refuse(Refused(key, Refusal.UNKNOWN_OWNER, str(error)))
        except (Conflict, NotFound) as error:
            report.refuse(Refused(key, Refusal.CHANGED, str(error)))

    async def _take_in(self, candidate: Candidate, report: Report) -> None:
        if await self._taking.take_in(candidate):
            report.take(candidate)
        else:
            report.known += 1

    async def _compare(self, page: ObjectPage, candidates: Sequence[Candidate], report: Report) -> Place:
        """What should have been on this page, and was not."""
        present = {each.artifact_hash for each in candidates if each.is_home}
        after = self._place.artifact_hash
        until = max([after, *present]) if page.next_after else LAST_HASH
        await self._absence.look(present, after, until, report)
        return Place(page.next_after, until) if page.next_after else Place("", FIRST_HASH)

    async def _count(self, report: Report) -> None:
        """What is gone is said every time, and not only when it was noticed."""
        async with self._database.system("count missing originals") as transaction:
            report.missing, report.missing_count = await ScannerStore(transaction.connection).missing(MOST_NAMED)
        metrics.MISSING.set(report.missing_count)
        tried = await sample(self._database, self._objects)
        report.unreadable = [*tried.gone, *tried.unreadable]
        for outcome, count in _counts(report).items():
            metrics.OBJECTS.labels(outcome).inc(count)


def _counts(report: Report) -> dict[str, int]:
    counts = {"known": report.known, "fresh": report.fresh, "taken": report.taken_count, "tidied": report.tidied}
    return {**counts, "vanished": report.vanished_count, "returned": report.returned, **report.refused}


def _log(report: Report) -> None:
    counts = _counts(report)
    if report.refused or report.missing_count or report.unreadable:
        shown = {"refused": [repr(each.key)[:200] for each in report.refusals[:SHOWN]]}
        gone = {"missing": report.missing_count, "missing_first": report.missing[:SHOWN]}
        extra = {**counts, **shown, **gone, "unreadable": report.unreadable[:SHOWN]}
        logger.warning("the bucket differs", extra=extra)
    else:
        logger.info("the bucket was scanned", extra=counts)
