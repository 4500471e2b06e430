/** Videos and events as the API sends them, with only what a test is about spelled out. */
import type { Video, VideoPage } from "../../src/library/model";
import type { LifecycleEvent } from "../../src/live/socket";

export function video(given: Partial<Video> = {}): Video {
  return {
    artifactHash: "a",
    playbackId: "playbackplayback",
    title: "A match",
    titleRevision: 1,
    fileName: "match.mp4",
    createdAt: "2026-05-01T12:00:00+00:00",
    expiresAt: null,
    status: "processing",
    progressPercent: null,
    sizeBytes: null,
    durationMs: null,
    width: null,
    height: null,
    posterUrl: null,
    errorCode: null,
    errorMessage: null,
    revision: 1,
    lifecycleKnown: true,
    ...given,
  };
}

export function happening(given: Partial<LifecycleEvent> = {}): LifecycleEvent {
  return {
    cursor: "1",
    artifactHash: "a",
    stage: "processing",
    title: null,
    titleRevision: null,
    progressPercent: null,
    sizeBytes: null,
    durationMs: null,
    errorCode: null,
    error: null,
    revision: 2,
    ...given,
  };
}

/** The newest first, each a minute older than the one before it: the letters are the hashes. */
export function row(letter: string, given: Partial<Video> = {}): Video {
  const minute = String(59 - (letter.charCodeAt(0) - 97)).padStart(2, "0");
  return video({ artifactHash: letter, createdAt: `2026-05-01T12:${minute}:00+00:00`, ...given });
}

export function page(letters: string, more: boolean, totalCount = letters.length): VideoPage {
  return {
    edges: Array.from(letters, (letter) => ({ node: row(letter) })),
    pageInfo: { hasNextPage: more, endCursor: letters.at(-1) ?? null },
    totalCount,
  };
}
