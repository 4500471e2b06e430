"""Consumes titles and goals of videos and stores the texts and labels that search finds the videos by.

Invariant: once for each revision, however often and in whatever order the events come, and whether or not the
video itself is known already.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import ArtifactRegistered, ArtifactRenamed, ArtifactType
from touchline.contracts.events.watch import GoalVideoDropped, GoalVideoLabeled
from touchline.kernel import parse_artifact_hash, tracing, video_id
from touchline.platform.postgres.database import Transaction

from . import model
from .store import VideoSubjectStore

CONSUMED = (ArtifactRegistered, ArtifactRenamed, GoalVideoLabeled, GoalVideoDropped)


class VideoLabelConsumer:
    name = "process-labels"
    types = frozenset(payload.event_type for payload in CONSUMED)

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        for event in events:
            if is_of_a_video(event):
                with tracing(event.trace):
                    await store_labels(transaction, event)


def is_of_a_video(event: Event) -> bool:
    """Clips are found through the video that they were cut from."""
    return event.type != ArtifactRegistered.event_type or event.data.get("artifact_type") == ArtifactType.UPLOAD


async def store_labels(transaction: Transaction, event: Event) -> None:
    store, video = VideoSubjectStore(transaction.connection), video_id(parse_artifact_hash(event.data["artifact_hash"]))
    before = await store.lock(video)
    after = apply_event(before, event)
    if after == before:
        return
    await store.save(video, after)
    if model.texts_of(after) != model.texts_of(before):
        await store.save_texts(video, model.texts_of(after))
    if model.labels_of(after) != model.labels_of(before):
        await store.save_labels(video, model.labels_of(after))


def apply_event(subject: model.VideoSubject, event: Event) -> model.VideoSubject:
    match event.type:
        case GoalVideoDropped.event_type:
            return model.without_goal(subject)
        case GoalVideoLabeled.event_type:
            labeled = GoalVideoLabeled.model_validate(event.data)
            shown = model.GoalShown(
                labeled.title, labeled.fixture_id, labeled.home_team, labeled.away_team, labeled.player
            )
            return model.with_goal(subject, shown, event.revision)
        case _:
            return model.with_title(subject, str(event.data["title"]), event.revision)
