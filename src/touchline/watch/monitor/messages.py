"""What MonitorWorkflow and its activities say to each other: ids and outcomes, never the feed's documents."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchline.watch.discovery.messages import TwitterInput
from touchline.watch.outcomes import FixtureOutcome

ACTIVE, COMPLETED = "active", "completed"  # of an outcome: the stage that the match is in now


@dataclass(frozen=True, slots=True)
class MonitorInput:
    chunk: int = 20  # matches that are handled together


@dataclass(frozen=True, slots=True)
class Monitored:
    """What this run is to look at."""

    staging: list[int]  # whose turn it is
    active: list[int]
    attributes: bool = False  # whether the server knows our search attributes


@dataclass(frozen=True, slots=True)
class Look:
    """Some matches, at most twenty, in one monitor run."""

    run_id: str
    fixture_ids: list[int]


@dataclass(frozen=True, slots=True)
class Compared:
    outcomes: list[FixtureOutcome] = field(default_factory=list[FixtureOutcome])
    finished: list[int] = field(default_factory=list[int])  # the feed says they are over


@dataclass(frozen=True, slots=True)
class Search:
    """A goal that is to be searched for."""

    workflow_id: str
    minute: str
    given: TwitterInput


@dataclass(frozen=True, slots=True)
class Processed:
    outcomes: list[FixtureOutcome] = field(default_factory=list[FixtureOutcome])
    searches: list[Search] = field(default_factory=list[Search])


@dataclass(frozen=True, slots=True)
class MonitorResult:
    run_id: str
    staging: int = 0
    activated: int = 0
    active: int = 0
    searches: int = 0
    completed: int = 0
    failures: dict[str, int] = field(default_factory=dict[str, int])  # matches by what went wrong

    def told(self) -> str:
        failures = ", ".join(f"{count} x {code}" for code, count in self.failures.items()) or "none"
        return (
            f"{self.run_id}: {self.staging} staging, {self.active} active, {self.activated} activated, "
            f"{self.searches} searches started, {self.completed} completed; failures: {failures}"
        )
