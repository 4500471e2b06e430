import { describe, expect, test } from "vitest";
import { compareVideos, mergeEvent, mergeRead } from "../../src/library/rules";
import { happening, row, video } from "../support/videos";

describe("events", () => {
  test("a newer one has the say", () => {
    const known = video({ revision: 3, status: "processing", progressPercent: 40 });
    const next = mergeEvent(known, happening({ revision: 4, stage: "ready", durationMs: 5000 }));
    expect(next).toMatchObject({ status: "ready", progressPercent: null, durationMs: 5000, revision: 4 });
  });

  test("an older one has none", () => {
    const known = video({ revision: 3, status: "ready" });
    expect(mergeEvent(known, happening({ revision: 2, stage: "processing" }))).toBe(known);
  });

  test("what it does not say stays as it was", () => {
    const known = video({ sizeBytes: 10, durationMs: 20 });
    expect(mergeEvent(known, happening({ revision: 2 }))).toMatchObject({ sizeBytes: 10, durationMs: 20 });
  });

  test("progress within one revision goes forward only", () => {
    const known = video({ revision: 3, progressPercent: 50 });
    expect(mergeEvent(known, happening({ revision: 3, progressPercent: 60 })).progressPercent).toBe(60);
    expect(mergeEvent(known, happening({ revision: 3, progressPercent: 40 })).progressPercent).toBe(50);
    expect(mergeEvent(known, happening({ revision: 4, progressPercent: 10 })).progressPercent).toBe(10);
  });

  test("a late done does not revive what was deleted", () => {
    const deleted = video({ revision: 3, status: "deleted" });
    expect(mergeEvent(deleted, happening({ revision: 3, stage: "ready" }))).toBe(deleted);
    expect(mergeEvent(deleted, happening({ revision: 4, stage: "ready" })).status).toBe("ready");
  });
});

describe("reads", () => {
  test("the order in which reports come does not matter", () => {
    const read = video({ revision: 2, status: "processing", title: "New title" });
    const event = happening({ revision: 3, stage: "ready" });
    const known = video({ revision: 1 });
    const eventFirst = mergeRead(mergeEvent(known, event), read);
    const readFirst = mergeEvent(mergeRead(known, read), event);
    expect(eventFirst).toEqual(readFirst);
    expect(eventFirst).toMatchObject({ status: "ready", title: "New title", revision: 3 });
  });

  test("unknown is not no: a read without lifecycle keeps what is known", () => {
    const known = video({ revision: 3, status: "ready", durationMs: 5000 });
    const read = video({ revision: 9, status: null, durationMs: null, lifecycleKnown: false, title: "Renamed" });
    expect(mergeRead(known, read)).toMatchObject({ status: "ready", durationMs: 5000, revision: 3, title: "Renamed" });
  });

  test("any lifecycle is better than none", () => {
    const unknown = video({ revision: 9, status: null, lifecycleKnown: false });
    expect(mergeRead(unknown, video({ revision: 2, status: "ready" }))).toMatchObject({ status: "ready", revision: 2 });
    expect(mergeEvent(unknown, happening({ revision: 2, stage: "ready" }))).toMatchObject({ status: "ready" });
  });

  test("a poster that is shown is not loaded again because its address was signed again", () => {
    const known = video({ posterUrl: "/media/one/poster.jpg" });
    expect(mergeRead(known, video({ posterUrl: "/media/two/poster.jpg" })).posterUrl).toBe("/media/one/poster.jpg");
    expect(mergeRead(video(), video({ posterUrl: "/media/two/poster.jpg" })).posterUrl).toBe("/media/two/poster.jpg");
  });
});

describe("titles", () => {
  const renamed = (title: string, titleRevision: number) =>
    happening({ stage: "renamed", revision: 0, title, titleRevision });
  const known = video({ revision: 3, status: "ready", title: "Saka 23'", titleRevision: 2 });

  test("a new one changes the title and nothing else", () => {
    expect(mergeEvent(known, renamed("Gómez 23'", 3))).toEqual({ ...known, title: "Gómez 23'", titleRevision: 3 });
  });

  test.each([1, 2])("one of revision %i is no news after the second", (titleRevision) => {
    expect(mergeEvent(known, renamed("Rice 23'", titleRevision))).toBe(known);
  });

  test("a title is not a state, not even of a video whose lifecycle is unknown", () => {
    const unknown = video({ revision: 0, status: null, lifecycleKnown: false });
    const next = mergeEvent(unknown, renamed("Gómez 23'", 3));
    expect(next).toEqual({ ...unknown, title: "Gómez 23'", titleRevision: 3 });
  });

  test("an answer that was overtaken does not bring the old one back", () => {
    const next = mergeEvent(known, renamed("Gómez 23'", 3));
    expect(mergeRead(next, known).title).toBe("Gómez 23'");
    expect(mergeRead(next, { ...known, title: "Rice 23'", titleRevision: 4 }).title).toBe("Rice 23'");
  });

  test("all of them in any order end alike", () => {
    const reports = [
      (now: typeof known) => mergeEvent(now, renamed("Gómez 23'", 3)),
      (now: typeof known) => mergeEvent(now, renamed("Rice 23'", 5)),
      (now: typeof known) => mergeEvent(now, happening({ revision: 4, stage: "ready" })),
      (now: typeof known) => mergeRead(now, { ...known, title: "Timber 23'", titleRevision: 4 }),
    ];
    for (const order of orders(reports)) {
      const end = order.reduce((now, report) => report(now), known);
      expect(end).toMatchObject({ title: "Rice 23'", titleRevision: 5, status: "ready", revision: 4 });
    }
  });
});

function orders<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) => orders(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}

test("newest first, and equals in a fixed order", () => {
  const sorted = [row("c"), row("a"), row("b")].sort(compareVideos);
  expect(sorted.map(({ artifactHash }) => artifactHash)).toEqual(["a", "b", "c"]);
  const equals = [video({ artifactHash: "x" }), video({ artifactHash: "y" })];
  expect(equals.sort(compareVideos)).toEqual([...equals].reverse().sort(compareVideos));
});
