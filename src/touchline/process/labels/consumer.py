"""Titles and goals that events tell of become texts and labels that search finds videos by.

Invariant: once for each revision, however often and in whatever order the events come, and whether or not the video
itself is known already.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import ArtifactRegistered, ArtifactRenamed, ArtifactType
from touchline.contracts.events.watch import GoalVideoDropped, GoalVideoLabeled
from touchline.kernel.ids import parse_artifact_hash, video_id
from touchline.kernel.trace import tracing
from touchline.platform.postgres.database import Transaction

from . import rules
from .rules import GoalShown, Subject
from .store import SubjectStore

TAKEN = (ArtifactRegistered, ArtifactRenamed, GoalVideoLabeled, GoalVideoDropped)


class VideoLabels:
    name = "process-labels"
    types = frozenset(payload.event_type for payload in TAKEN)

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        for event in events:
            if is_of_a_video(event):
                with tracing(event.trace):
                    await take(transaction, event)


def is_of_a_video(event: Event) -> bool:
    """Clips are found by the video that they were cut from."""
    return event.type != ArtifactRegistered.event_type or event.data.get("artifact_type") == ArtifactType.UPLOAD


async def take(transaction: Transaction, event: Event) -> None:
    store, video = SubjectStore(transaction.connection), video_id(parse_artifact_hash(event.data["artifact_hash"]))
    before = await store.lock(video)
    after = folded(before, event)
    if after == before:
        return
    await store.save(video, after)
    if rules.texts(after) != rules.texts(before):
        await store.save_texts(video, rules.texts(after))
    if rules.labels(after) != rules.labels(before):
        await store.save_labels(video, rules.labels(after))


def folded(subject: Subject, event: Event) -> Subject:
    match event.type:
        case GoalVideoDropped.event_type:
            return rules.dropped(subject)
        case GoalVideoLabeled.event_type:
            told = GoalVideoLabeled.model_validate(event.data)
            shown = GoalShown(told.title, told.fixture_id, told.home_team, told.away_team, told.player)
            return rules.labeled(subject, shown, event.revision)
        case _:
            return rules.titled(subject, str(event.data["title"]), event.revision)
