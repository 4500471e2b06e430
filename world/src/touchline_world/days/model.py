"""A day of the world, all of it known in advance: what is played, what the feed says of it when, what people post.

Times are milliseconds of the day, from its beginning; a clock lays them on the wall, at any speed. Invariant: nothing
here depends on the moment at which somebody asks, so that one seed gives one day, byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from touchline_world.videos.model import Colour, Recipe


@dataclass(frozen=True, slots=True)
class League:
    id: int
    name: str
    country: str
    season: int


@dataclass(frozen=True, slots=True)
class Team:
    id: int
    name: str
    code: str
    country: str
    city: str
    venue: str
    founded: int
    is_national: bool
    words: tuple[str, ...]  # what people call it; Wikidata knows them
    item: str  # of Wikidata, such as Q8650001
    shirt: Colour
    shorts: Colour


@dataclass(frozen=True, slots=True)
class Player:
    id: int
    name: str  # as the feed writes it: "M. Sørensen"
    full_name: str


@dataclass(frozen=True, slots=True)
class Phase:
    """From `from_ms` on the feed shows this status; the match clock runs from `minute` if it runs at all."""

    from_ms: int
    status: str  # NS, 1H, HT, 2H, ET, BT, P, FT, AET, PEN, PST, SUSP, INT, CANC, ABD, ...
    minute: int | None
    runs: bool
    ends_minute: int | None = None  # 45 or 90: what comes after is `extra`
    minute_ms: int = 60_000  # how much of the day a minute of the match takes


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the feed's events, while it is shown. One goal may have several, one after the other or at once."""

    from_ms: int
    until_ms: int | None  # None: it stays
    place: int  # in the list
    elapsed: int
    extra: int | None
    team_id: int
    player: Player | None  # None: not known yet
    assist: Player | None
    type: str  # Goal, Card, subst, Var
    detail: str  # Normal Goal, Own Goal, Penalty, Missed Penalty, ...
    comments: str | None
    goal: str | None  # the key of the goal in the truth


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """From `from_ms` on the feed shows this score; it may lag behind its events."""

    from_ms: int
    home: int
    away: int


@dataclass(frozen=True, slots=True)
class Shuffle:
    """For a while the feed's events come in another order."""

    from_ms: int
    until_ms: int
    seed: int


@dataclass(frozen=True, slots=True)
class StatusOverride:
    """For a while, or for good, the feed shows a status of its own."""

    from_ms: int
    until_ms: int | None
    status: str


@dataclass(frozen=True, slots=True)
class Fixture:
    id: int
    league: League
    round: str
    home: Team
    away: Team
    squads: tuple[tuple[Player, ...], tuple[Player, ...]]
    kick_off_ms: int
    phases: tuple[Phase, ...]
    entries: tuple[Entry, ...]
    scores: tuple[ScoreChange, ...]
    shoot_out: tuple[ScoreChange, ...] = ()
    shuffles: tuple[Shuffle, ...] = ()
    statuses: tuple[StatusOverride, ...] = ()


class Delivery(StrEnum):
    """What happens to somebody who fetches a video."""

    WHOLE = "whole"
    SLOW = "slow"
    CUT_OFF = "cut_off"  # the connection ends before the body does
    BROKEN = "broken"  # bytes that are no video
    EMPTY = "empty"
    GONE = "gone"  # 404
    FORBIDDEN = "forbidden"  # 403 of a signed link that ran out
    BLOCKED = "blocked"  # by country
    BUSY = "busy"  # 429 the first times


class Relation(StrEnum):
    """What a video has to do with the goal that its words speak of."""

    COPY = "copy"
    OTHER_GOAL = "other_goal"  # of the same match
    LOOK_ALIKE = "look_alike"  # same words, another match or another minute
    UNRELATED = "unrelated"


@dataclass(frozen=True, slots=True)
class Clip:
    """A video of a post, and what is true of it."""

    recipe: Recipe
    relation: Relation
    goal: str | None  # what is truly to be seen
    delivery: Delivery = Delivery.WHOLE


@dataclass(frozen=True, slots=True)
class Author:
    id: str
    name: str
    handle: str
    is_verified: bool


@dataclass(frozen=True, slots=True)
class Post:
    id: str  # digits, at least 18
    at_ms: int
    author: Author
    text: str
    clips: tuple[Clip, ...]
    about: str | None  # the goal that its words speak of
    is_promoted: bool = False
    quoted: Post | None = None
    removed_ms: int | None = None
    likes: int = 0
    reposts: int = 0
    language: str = "en"


class Service(StrEnum):
    FEED = "feed"
    SEARCH = "search"
    SYNDICATION = "syndication"
    MEDIA = "media"
    WIKIDATA = "wikidata"
    MODEL = "model"


class Trouble(StrEnum):
    OUTAGE = "outage"  # 503
    HANGS = "hangs"  # no answer before the other side gives up
    RESETS = "resets"  # the connection breaks
    LIMITED = "limited"  # 429
    ERRORS = "errors"  # the service's own error document, of the feed with HTTP 200
    EMPTY = "empty"  # an answer without content, and no error
    LOGIN = "login"  # of the search: the session has expired
    ODD = "odd"  # of the model: prose, fences, wrong types
    BAD = "bad"  # of the model: a wrong answer in the right form


@dataclass(frozen=True, slots=True)
class Fault:
    service: Service
    trouble: Trouble
    from_ms: int
    until_ms: int


class Outcome(StrEnum):
    STANDS = "stands"
    ANNULLED = "annulled"


@dataclass(frozen=True, slots=True)
class Goal:
    """What truly happened, as the feed has it in the end."""

    key: str  # fixture, as it is in the first playing, and number: "9000001/2"
    fixture_id: int
    team_id: int  # whose score it counts for
    player: Player
    detail: str
    elapsed: int
    extra: int | None
    at_ms: int
    score: tuple[int, int]  # after it
    outcome: Outcome
    annulled_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Day:
    name: str
    seed: int
    date: date
    length_ms: int
    leagues: tuple[League, ...]
    teams: tuple[tuple[int, Team], ...]  # with the league each plays in; more than those of today's matches
    fixtures: tuple[Fixture, ...]
    goals: tuple[Goal, ...]
    posts: tuple[Post, ...]  # by time
    faults: tuple[Fault, ...]
