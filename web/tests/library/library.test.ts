import { expect, test } from "vitest";
import type { Request } from "../../src/api/client";
import { createLibrary } from "../../src/library/library";
import type { Video } from "../../src/library/model";
import { happening, video } from "../support/videos";
import { FakeTime } from "../support/time";

/** A library whose reads answer one state of its video after the other, the last one again and again. */
async function holding(...states: readonly Partial<Video>[]) {
  const time = new FakeTime();
  time.hold();
  let reads = 0;
  const request = (() => {
    const node = video(states[Math.min(reads, states.length - 1)]);
    reads += 1;
    const pageInfo = { hasNextPage: false, endCursor: "a" };
    return Promise.resolve({ vodsConnection: { edges: [{ node }], pageInfo, totalCount: 1 }, vod: node });
  }) as unknown as Request;
  const library = createLibrary({ request, wait: time.wait, random: () => 1, ends: new AbortController().signal });
  await library.loadFirst();
  return { library, time, reads: () => reads };
}

test("what is settled is read once", async () => {
  const { time, reads } = await holding({ status: "ready" });
  expect([reads(), time.waits]).toEqual([1, []]);
});

test.each([
  ["is on its way, should nobody tell of its end", { status: "processing" }],
  ["has a life that nobody knows", { status: null, lifecycleKnown: false }],
])("it is read again, ever more rarely, while a video %s", async (_, unsettled) => {
  const { library, time, reads } = await holding(unsettled, unsettled, { status: "ready", revision: 2 });
  for (let turn = 0; turn < 4; turn += 1) await time.release();
  expect(library.videos.value).toMatchObject([{ status: "ready" }]);
  expect([reads(), time.waits]).toEqual([3, [5000, 10_000]]);
});

test("what is read later than it was told changes nothing", async () => {
  const { library, time } = await holding({ status: "processing" });
  library.onEvent(happening({ stage: "ready", revision: 2 }));
  await time.release();
  expect(library.videos.value).toMatchObject([{ status: "ready", revision: 2 }]);
});

test("a new title shows at once, and costs no read", async () => {
  const { library, time, reads } = await holding({ status: "ready", title: "Saka 23'" });
  library.onEvent(happening({ stage: "renamed", revision: 0, title: "Gómez 23'", titleRevision: 2 }));
  expect(library.videos.value).toMatchObject([{ status: "ready", title: "Gómez 23'" }]);
  expect([reads(), time.waits, library.settled.value]).toEqual([1, [], 0]);
});
