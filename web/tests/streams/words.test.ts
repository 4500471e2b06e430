import { describe, expect, test } from "vitest";
import { isPlayable, isPublished, ordered, publishSettings, runningOf } from "../../src/streams/model";
import type { Health, Recording, Stream } from "../../src/streams/model";
import {
  clipTitle,
  formatBitRate,
  healthLine,
  measured,
  recordingState,
  sinceWords,
  streamState,
} from "../../src/streams/words";

const NOW = Date.parse("2026-03-31T12:00:00Z");

function stream(changes: Partial<Stream>): Stream {
  return {
    streamId: "s",
    playbackId: "p",
    title: "The derby",
    record: false,
    state: "idle",
    liveSince: null,
    interruptedAt: null,
    suspendedAt: null,
    createdAt: "2026-03-01T00:00:00Z",
    posterUrl: null,
    problem: null,
    revision: 1,
    health: null,
    ...changes,
  };
}

function health(changes: Partial<Health>): Health {
  const good = { bitsPerSecond: 2_500_000, framesPerSecond: 25, droppedFrames: 0, keyframeGapMs: 2000, behindMs: 400 };
  return { ...good, width: 1280, height: 720, ...changes };
}

function recording(changes: Partial<Recording>): Recording {
  const known = { dvrHash: "d", playbackId: "p", title: "The derby", createdAt: "", endedAt: null, sizeBytes: null };
  const state = { status: "recording", progressPercent: null, durationMs: null, errorCode: null, errorMessage: null };
  return { ...known, ...state, lifecycleKnown: true, ...changes };
}

test("what is live stands first, then what began last", () => {
  const old = stream({ streamId: "old", createdAt: "2026-01-01T00:00:00Z" });
  const idle = stream({ streamId: "idle" });
  const broken = stream({ streamId: "broken", state: "interrupted", liveSince: "2026-03-31T10:00:00Z" });
  const live = stream({ streamId: "live", state: "live", liveSince: "2026-03-31T11:00:00Z" });
  expect(ordered([old, idle, broken, live]).map(({ streamId }) => streamId)).toEqual(["live", "broken", "idle", "old"]);
});

test.each([
  ["live", true, true],
  ["interrupted", true, true],
  ["starting", true, false],
  ["idle", false, false],
  ["suspended", false, false],
])("%s: published %s, playable %s", (state, published, playable) => {
  expect([isPublished({ state }), isPlayable({ state })]).toEqual([published, playable]);
});

test("encoders get what they ask for: a server and a key, or an address with the key", () => {
  const urls = ["rtmp://stadium.example/live", "srt://stadium.example:9999", "of a later version"];
  expect(publishSettings(urls, "tlk_secret")).toEqual([
    { protocol: "RTMP", server: "rtmp://stadium.example/live", streamKey: "tlk_secret" },
    { protocol: "SRT", server: "srt://stadium.example:9999?streamid=tlk_secret", streamKey: null },
  ]);
});

test("one recording at a time goes on", () => {
  const done = recording({ dvrHash: "done", status: "completed" });
  const stopping = recording({ dvrHash: "stopping", status: "stopping" });
  expect(runningOf([done, stopping])?.dvrHash).toBe("stopping");
  expect(runningOf([recording({ status: null })])).not.toBeNull();
  expect(runningOf([done, recording({ status: null, endedAt: "2026-03-31T11:00:00Z" })])).toBeNull();
});

describe("words", () => {
  test.each([
    [{}, "no encoder publishes"],
    [{ state: "live", liveSince: "2026-03-31T11:30:00Z" }, "live since 30 minutes ago"],
    [{ state: "live", liveSince: "2026-03-31T11:59:50Z" }, "live since a moment ago"],
    [
      { state: "interrupted", liveSince: "2026-03-31T11:00:00Z", interruptedAt: "2026-03-31T11:58:00Z" },
      "waiting for the encoder since 2 minutes ago",
    ],
    [{ state: "suspended", suspendedAt: "2026-03-31T10:00:00Z" }, "suspended 2 hours ago"],
  ])("%o: %s", (changes, words) => expect(sinceWords(stream(changes), NOW)).toBe(words));

  test("states that are newer than this page show as they are", () => {
    expect(streamState({ state: "live" })).toMatchObject({ label: "Live", tone: "good" });
    expect(streamState({ state: "melting" })).toMatchObject({ label: "melting", tone: "quiet" });
    expect(recordingState(recording({ status: null })).label).toBe("Starting");
    expect(recordingState(recording({ status: null, lifecycleKnown: false })).label).toBe("State unknown");
    expect(recordingState(recording({ status: "processing", progressPercent: 40 }))).toMatchObject({
      progress: { percent: 40 },
    });
    expect(recordingState(recording({ status: "completed_partial" })).label).toBe("Recorded with gaps");
  });
});

test("a clip is called by its stream and the moment", () => {
  expect(clipTitle("The derby", NOW)).toMatch(/^The derby, 31 Mar 2026, \d\d:00:00$/);
  expect(clipTitle("x".repeat(400), NOW).length).toBeLessThan(180);
});

describe("health", () => {
  test.each([
    [0, "0 kbit/s"],
    [850_400, "850 kbit/s"],
    [999_600, "1.0 Mbit/s"],
    [2_540_000, "2.5 Mbit/s"],
  ])("%d is %s", (bits, words) => expect(formatBitRate(bits)).toBe(words));

  test("a line for a card", () => {
    expect(healthLine(health({}))).toBe("2.5 Mbit/s · 25 frames/s · no drops");
    expect(healthLine(health({ droppedFrames: 1200 }))).toBe("2.5 Mbit/s · 25 frames/s · 1,200 dropped");
  });

  test("warns of what viewers suffer from, and of nothing else", () => {
    const warned = (changes: Partial<Health>) =>
      measured(health(changes))
        .filter(({ warning }) => warning !== null)
        .map(({ name }) => name);
    expect(warned({})).toEqual([]);
    expect(warned({ droppedFrames: 1 })).toEqual(["Dropped"]);
    expect(warned({ keyframeGapMs: 8000 })).toEqual(["Keyframe every"]);
    expect(warned({ behindMs: 3000 })).toEqual(["Behind the encoder"]);
  });
});
