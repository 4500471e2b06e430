"""What a search found, and what is known of it since."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from touchline.watch.model import FoundRef, GoalRef


@dataclass(frozen=True, slots=True)
class FoundVideo:
    """One video of one post, as a search tells it."""

    url: str
    post_id: str
    video_index: int
    author: str = ""
    text: str = ""
    posted_at: str | None = None  # in ISO form, UTC
    duration_s: float | None = None
    query: str = ""  # by which it was found

    @property
    def ref(self) -> FoundRef:
        return FoundRef(self.post_id, self.video_index)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A found video that may be tried."""

    post_id: str
    video_index: int
    state: str  # seen, selected or failed
    tries: int
    last_try: str | None
    retry_at: datetime | None
    found_at: datetime
    posted_at: datetime | None
    duration_s: float | None
    post_text: str

    @property
    def ref(self) -> FoundRef:
        return FoundRef(self.post_id, self.video_index)


@dataclass(frozen=True, slots=True)
class SearchedGoal:
    """Of the goal's row, what a search needs."""

    event_id: str
    generation: int
    fixture_id: int
    player_name: str | None
    first_seen: datetime
    workflow_id: str | None
    search_started_at: datetime | None
    searched_at: datetime | None
    download_workflows: list[str]
    revision: int

    @property
    def ref(self) -> GoalRef:
        return GoalRef(self.fixture_id, self.event_id, self.generation)
