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

from . import labels
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
    if labels.texts_of(after) != labels.texts_of(before):
        await store.save_texts(video, labels.texts_of(after))
    if labels.labels_of(after) != labels.labels_of(before):
        await store.save_labels(video, labels.labels_of(after))


def apply_event(subject: labels.VideoSubject, event: Event) -> labels.VideoSubject:
    match event.type:
        case GoalVideoDropped.event_type:
            return labels.without_goal(subject)
        case GoalVideoLabeled.event_type:
            labeled = GoalVideoLabeled.model_validate(event.data)
            shown = labels.GoalShown(
                labeled.title, labeled.fixture_id, labeled.home_team, labeled.away_team, labeled.player
            )
            return labels.with_goal(subject, shown, event.revision)
        case _:
            return labels.with_title(subject, str(event.data["title"]), event.revision)
