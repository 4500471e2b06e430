"""How IngestWorkflow calls its activities."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from touchline.watch.calls import UNLIMITED, Call

from .messages import Fetched, Stored

HALF_A_MINUTE = timedelta(seconds=30)

FETCH_TODAYS_FIXTURES = Call("fetch_todays_fixtures", Fetched, HALF_A_MINUTE, attempts=3)
CATEGORIZE_AND_STORE_FIXTURES = Call("categorize_and_store_fixtures", Stored, HALF_A_MINUTE, attempts=3)
# For runs that nobody waits for: after each failure the activity says itself when it is to be called again.
FETCH_UNTIL_ANSWERED = replace(FETCH_TODAYS_FIXTURES, attempts=UNLIMITED)
REMOVE_OLD_FIXTURES = Call("remove_old_fixtures", int, HALF_A_MINUTE, attempts=3)
