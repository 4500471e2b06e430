/** Types, states and alerts in words. What is newer than this page shows as it is. Pure. */
import { formatSpan, formatTimeLeft, plural } from "../kernel/format";
import type { StateView, Tone } from "../library/states";
import type { Job, JobAlert, Stage } from "./model";
import { CANCELLED, isCancelled, leftOf } from "./rules";

export const JOB_TYPES = ["transcode", "sample", "ocr", "segment_index", "clip_generate"] as const;

const TYPES = new Map<string, string>([
  ["transcode", "Convert"],
  ["sample", "Sample pictures"],
  ["ocr", "Read text"],
  ["segment_index", "Index text"],
  ["clip_generate", "Cut clip"],
]);

const STATES = new Map<string, { readonly label: string; readonly tone: Tone }>([
  ["queued", { label: "Waiting", tone: "quiet" }],
  ["processing", { label: "Running", tone: "busy" }],
  ["done", { label: "Done", tone: "good" }],
  ["failed", { label: "Failed", tone: "bad" }],
]);

export function typeWords(jobType: string): string {
  return TYPES.get(jobType) ?? jobType;
}

export function statusWords(status: string): string {
  return STATES.get(status)?.label ?? status;
}

type Counts = Record<"processing" | "queued" | "failed" | "cancelled", { readonly totalCount: number }>;

/** Cancelled jobs are stored as failed ones. */
export function failedCount({ failed, cancelled }: Pick<Counts, "failed" | "cancelled">): number {
  return Math.max(0, failed.totalCount - cancelled.totalCount);
}

/** `2 running · 5 waiting · 1 failed · 3 cancelled`. */
export function summaryWords(counts: Counts): string {
  const words = [
    `${count(counts.processing.totalCount)} running`,
    `${count(counts.queued.totalCount)} waiting`,
    `${count(failedCount(counts))} failed`,
  ];
  if (counts.cancelled.totalCount > 0) words.push(`${count(counts.cancelled.totalCount)} cancelled`);
  return words.join(" · ");
}

/** Counting ends there. */
function count(total: number): string {
  return total >= 10_000 ? "10,000 or more" : total.toLocaleString("en");
}

export function listTitle(status: string, cause: string | null): string {
  if (status !== "failed") return `${statusWords(status)} jobs`;
  if (cause === null) return "Failed and cancelled jobs";
  return cause === CANCELLED ? "Cancelled jobs" : "Failed jobs";
}

/** What a job is about: the clip that it makes or converts, or the video. */
export function subjectOf(job: Pick<Job, "vod" | "clip">): Job["vod"] {
  return job.clip ?? job.vod;
}

export function nameOf(job: Pick<Job, "jobType" | "vod" | "clip">): string {
  const gone = job.jobType === "clip_generate" && job.clip === null;
  const name = gone ? clipWords(job.vod) : (subjectOf(job)?.title ?? "a deleted video");
  return `${typeWords(job.jobType)}: ${name}`;
}

function clipWords(source: Job["vod"]): string {
  return source === null ? "a deleted clip" : `a deleted clip of ${source.title}`;
}

type Shown = Pick<Stage, "status" | "progressPercent" | "errorType" | "errorMessage">;

export function stateOf({ status, progressPercent, errorType, errorMessage }: Shown): StateView {
  if (status === null) return { label: "Not started", tone: "quiet", progress: null };
  if (status === "failed" && isCancelled(errorType, errorMessage))
    return { label: "Cancelled", tone: "quiet", progress: null };
  const { label, tone } = STATES.get(status) ?? { label: status, tone: "quiet" as const };
  return { label, tone, progress: status === "processing" ? { percent: progressPercent } : null };
}

export function jobState(job: Pick<Job, "status" | "progressPercent" | "error">): StateView {
  return stateOf({ ...job, errorType: job.error?.type ?? null, errorMessage: job.error?.message ?? null });
}

export function timeLeft(job: Job, now: number): string {
  const left = job.status === "processing" ? leftOf(job.estimate, now) : null;
  return left === null ? "" : formatTimeLeft(left);
}

/** `Waits for retry 2 of 3`. */
export function retryWords({ status, retryCount, maxRetries }: Pick<Job, "status" | "retryCount" | "maxRetries">) {
  return status === "queued" && retryCount > 0 ? `Waits for retry ${retryCount} of ${maxRetries}` : "";
}

export function alertWords({ kind, jobType, value, threshold }: JobAlert): string {
  const type = typeWords(jobType);
  switch (kind) {
    case "failure_rate":
      return `${type}: ${Math.round(value * 100)}% of the last hour's jobs failed (limit ${Math.round(threshold * 100)}%)`;
    case "queue_age":
      return `${type}: the oldest job has waited for ${formatSpan(value)} (limit ${formatSpan(threshold)})`;
    case "dead_letters":
      return `${type}: ${plural(value, "job")} failed permanently within a week (limit ${threshold})`;
    default:
      return `${type}: ${kind}`;
  }
}

const ACTORS = new Map([
  ["cli", "the command line"],
  ["touchline_worker", "Touchline"],
  ["touchline_app", "Touchline"],
  ["touchline_owner", "Touchline"],
]);

/** People and tokens come with their names, workers with those of their machines and processes. */
export function actorWords(actor: string): string {
  return ACTORS.get(actor) ?? actor;
}

/** The reason of a job that somebody ended begins with the type of its error. */
export function historyWords(from: string | null, to: string, reason: string | null): string {
  if (from === null) return "Enqueued";
  if (from === to) return "Priority changed";
  const [type = null, ...message] = reason?.split(": ") ?? [];
  const wasCancelled = to === "failed" && isCancelled(type, ` ${message.join(": ")}`);
  return `${statusWords(from)} → ${wasCancelled ? "Cancelled" : statusWords(to)}`;
}
