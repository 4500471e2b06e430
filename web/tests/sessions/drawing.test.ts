import { expect, test } from "vitest";
import {
  ceilingOf,
  curveOf,
  happeningsOf,
  lanesOf,
  meansOf,
  offsetTicks,
  pathOf,
  sinceStart,
  startStretch,
  wholeStretch,
} from "../../src/sessions/drawing";
import { after, change, sample, segment, session } from "../support/sessions";

const at = (milliseconds: number) => Date.parse(after(milliseconds));
const whole = { from: at(0), to: at(100_000) };
const edge = (ms: number, name: string, category: string) => ({ ts: after(ms), name, category });
const told = session({
  segments: [segment(0, 0, 50_000, "0xa"), segment(1, 50_000, 60_000, "0xb"), segment(2, 60_000, null, "0xa")],
  parameterUpdates: [change(40_000, { fpsBefore: 17, fpsAfter: 22.04 })],
  timeline: {
    edges: [
      edge(2655, "gateway_receive_first_processed_segment", "gateway"),
      edge(0, "gateway_receive_stream_request", "gateway"),
      edge(50_000, "orchestrator_swap", "orchestrator"),
      edge(60_000, "somebody_waved", "crowd"),
    ],
    errors: [{ ts: after(49_000), message: " ", excusable: false }],
    samples: [],
    truncated: false,
  },
});

test("a session reaches to the last thing that is known of it", () => {
  expect(wholeStretch(told)).toEqual(whole);
  expect(wholeStretch(session({ sessionEndTs: after(0), closedTs: after(7000) }))).toEqual({
    from: at(0),
    to: at(7000),
  });
  expect(wholeStretch(session({ sessionEndTs: after(0) }))).toEqual({ from: at(0), to: at(1000) });
});

test("the start is looked at closely only where it is a small part", () => {
  expect(startStretch(told)).toEqual({ from: at(0), to: at(6900) });
  expect(startStretch(session({ sessionEndTs: after(10_000) }))).toBeNull();
  expect(startStretch(session({ firstPlayableTs: null, firstProcessedTs: null }))).toBeNull();
});

test("lanes: categories, then orchestrators in the order in which they came, then errors and changes", () => {
  const lanes = lanesOf(told, whole);
  expect(lanes.map(({ name }) => name)).toEqual([
    "Gateway",
    "Orchestrator",
    "Other",
    "0xa",
    "0xb",
    "Errors",
    "Parameters",
  ]);
  expect(lanes[0]?.marks.map((mark) => [mark.at, mark.text])).toEqual([
    [0, "Stream requested"],
    [0.02655, "First processed segment back"],
  ]);
  expect(lanes[0]?.marks[0]?.room).toBeCloseTo(0.02655);
  expect(lanes[2]?.marks[0]?.text).toBe("Somebody waved");
  expect(lanes[5]?.marks[0]).toMatchObject({ kind: "error", text: "Error: without a message" });
  expect(lanes[6]?.marks[0]?.text).toBe("Parameters changed: 17 → 22 FPS");
});

test("an orchestrator that came back has two pieces, the last of which is open", () => {
  const [first] = lanesOf(told, whole).filter(({ name }) => name === "0xa");
  expect(first?.pieces.map(({ from, to, isOpen }) => [from, to, isOpen])).toEqual([
    [0, 0.5, false],
    [0.6, 1, true],
  ]);
});

test("what lies outside of the stretch is left out, and a piece is cut", () => {
  const lanes = lanesOf(told, { from: at(0), to: at(10_000) });
  expect(lanes.map(({ name }) => name)).toEqual(["Gateway", "0xa"]);
  expect(lanes[1]?.pieces).toMatchObject([{ from: 0, to: 1, isOpen: true }]);
});

test("a curve goes to the edges of the stretch", () => {
  const samples = [sample(30_000, 3), sample(0, 0), sample(10_000, 1), sample(20_000, null, 5), sample(90_000, 9)];
  const points = curveOf(samples, "outputFps", { from: at(5000), to: at(35_000) });
  expect(points.map(({ value }) => value)).toEqual([0, 1, 3, 9]);
  expect(curveOf(samples, "jitterMs", whole)).toEqual([{ at: 0.2, value: 5 }]);
  expect(curveOf(samples, "inputFps", whole)).toEqual([]);
});

test("means are as long as the time they were taken over, cut at the edges", () => {
  const names = { before: "fpsBefore", after: "fpsAfter" } as const;
  const means = meansOf(
    [change(5000, { fpsBefore: 17, fpsAfter: 22 }), change(95_000, { fpsBefore: 3 })],
    whole,
    names,
  );
  expect(means.map((run) => run.map((point) => [point.at, point.value]))).toEqual([
    [
      [0, 17],
      [0.05, 17],
    ],
    [
      [0.05, 22],
      [0.15000000000000002, 22],
    ],
    [
      [0.85, 3],
      [0.95, 3],
    ],
  ]);
});

test.each([
  [[], 4, 4],
  [[17.3, 20.4], 10, 30],
  [[100], 4, 100],
  [[101], 4, 150],
  [[0.4], 0.1, 0.4],
])("nothing of %j is above %d: %d", (values, least, ceiling) => expect(ceilingOf(values, least)).toBeCloseTo(ceiling));

test("a path begins once and stays below the ceiling", () =>
  expect(
    pathOf(
      [
        { at: 0, value: 5 },
        { at: 0.5, value: 99 },
      ],
      10,
    ),
  ).toBe("M0.0 50.0L500.0 0.0"));

test("what happened is told in order", () => {
  expect(happeningsOf(told).map(({ what }) => what)).toEqual([
    "Stream requested",
    "Segment 1: 0xa",
    "First processed segment back",
    "Parameters changed: 17 → 22 FPS",
    "Error: without a message",
    "Orchestrator left",
    "Segment 2: 0xb",
    "Somebody waved",
    "Segment 3: 0xa",
  ]);
});

test.each([
  [0, "+0 ms"],
  [2655, "+2,655 ms"],
  [12_340, "+12.3 s"],
  [260_000, "+4:20"],
  [3_723_000, "+1:02:03"],
])("%i ms: %s", (milliseconds, words) => expect(sinceStart(at(milliseconds), at(0))).toBe(words));

test.each([
  [7000, 4, ["0", "2 s", "4 s", "6 s"]],
  [100_000, 4, ["0", "30 s", "1:00", "1:30"]],
  [90_000_000, 4, ["0", "12:00:00", "24:00:00"]],
])("%i ms in about %i parts", (length, most, words) =>
  expect(offsetTicks({ from: 0, to: length }, most).map(({ text }) => text)).toEqual(words),
);
