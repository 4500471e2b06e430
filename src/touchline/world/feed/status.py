"""The statuses of a match, as API-Football names them."""

from __future__ import annotations

LONG = {
    "TBD": "Time To Be Defined",
    "NS": "Not Started",
    "1H": "First Half",
    "HT": "Halftime",
    "2H": "Second Half",
    "ET": "Extra Time",
    "BT": "Break Time",
    "P": "Penalty In Progress",
    "SUSP": "Match Suspended",
    "INT": "Match Interrupted",
    "LIVE": "In Progress",
    "FT": "Match Finished",
    "AET": "Match Finished",
    "PEN": "Match Finished",
    "PST": "Match Postponed",
    "CANC": "Match Cancelled",
    "ABD": "Match Abandoned",
    "AWD": "Technical Loss",
    "WO": "WalkOver",
}
IN_PLAY = frozenset({"1H", "HT", "2H", "ET", "BT", "P", "SUSP", "INT", "LIVE"})
FINISHED = frozenset({"FT", "AET", "PEN"})
