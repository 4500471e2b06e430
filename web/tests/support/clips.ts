/** Clips and what is told of them. */
import type { Clip } from "../../src/clips/rules";
import type { ClipEvent } from "../../src/live/socket";

export function clip(artifactHash: string, changes: Partial<Clip> = {}): Clip {
  return {
    artifactHash,
    playbackId: artifactHash,
    title: artifactHash,
    createdAt: "2026-03-31T12:00:00Z",
    status: "processing",
    progressPercent: null,
    durationMs: null,
    posterUrl: "/poster.jpg",
    errorCode: null,
    errorMessage: null,
    revision: 2,
    lifecycleKnown: true,
    source: null,
    ...changes,
  };
}

export function clipEvent(artifactHash: string, changes: Partial<ClipEvent> = {}): ClipEvent {
  const said = {
    stage: "processing",
    progressPercent: null,
    durationMs: null,
    errorCode: null,
    error: null,
    revision: 3,
  };
  return { cursor: "c", artifactHash, ...said, ...changes };
}
