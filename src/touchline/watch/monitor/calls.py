"""How MonitorWorkflow calls its activities."""

from __future__ import annotations

from datetime import timedelta

from touchline.watch.calls import Call
from touchline.watch.outcomes import FixtureOutcome

from .messages import Compared, Monitored, Processed

SHORT, MIDDLE, LONG = timedelta(seconds=10), timedelta(seconds=30), timedelta(seconds=60)

LIST_MONITORED_FIXTURES = Call("list_monitored_fixtures", Monitored, SHORT, attempts=3)
FETCH_STAGING_FIXTURES = Call("fetch_staging_fixtures", list[FixtureOutcome], LONG, attempts=3)
PROCESS_STAGING_FIXTURES = Call("process_staging_fixtures", list[FixtureOutcome], MIDDLE, attempts=3)
ACTIVATE_PENDING_FIXTURES = Call("activate_pending_fixtures", list[int], MIDDLE, attempts=2)
FETCH_ACTIVE_FIXTURES = Call("fetch_active_fixtures", list[FixtureOutcome], LONG, attempts=3)
STORE_AND_COMPARE = Call("store_and_compare", Compared, SHORT, attempts=3)
PROCESS_FIXTURE_EVENTS = Call("process_fixture_events", Processed, LONG, attempts=3)
COMPLETE_FIXTURE_IF_READY = Call("complete_fixture_if_ready", list[FixtureOutcome], SHORT, attempts=3)
