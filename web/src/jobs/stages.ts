/** How far one video is in the pipeline: read, and kept current by what happens to its jobs. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { VideoStagesDocument } from "../api/generated";
import { createRefresh } from "../kernel/refresh";
import { wait } from "../kernel/waiting";
import type { JobListener } from "../live/feed";
import type { PipelineVideo } from "./model";
import { applyStage } from "./rules";

export interface Stages extends JobListener {
  readonly video: ReadonlySignal<PipelineVideo | null>;
  readonly load: () => Promise<void>;
  readonly refresh: () => void;
}

export function createStages(request: Request, artifactHash: string, ends: AbortSignal): Stages {
  const video = signal<PipelineVideo | null>(null);

  async function read(): Promise<void> {
    video.value = (await request(VideoStagesDocument, { artifactHash })).video;
  }

  const refresh = createRefresh({ read, wait, ends });

  return {
    video,
    refresh,
    load: () => read().catch(() => undefined), // beside the player it is not worth a complaint
    onEvent({ job: change }) {
      if (change?.artifactHash !== artifactHash) return;
      const known = video.peek();
      if (known !== null) video.value = applyStage(known, change);
      if (change.revision !== null) refresh();
    },
    onGap: refresh,
  };
}
