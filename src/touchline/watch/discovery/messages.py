"""What TwitterWorkflow is told, what it tells its activities, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchline.watch.model import FoundRef, GoalRef

from .model import FoundVideo


@dataclass(frozen=True, slots=True)
class TwitterInput:
    goal: GoalRef
    label: str  # {Team}-{LastName}
    player_name: str
    team_id: int
    team_name: str
    other_team_id: int
    other_team_name: str
    own_goal: bool
    attempts: int = 10
    interval_s: float = 60.0  # from the start of an attempt to the start of the next
    rest_s: float = 10.0  # at least between two attempts
    downloads_at_once: int = 2


@dataclass(frozen=True, slots=True)
class TwitterResult:
    attempts: int
    found: int  # videos, as often as a search told them
    selected: int
    failed_searches: int  # attempts in which no query worked
    over: bool = False  # the goal was taken away, or another run has it now


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether there is still something to search for."""

    lives: bool
    goal: GoalRef


@dataclass(frozen=True, slots=True)
class TeamWords:
    goal: GoalRef
    words: list[str]


@dataclass(frozen=True, slots=True)
class Attempt:
    goal: GoalRef
    number: int


@dataclass(frozen=True, slots=True)
class SearchNeed:
    goal: GoalRef
    number: int
    player_name: str
    words: list[str]


@dataclass(frozen=True, slots=True)
class SearchData:
    queries: list[str]
    exclude_urls: list[str]
    max_age_minutes: int


@dataclass(frozen=True, slots=True)
class SearchOrder:
    query: str
    exclude_urls: list[str]
    max_age_minutes: int


@dataclass(frozen=True, slots=True)
class Discovered:
    goal: GoalRef
    number: int
    label: str
    player_name: str
    words: list[str]
    began_at: str  # of the attempt, in ISO form
    videos: list[FoundVideo]
    failure: str | None  # of the last query that failed
    answered: int  # queries that worked


@dataclass(frozen=True, slots=True)
class Selection:
    """What the attempt's download run is to fetch; nothing is an answer, too."""

    videos: list[FoundRef] = field(default_factory=list[FoundRef])
