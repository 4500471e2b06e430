/** Hits as the gateway answers them. */
import type { Hit, SearchPageAnswer } from "../../src/search/model";

export function hit(segmentId: string, more: Partial<Hit> = {}): Hit {
  return {
    segmentId,
    where: "PICTURE",
    artifactHash: "a".repeat(32),
    text: "Full time",
    fragments: [{ text: "Full time", matched: true }],
    box: { x: 64, y: 36, width: 320, height: 72, frameWidth: 640, frameHeight: 360 },
    startMs: 1000,
    endMs: 3500,
    confidence: 0.97,
    language: "eng",
    videoCreatedAt: "2026-03-01T12:00:00+00:00",
    frameUrl: "/media/token/hash/frames/1/1000.jpg",
    vod: { title: "The final", playbackId: "abcdefgh01234567", posterUrl: null },
    ...more,
  };
}

export function page(hits: readonly Hit[], more: Partial<SearchPageAnswer> = {}): SearchPageAnswer {
  return {
    __typename: "SearchPage",
    edges: hits.map((node) => ({ node })),
    pageInfo: { hasNextPage: false, endCursor: null },
    corrections: [],
    ...more,
  };
}
