import { signal } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { followClips, NO_CLIPS, withoutClip, withoutPoster, type Clip, type ClipPage } from "../../src/clips/clips";

function clip(artifactHash: string, status: string | null): Clip {
  return {
    artifactHash,
    playbackId: artifactHash,
    title: artifactHash,
    createdAt: "2026-03-31T12:00:00Z",
    status,
    progressPercent: null,
    durationMs: null,
    posterUrl: "/poster.jpg",
    errorMessage: null,
    source: null,
  };
}

function page(...clips: Clip[]): ClipPage {
  return { clips, totalCount: clips.length + 1 };
}

/** Answers one page after the other, the last one again and again; null is a failure. */
async function followed(pages: readonly (ClipPage | null)[], ends = new AbortController()) {
  const shown = signal(NO_CLIPS);
  const waits: number[] = [];
  let reads = 0;
  const read = () => {
    const found = pages[Math.min(reads, pages.length - 1)] ?? null;
    reads += 1;
    return found === null ? Promise.reject(new Error("away")) : Promise.resolve(found);
  };
  const wait = (milliseconds: number) => {
    waits.push(milliseconds);
    if (waits.length === 8) ends.abort();
    return Promise.resolve();
  };
  await followClips(shown, { read, wait, random: () => 1 }, ends.signal);
  return { shown: shown.value, reads, waits };
}

describe("clips are read again", () => {
  it("not at all when everything rests", async () => {
    const ready = page(clip("a", "ready"), clip("b", "failed"));
    expect(await followed([ready])).toEqual({ shown: ready, reads: 1, waits: [] });
  });

  it("while one is on its way, or its state is unknown", async () => {
    const ready = page(clip("a", "ready"));
    const found = await followed([page(clip("a", "requested")), page(clip("a", null)), ready]);
    expect(found).toEqual({ shown: ready, reads: 3, waits: [1000, 2000] });
  });

  it("ever more rarely, and not after the page was left", async () => {
    const { reads, waits } = await followed([page(clip("a", "processing"))]);
    expect(waits).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 15_000]);
    expect(reads).toBe(8);
  });

  it("after a failure, and what was there stays", async () => {
    const ready = page(clip("a", "ready"));
    expect(await followed([page(clip("a", "requested")), null, ready])).toMatchObject({ shown: ready, reads: 3 });
  });
});

describe("a page of clips", () => {
  it("loses one that was deleted, once", () => {
    const [one, other] = [clip("a", "ready"), clip("b", "ready")];
    const rest = withoutClip(page(one, other), one);
    expect(rest).toEqual({ clips: [other], totalCount: 2 });
    expect(withoutClip(rest, one)).toEqual(rest);
  });

  it("shows no picture whose address has expired", () => {
    const [one, other] = [clip("a", "ready"), clip("b", "ready")];
    expect(withoutPoster(page(one, other), one).clips.map(({ posterUrl }) => posterUrl)).toEqual([null, "/poster.jpg"]);
  });
});
