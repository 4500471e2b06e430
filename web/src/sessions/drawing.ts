/**
 * One session as a drawing: lanes of marks and bars, and curves, over one stretch of time. Pure.
 * Invariant: every place is a share of that stretch, 0 to 1; what lies outside of it is left out.
 */
import { formatDuration } from "../kernel/format";
import type { Tick } from "./buckets";
import type { ParameterUpdate, Sample, Segment, SessionDetail } from "./model";
import { capital, edgeWords, formatFigure, keyWords } from "./words";

export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export type MarkKind = "edge" | "error" | "excusable" | "change";

export interface Mark {
  readonly ts: number;
  readonly at: number;
  readonly kind: MarkKind;
  readonly text: string;
  /** How far it is to the next one, or to the end. */
  readonly room: number;
}

export interface Piece {
  readonly from: number;
  readonly to: number;
  /** It has not ended, or not within the drawing. */
  readonly isOpen: boolean;
  readonly segment: Segment;
  readonly text: string;
}

export interface Lane {
  readonly name: string;
  /** What is shown shortened. */
  readonly title: string;
  readonly marks: readonly Mark[];
  readonly pieces: readonly Piece[];
}

const CATEGORIES = ["gateway", "orchestrator", "runner", "app", "other"];
const SHORTEST_MS = 1000;
const START_MARGIN = 1.15;
const START_SHARE = 0.5;

export function momentOf(text: string): number {
  return Date.parse(text);
}

/** From the first thing that is known of it to the last. */
export function wholeStretch(session: SessionDetail): Stretch {
  const { segments, parameterUpdates, timeline } = session;
  const told = [
    ...timeline.edges.map(({ ts }) => ts),
    ...timeline.errors.map(({ ts }) => ts),
    ...timeline.samples.map(({ ts }) => ts),
    ...parameterUpdates.map(({ updateTs }) => updateTs),
    ...segments.map(({ segmentStartTs }) => segmentStartTs),
    session.sessionEndTs,
    session.closedTs ?? session.sessionStartTs,
  ];
  const from = momentOf(session.sessionStartTs);
  const to = told.reduce((latest, ts) => Math.max(latest, momentOf(ts)), from);
  return { from, to: Math.max(to, from + SHORTEST_MS) };
}

/** Until it plays. Null when that is most of it, or never happened: then there is nothing to look at more closely. */
export function startStretch(session: SessionDetail): Stretch | null {
  const { from, to } = wholeStretch(session);
  const played = session.firstPlayableTs ?? session.firstProcessedTs;
  if (played === null) return null;
  const until = from + Math.max(SHORTEST_MS, (momentOf(played) - from) * START_MARGIN);
  return until < from + (to - from) * START_SHARE ? { from, to: until } : null;
}

export function placeOf({ from, to }: Stretch, ts: number): number {
  return (ts - from) / (to - from);
}

function isWithin(stretch: Stretch, ts: number): boolean {
  return ts >= stretch.from && ts <= stretch.to;
}

export function lanesOf(session: SessionDetail, stretch: Stretch): Lane[] {
  return [
    ...edgeLanes(session, stretch),
    ...segmentLanes(session, stretch),
    ...markLane("Errors", errorMarks(session), stretch),
    ...markLane("Parameters", changeMarks(session.parameterUpdates), stretch),
  ];
}

function edgeLanes(session: SessionDetail, stretch: Stretch): Lane[] {
  return CATEGORIES.flatMap((category) => {
    const edges = session.timeline.edges.filter((edge) => categoryOf(edge.category) === category);
    const marks = edges.map(({ ts, name }) => ({ ts: momentOf(ts), kind: "edge" as const, text: edgeWords(name) }));
    return markLane(capital(category), marks, stretch);
  });
}

function categoryOf(category: string): string {
  return CATEGORIES.includes(category) ? category : "other";
}

type Told = Omit<Mark, "at" | "room">;

function errorMarks(session: SessionDetail): Told[] {
  return session.timeline.errors.map(({ ts, message, excusable }) => ({
    ts: momentOf(ts),
    kind: excusable ? "excusable" : "error",
    text: errorWords(message, excusable),
  }));
}

export function errorWords(message: string, excusable: boolean): string {
  return `${excusable ? "Excusable error" : "Error"}: ${message.trim() === "" ? "without a message" : message}`;
}

function changeMarks(updates: readonly ParameterUpdate[]): Told[] {
  return updates.map((update) => ({ ts: momentOf(update.updateTs), kind: "change", text: changeWords(update) }));
}

/** `Parameters changed: FPS 17.3 → 20.1`. */
export function changeWords({ fpsBefore, fpsAfter, jitterBefore, jitterAfter }: ParameterUpdate): string {
  const facts = [
    fpsBefore !== null || fpsAfter !== null ? `${formatFigure(fpsBefore, "")}→ ${formatFigure(fpsAfter, "FPS")}` : "",
    jitterBefore !== null || jitterAfter !== null
      ? `jitter ${formatFigure(jitterBefore, "")}→ ${formatFigure(jitterAfter, "ms")}`
      : "",
  ].filter(Boolean);
  return facts.length > 0 ? `Parameters changed: ${facts.join(", ")}` : "Parameters changed";
}

/** No lane without marks. */
function markLane(name: string, told: readonly Told[], stretch: Stretch): Lane[] {
  const placed = told
    .filter(({ ts }) => isWithin(stretch, ts))
    .map((mark) => ({ ...mark, at: placeOf(stretch, mark.ts) }))
    .sort((one, other) => one.ts - other.ts);
  const marks = placed.map((mark, index) => ({ ...mark, room: (placed[index + 1]?.at ?? 1) - mark.at }));
  return marks.length === 0 ? [] : [{ name, title: "", marks, pieces: [] }];
}

/** A lane for each orchestrator, in the order in which they came. */
function segmentLanes(session: SessionDetail, stretch: Stretch): Lane[] {
  const byAddress = new Map<string, Segment[]>();
  for (const segment of session.segments) {
    const key = segment.orchestratorAddress ?? "";
    byAddress.set(key, [...(byAddress.get(key) ?? []), segment]);
  }
  return [...byAddress].flatMap(([address, segments]) => {
    const pieces = segments.flatMap((segment) => pieceOf(segment, stretch));
    const name = address === "" ? "No orchestrator" : keyWords("orchestrator", address);
    return pieces.length === 0 ? [] : [{ name, title: address, marks: [], pieces }];
  });
}

function pieceOf(segment: Segment, stretch: Stretch): Piece[] {
  const start = momentOf(segment.segmentStartTs);
  const end = segment.segmentEndTs === null ? null : momentOf(segment.segmentEndTs);
  if (start > stretch.to || (end !== null && end < stretch.from)) return [];
  return [
    {
      from: Math.max(0, placeOf(stretch, start)),
      to: Math.min(1, placeOf(stretch, end ?? stretch.to)),
      isOpen: end === null || end > stretch.to,
      segment,
      text: segmentWords(segment),
    },
  ];
}

export function segmentWords({ segmentIndex, modelId, gpuId, orchestratorAddress }: Segment): string {
  const facts = [modelId, gpuId].filter((fact) => fact !== null && fact !== "");
  const who = orchestratorAddress === null ? "no orchestrator" : keyWords("orchestrator", orchestratorAddress);
  return `Segment ${segmentIndex + 1}: ${[who, ...facts].join(", ")}`;
}

export type CurveName = "outputFps" | "inputFps" | "jitterMs";

export interface Point {
  readonly at: number;
  readonly value: number;
}

/** A sample on each side of the stretch is kept, so that a line goes to its edge. */
export function curveOf(samples: readonly Sample[], name: CurveName, stretch: Stretch): Point[] {
  const points = samples.flatMap((sample) => {
    const value = sample[name];
    return value === null ? [] : [{ at: placeOf(stretch, momentOf(sample.ts)), value }];
  });
  points.sort((one, other) => one.at - other.at);
  const first = points.findIndex(({ at }) => at >= 0);
  const last = points.findLastIndex(({ at }) => at <= 1);
  if (first < 0 || last < 0) return [];
  return points.slice(Math.max(0, first - 1), last + 2);
}

/** A round figure that nothing is above. */
export function ceilingOf(values: readonly number[], least: number): number {
  const highest = values.reduce((one, other) => Math.max(one, other), least);
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((one) => one * power >= highest) ?? 10;
  return step * power;
}

/** An SVG path on a field of 1000 × 100 with its origin above. */
export function pathOf(points: readonly Point[], ceiling: number): string {
  return points
    .map(({ at, value }, index) => {
      const y = 100 - (Math.min(value, ceiling) / ceiling) * 100;
      return `${index === 0 ? "M" : "L"}${(at * 1000).toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
}

export interface Happening {
  readonly ts: number;
  readonly what: string;
  readonly where: string;
}

/** Everything that the drawing shows, in the order in which it happened. */
export function happeningsOf(session: SessionDetail): Happening[] {
  const { timeline, segments, parameterUpdates } = session;
  const found = [
    ...timeline.edges.map(({ ts, name, category }) => happening(ts, edgeWords(name), capital(category))),
    ...segments.map((segment) => happening(segment.segmentStartTs, segmentWords(segment), "Segment")),
    ...timeline.errors.map(({ ts, message, excusable }) => happening(ts, errorWords(message, excusable), "Error")),
    ...parameterUpdates.map((update) => happening(update.updateTs, changeWords(update), "Parameters")),
  ];
  return found.sort((one, other) => one.ts - other.ts);
}

function happening(ts: string, what: string, where: string): Happening {
  return { ts: momentOf(ts), what, where };
}

/** `+2,655 ms`, `+1:03:20`: since the session began. */
export function sinceStart(ts: number, from: number): string {
  const milliseconds = Math.max(0, ts - from);
  if (milliseconds < 10_000) return `+${milliseconds.toLocaleString("en")} ms`;
  if (milliseconds < 60_000) return `+${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.floor(milliseconds / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const clock = `${String(minutes).padStart(hours > 0 ? 2 : 1, "0")}:${String(seconds % 60).padStart(2, "0")}`;
  return `+${hours > 0 ? `${hours}:` : ""}${clock}`;
}

const TICK_STEPS_S = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400,
];

/** Round times since the session began. */
export function offsetTicks({ from, to }: Stretch, most: number): Tick[] {
  const seconds = (to - from) / 1000;
  const step = TICK_STEPS_S.find((one) => seconds / one <= most) ?? Math.ceil(seconds / most / 86_400) * 86_400;
  const count = Math.floor(seconds / step);
  return Array.from({ length: count + 1 }, (_, index) => ({
    at: (index * step) / seconds,
    text: clockWords(index * step, step),
  }));
}

/** `0`, `1.5 s`, `2:30`, `1:00:00`. */
function clockWords(seconds: number, step: number): string {
  if (seconds === 0) return "0";
  if (step < 60 && seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  return formatDuration(seconds * 1000);
}

interface MeanNames {
  readonly before: "fpsBefore" | "jitterBefore";
  readonly after: "fpsAfter" | "jitterAfter";
}

/** The mean before and after each change, each a level line as long as the time it was taken over. */
export function meansOf(updates: readonly ParameterUpdate[], stretch: Stretch, names: MeanNames): Point[][] {
  return updates.flatMap((update) => {
    const at = placeOf(stretch, momentOf(update.updateTs));
    const length = (update.windowSeconds * 1000) / (stretch.to - stretch.from);
    return [...level(at - length, at, update[names.before]), ...level(at, at + length, update[names.after])];
  });
}

function level(from: number, to: number, value: number | null): Point[][] {
  const ends = { from: Math.max(0, from), to: Math.min(1, to) };
  if (value === null || ends.from >= ends.to) return [];
  return [
    [
      { at: ends.from, value },
      { at: ends.to, value },
    ],
  ];
}
