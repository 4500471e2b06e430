import { describe, expect, it } from "vitest";
import type { Request } from "../../src/api/client";
import { createClips } from "../../src/clips/clips";
import {
  applyEvent,
  isBehind,
  mergePage,
  NO_CLIPS,
  withoutClip,
  withoutPoster,
  type Clip,
  type ClipPage,
} from "../../src/clips/rules";
import { clip, clipEvent } from "../support/clips";
import { FakeTime, settle } from "../support/time";

function page(...clips: Clip[]): ClipPage {
  return { clips, totalCount: clips.length + 1 };
}

/** A page whose reads answer one list after the other, the last one again and again; null is a failure. */
async function following(...pages: readonly (ClipPage | null)[]) {
  const time = new FakeTime();
  time.hold();
  const life = new AbortController();
  let reads = 0;
  const request = (() => {
    const found = pages[Math.min(reads, pages.length - 1)] ?? null;
    reads += 1;
    if (found === null) return Promise.reject(new Error("away"));
    const edges = found.clips.map((node) => ({ node }));
    return Promise.resolve({ clipsConnection: { edges, totalCount: found.totalCount } });
  }) as unknown as Request;
  const clips = createClips({ request, streamId: null, wait: time.wait, random: () => 1, ends: life.signal });
  await clips.load();
  return { clips, time, reads: () => reads };
}

describe("clips on the page", () => {
  it("are read once while nothing happens", async () => {
    const ready = page(clip("a", { status: "ready" }), clip("b", { status: "failed" }));
    const { clips, time, reads } = await following(ready);
    expect([clips.page.value, reads(), time.waits]).toEqual([ready, 1, []]);
  });

  it("move on with what is told of them, and are not read for it", async () => {
    const { clips, reads } = await following(page(clip("a")));
    clips.onEvent(clipEvent("a", { progressPercent: 40 }));
    expect(clips.page.value.clips).toMatchObject([{ status: "processing", progressPercent: 40, revision: 3 }]);
    clips.onEvent(clipEvent("a", { stage: "failed", error: "too dark", revision: 4 }));
    expect(clips.page.value.clips).toMatchObject([{ status: "failed", errorMessage: "too dark" }]);
    expect(reads()).toBe(1);
  });

  it("appear when they are asked for elsewhere", async () => {
    const { clips, time } = await following(NO_CLIPS, page(clip("new")));
    clips.onEvent(clipEvent("new", { stage: "registered", revision: 0 }));
    await time.release();
    expect(clips.page.value.clips).toMatchObject([{ artifactHash: "new" }]);
  });

  it("get their picture when they are ready, also when what is read lags behind", async () => {
    const before = clip("a", { posterUrl: null });
    const ready = clip("a", { status: "ready", revision: 3 });
    const { clips, time, reads } = await following(page(before), page(before), page(ready));
    clips.onEvent(clipEvent("a", { stage: "ready" }));
    await time.release();
    expect([clips.page.value.clips, reads()]).toMatchObject([[{ status: "ready", posterUrl: null }], 2]);
    for (let turn = 0; turn < 4; turn += 1) await time.release();
    expect([clips.page.value.clips, reads()]).toEqual([[ready], 3]);
  });

  it("are read again while one is being made, should nobody tell of its end", async () => {
    const { clips, time, reads } = await following(
      page(clip("a")),
      page(clip("a")),
      page(clip("a", { status: "ready" })),
    );
    for (let turn = 0; turn < 8; turn += 1) await time.release();
    expect([clips.page.value.clips, reads()]).toMatchObject([[{ status: "ready" }], 3]);
  });

  it("are read again after a failure, ever more rarely", async () => {
    const { time, reads } = await following(null);
    for (let turn = 0; turn < 12; turn += 1) await time.release();
    expect(reads()).toBeGreaterThan(2);
    expect(time.waits.filter((pause) => [1000, 2000, 4000].includes(pause))).toEqual([1000, 2000, 4000]);
  });

  it("go when they are deleted elsewhere", async () => {
    const { clips } = await following(page(clip("a"), clip("b")));
    clips.onEvent(clipEvent("a", { stage: "deleted" }));
    await settle();
    expect(clips.page.value).toEqual({ clips: [clip("b")], totalCount: 2 });
  });
});

describe("of two reports", () => {
  const known = page(clip("a", { status: "ready", revision: 5 }));

  it("the newer one counts, whichever comes first", () => {
    for (const revision of [4, 5]) expect(applyEvent(known, clipEvent("a", { revision }))).toBe(known);
    const late = mergePage(known, page(clip("a", { revision: 4, title: "renamed" })));
    expect(late.clips).toMatchObject([{ status: "ready", revision: 5, title: "renamed" }]);
    expect(isBehind(late, clip("a", { revision: 4 }))).toBe(true);
    expect(isBehind(late, clip("a", { revision: 5 }))).toBe(false);
  });

  it("one that knows nothing of its life has no say", () => {
    const unknown = clip("a", { status: null, revision: 9, lifecycleKnown: false });
    expect(mergePage(known, page(unknown)).clips).toMatchObject([{ status: "ready", revision: 5 }]);
    expect(isBehind(known, unknown)).toBe(true);
    expect(applyEvent(page(unknown), clipEvent("a")).clips).toMatchObject([{ status: "processing", revision: 3 }]);
  });
});

describe("a page of clips", () => {
  it("loses one that was deleted, once", () => {
    const [one, other] = [clip("a"), clip("b")];
    const rest = withoutClip(page(one, other), "a");
    expect(rest).toEqual({ clips: [other], totalCount: 2 });
    expect(withoutClip(rest, "a")).toEqual(rest);
  });

  it("shows no picture whose address has expired", () => {
    const [one, other] = [clip("a"), clip("b")];
    expect(withoutPoster(page(one, other), one).clips.map(({ posterUrl }) => posterUrl)).toEqual([null, "/poster.jpg"]);
  });
});
