import { expect, test } from "vitest";
import { createReader } from "../../src/library/reader";
import type { Video } from "../../src/library/model";
import { FakeTime, settle } from "../support/time";
import { video } from "../support/videos";

function reading(answers: readonly (Video | null | Error)[]) {
  const time = new FakeTime();
  const seen = { read: [] as string[], lists: 0, videos: [] as Video[] };
  const left = [...answers];
  const reader = createReader({
    read: (artifactHash) => {
      seen.read.push(artifactHash);
      const answer = left.shift() ?? null;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    readList: () => {
      seen.lists += 1;
      return Promise.resolve();
    },
    onVideo: (read) => seen.videos.push(read),
    wait: time.wait,
    ends: new AbortController().signal,
  });
  return { reader, seen };
}

test("a video is read until it is as new as what was told of it", async () => {
  const { reader, seen } = reading([video({ revision: 3 }), new Error("down"), video({ revision: 5 })]);
  reader.want("a", 5);
  await settle();
  expect(seen.videos.map(({ revision }) => revision)).toEqual([3, 5]);
});

test("not for ever", async () => {
  const { reader, seen } = reading(Array.from({ length: 20 }, () => video({ revision: 1 })));
  reader.want("a", 5);
  await settle();
  expect(seen.read).toHaveLength(6);
});

test("one that is gone is not asked for again", async () => {
  const { reader, seen } = reading([null]);
  reader.want("a", 5);
  await settle();
  expect(seen.read).toEqual(["a"]);
});

test("told twice, read once", async () => {
  const { reader, seen } = reading([video({ revision: 5 })]);
  reader.want("a", 4);
  reader.want("a", 5);
  await settle();
  expect(seen.read).toEqual(["a"]);
});

test("many at once are one read of the list", async () => {
  const { reader, seen } = reading([]);
  Array.from("abcdefgh", (letter) => reader.want(letter, 1));
  await settle();
  expect(seen).toMatchObject({ read: [], lists: 1 });
});
