import { expect, test } from "vitest";
import { questionOf } from "../../src/sessions/address";
import { bucketSeconds, timeTicks } from "../../src/sessions/buckets";
import { groupingFor } from "../../src/sessions/choices";
import { barPath, barTicks, markersOf, placeOfValue } from "../../src/sessions/distribution";
import { groupPath, leaderPath, leadersOf, leadWords } from "../../src/sessions/groups";
import { intakeParts, intakePath } from "../../src/sessions/intake";
import { bucketPath, figuresOf, partsOf, uncountedOf } from "../../src/sessions/series";
import { nextStop } from "../../src/sessions/stops";
import { bucket, everything, group, percentiles, summary } from "../support/sessions";

const read = (path: string | null) => questionOf(path?.split("?")[1] ?? "");
const HOUR = 3_600_000;

// --- time

test.each([
  ["hour", 60],
  ["day", 1800],
  ["week", 10_800],
  ["month", 43_200],
  ["year", 604_800],
] as const)("a %s has bars of %i seconds", (span, seconds) => expect(bucketSeconds({ span }, 0)).toBe(seconds));

test("a range of one's own has at most sixty bars, and one without a start is the gateway's", () => {
  expect(bucketSeconds({ span: "own", from: 0, to: 1000 }, 0)).toBe(1);
  expect(bucketSeconds({ span: "own", from: 0, to: 61_000 }, 0)).toBe(5);
  expect(bucketSeconds({ span: "own", from: null, to: 1000 }, 0)).toBeNull();
});

test("ticks stand at round times, within the chart", () => {
  const start = new Date(2026, 0, 8, 9, 40).getTime();
  const ticks = timeTicks(start, start + 3 * HOUR, 4);
  expect(ticks.map(({ text }) => text)).toEqual(["10:00", "11:00", "12:00"]);
  expect(ticks[0]?.at).toBeCloseTo(20 / 180);
  expect(timeTicks(5, 5, 4)).toEqual([]);
});

// --- what is counted leads to what is counted

test("a bucket leads to its rows, an empty one nowhere", () => {
  const start = "2026-01-08T21:00:00.000Z";
  expect(read(bucketPath(everything, bucket({ start, seconds: 1800 }), "slowest"))).toEqual({
    view: "rows",
    range: { span: "own", from: Date.parse(start), to: Date.parse(start) + HOUR / 2 },
    filters: {},
    order: "slowest",
  });
  expect(bucketPath(everything, bucket({ sessions: 0 }))).toBeNull();
});

test("the parts of a bucket are all of it", () => {
  const given = bucket({ sessions: 10, success: 4, excused: 3, unexcused: 2, notInDenominator: 1 });
  expect(partsOf(given).reduce((sum, [, count]) => sum + count, 0)).toBe(given.sessions);
});

test("rates are of the sessions whose start counts", () => {
  const given = summary({ sessions: 10, known: 8, success: 6, excused: 1, unexcused: 1, swapped: 2 });
  const figures = Object.fromEntries(figuresOf(given, everything).map(({ name, value }) => [name, value]));
  expect(figures).toMatchObject({ Sessions: "10", Success: "75.0%", Swapped: "20.0%", "Median startup": "–" });
  expect(uncountedOf(given)).toBe(2);
  expect(read(figuresOf(given, everything)[2]?.to ?? "").filters).toEqual({ outcome: "excused" });
});

const bars = [
  { fromMs: 0, toMs: 100, count: 1 },
  { fromMs: 100, toMs: 300, count: 0 },
  { fromMs: 300, toMs: 1000, count: 2 },
];

test.each([
  [0, 0],
  [50, 0.5 / 3],
  [100, 1 / 3],
  [200, 0.5],
  [1000, 1],
  [1001, null],
  [-1, null],
])("%i ms lies at %j", (value, place) => {
  const found = placeOfValue(bars, value);
  if (place === null) expect(found).toBeNull();
  else expect(found).toBeCloseTo(place);
});

test("percentiles are marked where they lie, names that would meet one above the other", () => {
  const markers = markersOf(bars, percentiles({ count: 3, p50: 50, p90: 60, p95: 65, p99: null }));
  expect(markers.map(({ name, isNear }) => [name, isNear])).toEqual([
    ["p50", false],
    ["p90", true],
    ["p95", false],
  ]);
});

test("a bar leads to the sessions of its latency", () => {
  expect(read(barPath(everything, "e2e", { fromMs: 300, toMs: 1000, count: 2 })).filters).toEqual({
    latency: "e2e:300-1000",
  });
  expect(barPath(everything, "e2e", { fromMs: 100, toMs: 300, count: 0 })).toBeNull();
  expect(barTicks(bars, 2).map(({ text }) => text)).toEqual(["0 ms", "300 ms"]);
});

test("a group leads to its sessions, also the one of which nothing is known", () => {
  expect(read(groupPath(everything, "model", group({ key: "m" }))).filters).toEqual({ model: "m" });
  expect(read(groupPath(everything, "gateway", group({ key: null }))).filters).toEqual({ gateway: "" });
});

test("an hour of the day leads nowhere: no filter chooses it", () => {
  expect(groupPath(everything, "hour", group({ key: "07" }))).toBeNull();
});

test("leaders lead to what they lead by, and who has none of it leads nothing", () => {
  const given = group({ sessions: 10, known: 5, unexcused: 2, swapped: 1, startup: { count: 4, p50: 90, p95: 120 } });
  expect(read(leaderPath(everything, "gateway", "failures", given))).toMatchObject({
    filters: { gateway: "gw-1", failed: "yes" },
    order: "errors",
  });
  expect(leadWords("swaps", given)).toEqual({ figure: "1", note: "10.0% of 10" });
  expect(leadWords("failures", given)).toEqual({ figure: "2", note: "40.0% of 5" });
  expect(leadWords("slowest", given)).toEqual({ figure: "120 ms", note: "median 90 ms" });
  expect(leadersOf("swaps", [group(), given])).toEqual([given]);
});

test("events that came in lead to the same time more closely", () => {
  const came = {
    start: "2026-01-08T21:00:00.000Z",
    seconds: 60,
    raw: 9,
    accepted: 5,
    duplicate: 2,
    ignored: 1,
    quarantined: 1,
  };
  expect(intakeParts(came).reduce((sum, [, count]) => sum + count, 0)).toBe(came.raw);
  expect(read(intakePath({ ...everything, view: "intake" }, came)).view).toBe("intake");
  expect(intakePath(everything, { ...came, raw: 0 })).toBeNull();
});

test.each([
  ["ArrowRight", 0, 1],
  ["ArrowRight", 2, 2],
  ["ArrowLeft", 0, 0],
  ["End", 0, 2],
  ["Home", 2, 0],
  ["a", 1, null],
  ["ArrowRight", -1, null],
])("%s at %i", (key, current, next) => expect(nextStop(key, current, 3)).toBe(next));

test("running and cancelled sessions stand beside the rates", () => {
  const given = summary({ sessions: 5, known: 2, success: 2, running: 2, cancelled: 1 });
  const figures = figuresOf(given, everything);
  expect(figures.map(({ value }) => value).slice(0, 4)).toEqual(["5", "100%", "0%", "0%"]);
  expect(figures[0]?.note).toBe("2 running, 1 cancelled");
  expect(uncountedOf(given)).toBe(0);
});

test("a breakdown opens on what tells sessions apart, unless somebody chose another", () => {
  const known = [{ key: "a" }, { key: "b" }];
  expect(groupingFor("orchestrator", known, false)).toBe("orchestrator");
  expect(groupingFor("orchestrator", [{ key: null }], false)).toBe("model");
  expect(groupingFor("model", [{ key: null }, { key: "a" }], false)).toBe("type");
  expect(groupingFor("type", [{ key: "transcode" }], false)).toBe("type");
  expect(groupingFor("orchestrator", [{ key: null }], true)).toBe("orchestrator");
  expect(groupingFor("orchestrator", [], false)).toBe("orchestrator");
});
