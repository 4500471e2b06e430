"""The activities of DownloadWorkflow: thin, so that what they do can be tried without a workflow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from temporalio import activity
from temporalio.client import Client

from touchline.kernel import Unavailable
from touchline.media.sandbox import Sandbox
from touchline.platform.files import Scratch
from touchline.watch.context import WatchContext
from touchline.watch.model import GoalRef
from touchline.watch.settings import DownloadSettings, WatchSettings
from touchline.watch.temporal import as_temporal_errors

from . import workflow
from .analysis import Validation, VideoAnalysis
from .service import Downloads, Handover
from .sources import Sources


@dataclass(frozen=True, slots=True)
class DownloadTools:
    """What downloads need besides the context."""

    sandbox: Sandbox
    scratch: Scratch
    sources: Sources
    validation: Validation
    temporal: Client


@dataclass(frozen=True, slots=True)
class DownloadActivities:
    context: WatchContext
    means: DownloadTools
    settings: DownloadSettings
    watch: WatchSettings

    @activity.defn(name="download_single_video")
    async def download_single_video(self, wanted: workflow.WantedVideo) -> workflow.Arrived:
        means, is_last = self.means, activity.info().attempt >= workflow.DOWNLOAD_SINGLE_VIDEO.attempts
        downloads = Downloads(self.context, means.sandbox, means.scratch, means.sources, self.settings)
        with as_temporal_errors():
            return await downloads.download(wanted, is_last_try=is_last)

    @activity.defn(name="validate_video_is_soccer")
    async def validate_video_is_soccer(self, same: workflow.SameFile) -> workflow.Judged:
        with as_temporal_errors():
            try:
                return await self._analysis().judge(same, partial(activity.heartbeat))
            except Unavailable:  # its time-out may be hours away: the workflow waits, not this worker
                return self._analysis().waiting()

    @activity.defn(name="generate_video_hash")
    async def generate_video_hash(self, same: workflow.SameFile) -> workflow.Hashed:
        with as_temporal_errors():
            return await self._analysis().fingerprint(same, partial(activity.heartbeat))

    @activity.defn(name="queue_videos_for_upload")
    async def queue_videos_for_upload(self, batch: workflow.QueuedBatch) -> bool:
        with as_temporal_errors():
            return await self._handing().queue(batch)

    @activity.defn(name="cleanup_download_temp")
    async def cleanup_download_temp(self, order: workflow.CleanUp) -> int:
        with as_temporal_errors():
            return await self._handing().clean_up(order)

    @activity.defn(name="register_download")
    async def register_download(self, goal: GoalRef, workflow_id: str) -> workflow.Registered:
        with as_temporal_errors():
            return await self._handing().register(goal, workflow_id, self.watch.search_attempts)

    def _analysis(self) -> VideoAnalysis:
        means = self.means
        return VideoAnalysis(self.context, means.sandbox, means.scratch, means.validation, self.settings)

    def _handing(self) -> Handover:
        return Handover(self.context, self.means.temporal)
