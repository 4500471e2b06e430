/**
 * One upload's way from a chosen file to a stored video, and the queue of them. Pure.
 * Invariant: a report that no longer fits (an upload that was cancelled meanwhile) changes nothing.
 */
import type { Problem } from "../kernel/problem";

export type Phase =
  | "waiting" // for its turn
  | "preparing" // asks where to send the parts, and which of them are there already
  | "sending"
  | "finishing" // all parts are there; the server checks them
  | "cancelling"
  | "done"
  | "failed"
  | "interrupted"; // begun in an earlier visit; needs its file again

export interface Upload {
  readonly id: string;
  readonly fileName: string;
  readonly sizeBytes: number;
  readonly phase: Phase;
  readonly sentBytes: number;
  readonly bytesPerSecond: number | null;
  readonly artifactHash: string | null;
  readonly playbackId: string | null;
  readonly problem: Problem | null;
}

export type Step =
  | { readonly kind: "started" }
  | { readonly kind: "registered"; readonly artifactHash: string; readonly playbackId: string | null }
  | { readonly kind: "progressed"; readonly sentBytes: number; readonly bytesPerSecond: number | null }
  | { readonly kind: "sent" }
  | { readonly kind: "completed"; readonly playbackId: string }
  | { readonly kind: "failed"; readonly problem: Problem }
  | { readonly kind: "cancelled" }
  | { readonly kind: "queued" };

/** The phases that a step may leave. */
const LEAVES: Record<Step["kind"], readonly Phase[]> = {
  started: ["waiting"],
  registered: ["preparing"],
  progressed: ["preparing", "sending", "finishing"], // back from finishing: the server misses a part
  sent: ["preparing", "sending"],
  completed: ["preparing", "finishing"],
  failed: ["preparing", "sending", "finishing"],
  cancelled: ["waiting", "preparing", "sending", "failed", "interrupted"],
  queued: ["failed", "interrupted"],
};

export function newUpload(id: string, file: { readonly name: string; readonly size: number }): Upload {
  return {
    id,
    fileName: file.name,
    sizeBytes: file.size,
    phase: "waiting",
    sentBytes: 0,
    bytesPerSecond: null,
    artifactHash: null,
    playbackId: null,
    problem: null,
  };
}

export function advance(upload: Upload, step: Step): Upload {
  if (!LEAVES[step.kind].includes(upload.phase)) return upload;
  switch (step.kind) {
    case "started":
      return { ...upload, phase: "preparing" };
    case "registered":
      return { ...upload, artifactHash: step.artifactHash, playbackId: step.playbackId };
    case "progressed":
      return { ...upload, phase: "sending", sentBytes: step.sentBytes, bytesPerSecond: step.bytesPerSecond };
    case "sent":
      return { ...upload, phase: "finishing", sentBytes: upload.sizeBytes, bytesPerSecond: null };
    case "completed":
      return { ...upload, phase: "done", sentBytes: upload.sizeBytes, playbackId: step.playbackId };
    case "failed":
      return { ...upload, phase: "failed", problem: step.problem, bytesPerSecond: null };
    case "cancelled":
      return { ...upload, phase: "cancelling", problem: null, bytesPerSecond: null };
    case "queued":
      return { ...upload, phase: "waiting", problem: null };
  }
}

const ACTIVE: readonly Phase[] = ["preparing", "sending", "finishing"];

export function isActive({ phase }: Upload): boolean {
  return ACTIVE.includes(phase);
}

/** Leaving the page now would interrupt it. */
export function isUnderWay(upload: Upload): boolean {
  return upload.phase === "waiting" || isActive(upload);
}

/** Once all parts are there it is a video, and deleted like one. */
export function canCancel({ phase }: Upload): boolean {
  return LEAVES.cancelled.includes(phase);
}

/** A file that was refused stays refused; everything else may go better the next time. */
export function isRefusal({ code }: Problem): boolean {
  return code === "invalid_input" || code === "limit_exceeded";
}

export function canRetry({ phase, problem }: Upload): boolean {
  return phase === "failed" && !(problem && isRefusal(problem));
}

/** Those whose turn it is, in the order in which they were chosen. */
export function startable(queue: readonly Upload[], mostActive: number): Upload[] {
  const free = mostActive - queue.filter(isActive).length;
  return queue.filter(({ phase }) => phase === "waiting").slice(0, Math.max(0, free));
}
