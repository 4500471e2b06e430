/** Jobs and their changes as the API sends them, with only what a test is about spelled out. */
import type { Job, JobChange, JobDepth } from "../../src/jobs/model";
import type { JobEvent } from "../../src/live/socket";

export function job(given: Partial<Job> = {}): Job {
  return {
    id: "j",
    jobType: "transcode",
    status: "processing",
    artifactHash: "a",
    priority: 0,
    progressPercent: null,
    etaSeconds: null,
    attempt: 1,
    retryCount: 0,
    maxRetries: 3,
    createdAt: "2026-05-01T12:00:00Z",
    runAt: "2026-05-01T12:00:00Z",
    startedAt: "2026-05-01T12:00:00Z",
    finishedAt: null,
    error: null,
    revision: 2,
    vod: { title: "A match", playbackId: "playbackplayback" },
    clip: null,
    estimate: null,
    ...given,
  };
}

export function change(given: Partial<JobChange> = {}): JobChange {
  return {
    jobId: "j",
    jobType: "transcode",
    artifactHash: "a",
    status: "processing",
    attempt: 1,
    progressPercent: null,
    retryCount: 0,
    priority: 0,
    errorType: null,
    errorMessage: null,
    revision: 3,
    ...given,
  };
}

export function progress(percent: number, given: Partial<JobChange> = {}): JobChange {
  return change({ progressPercent: percent, revision: null, retryCount: null, priority: null, ...given });
}

export function happened(told: JobChange, occurredAt = "2026-05-01T12:00:10Z"): JobEvent {
  return { cursor: "1", occurredAt, job: told, alert: null };
}

/** Five steps of a minute, and now. */
export function depth(samples: JobDepth["types"][number]["samples"]): JobDepth {
  return {
    since: "2026-05-01T12:00:30Z",
    until: "2026-05-01T12:06:30Z",
    stepSeconds: 60,
    types: [{ jobType: "ocr", samples }],
  };
}
