/**
 * What events change about a job that is shown, and what can be done with it. Pure.
 * Invariant: a job's highest revision has the say; progress counts only for the attempt that is known, and never goes back.
 */
import type { JobFieldsFragment } from "../api/generated";
import type { Estimate, Job, JobChange, JobFailure, PipelineVideo } from "./model";

export const CANCELLED = "Cancelled";
const PARENT_FAILED = "ParentFailed";
const ENDED = new Set(["done", "failed"]);
const ACTIVE = new Set(["queued", "processing"]);

export function jobOf(read: JobFieldsFragment, now: number): Job {
  const leftMs = read.etaSeconds === null ? null : read.etaSeconds * 1000;
  return { ...read, estimate: leftMs === null ? null : { leftMs, at: now } };
}

/** The same rule as the server's: if it goes on as it did in this attempt. */
export function remainingMs(percent: number | null, elapsedMs: number): number | null {
  if (percent === null || percent <= 0 || elapsedMs <= 0) return null;
  return (elapsedMs * (100 - Math.min(percent, 100))) / percent;
}

export interface Told {
  readonly change: JobChange;
  /** By the server's clock, as a job's own times are. */
  readonly occurredAt: string;
  readonly now: number;
}

/** The same object when nothing changed. */
export function applyChange(job: Job, told: Told): Job {
  const { change } = told;
  if (change.jobId !== job.id) return job;
  if (change.revision === null) return applyProgress(job, told);
  return change.revision > job.revision ? applyState(job, told, change.revision) : job;
}

function applyProgress(job: Job, { change, occurredAt, now }: Told): Job {
  const { progressPercent } = change;
  const isNews =
    job.status === "processing" &&
    change.attempt === job.attempt &&
    progressPercent !== null &&
    progressPercent > (job.progressPercent ?? -1);
  if (!isNews) return job;
  const elapsedMs = job.startedAt === null ? 0 : Date.parse(occurredAt) - Date.parse(job.startedAt);
  return { ...job, progressPercent, estimate: estimateOf(remainingMs(progressPercent, elapsedMs), now) };
}

function applyState(job: Job, { change, occurredAt }: Told, revision: number): Job {
  const hasBegun = change.status === "processing" && (job.status !== "processing" || change.attempt !== job.attempt);
  return {
    ...job,
    status: change.status,
    attempt: change.attempt,
    retryCount: change.retryCount ?? job.retryCount,
    priority: change.priority ?? job.priority,
    progressPercent: change.progressPercent,
    error: errorOf(change) ?? job.error,
    startedAt: hasBegun ? occurredAt : job.startedAt,
    finishedAt: ENDED.has(change.status) ? occurredAt : null,
    estimate: change.status === "processing" && !hasBegun ? job.estimate : null,
    revision,
  };
}

/** A job that runs or is done keeps its last error, though events do not repeat it. */
function errorOf({ errorType, errorMessage }: JobChange): Job["error"] {
  return errorType === null ? null : { type: errorType, message: errorMessage ?? "" };
}

function estimateOf(leftMs: number | null, at: number): Estimate | null {
  return leftMs === null ? null : { leftMs, at };
}

/** What is left of an estimate by now. */
export function leftOf(estimate: Estimate | null, now: number): number | null {
  return estimate === null ? null : Math.max(0, estimate.leftMs - (now - estimate.at));
}

/** One of two readings of a job: an event may be newer than the list that comes after it. */
export function newer(known: Job | undefined, read: Job): Job {
  if (known === undefined || known.revision < read.revision) return read;
  if (known.revision > read.revision) return known;
  return (known.progressPercent ?? -1) > (read.progressPercent ?? -1) ? known : read;
}

export function canCancel({ status }: Pick<Job, "status">): boolean {
  return ACTIVE.has(status);
}

/** What failed because of another job comes back with that one. */
export function canRetry({ status, error }: Pick<Job, "status" | "error">): boolean {
  return status === "failed" && error?.type !== PARENT_FAILED;
}

/** A group of jobs that somebody ended. */
export function isOnPurpose({ errorType }: Pick<JobFailure, "errorType">): boolean {
  return errorType === CANCELLED;
}

/** What somebody ended did not fail, nor did what waited for it: the message of such a job repeats the other's error. */
export function isCancelled(errorType: string | null, message: string | null): boolean {
  return errorType === CANCELLED || (errorType === PARENT_FAILED && (message ?? "").includes(` ${CANCELLED}: `));
}

/** Progress of a stage, at once; everything else is read. */
export function applyStage(video: PipelineVideo, change: JobChange): PipelineVideo {
  if (change.status !== "processing" || change.progressPercent === null) return video;
  const { attempt, jobType, progressPercent, status } = change;
  const stages = video.stages.map((stage) =>
    stage.jobType === jobType && attempt >= stage.attempt ? { ...stage, status, attempt, progressPercent } : stage,
  );
  return { ...video, stages };
}
