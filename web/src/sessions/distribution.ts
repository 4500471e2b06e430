/** How values are spread, as bars that are equally wide however much they span. Pure. */
import { plural } from "../kernel/format";
import { latencyText, rowsOf } from "./address";
import type { Tick } from "./buckets";
import type { Bar, Metric, Percentiles, Question } from "./model";
import { formatMs } from "./words";

export interface Marker {
  readonly name: "p50" | "p90" | "p95" | "p99";
  readonly at: number;
  readonly value: number;
  /** Too near the one before for both names to stand side by side. */
  readonly isNear: boolean;
}

const NEAR = 0.08;

/** 0 to 1; null when it lies in none of them. */
export function placeOfValue(bars: readonly Bar[], value: number): number | null {
  const index = bars.findIndex(({ fromMs, toMs }) => value >= fromMs && value < toMs);
  const bar = bars[index] ?? (value === bars.at(-1)?.toMs ? bars.at(-1) : undefined);
  if (bar === undefined) return null;
  const width = Math.max(bar.toMs - bar.fromMs, Number.EPSILON);
  return ((index < 0 ? bars.length - 1 : index) + (value - bar.fromMs) / width) / bars.length;
}

export function markersOf(bars: readonly Bar[], percentiles: Percentiles): Marker[] {
  const markers: Marker[] = [];
  for (const name of ["p50", "p90", "p95", "p99"] as const) {
    const value = percentiles[name];
    const at = value === null ? null : placeOfValue(bars, value);
    if (value === null || at === null) continue;
    const before = markers.at(-1);
    markers.push({ name, at, value, isNear: before !== undefined && !before.isNear && at - before.at < NEAR });
  }
  return markers;
}

/** At the edges of bars, at most about `most`. */
export function barTicks(bars: readonly Bar[], most: number): Tick[] {
  const edges = [...bars.map(({ fromMs }) => fromMs), ...bars.slice(-1).map(({ toMs }) => toMs)];
  const step = Math.max(1, Math.ceil(edges.length / most));
  return edges.flatMap((edge, index) =>
    index % step === 0 ? [{ at: index / bars.length, text: formatMs(edge) }] : [],
  );
}

export function barPath(question: Question, metric: Metric, bar: Bar): string | null {
  if (bar.count === 0) return null;
  return rowsOf(question, { latency: latencyText({ metric, fromMs: bar.fromMs, toMs: bar.toMs }) }, "slowest");
}

export function barWords({ fromMs, toMs, count }: Bar): string {
  return `${formatMs(fromMs)} – ${formatMs(toMs)}: ${plural(count, "session")}`;
}
