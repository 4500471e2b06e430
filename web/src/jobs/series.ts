/**
 * Samples of the queue as lines of a chart. Pure.
 * Invariant: every line has a value at every time; where nothing was sampled nothing waited and nothing ran. One step
 * between two samples may have been missed by whoever samples: it is bridged.
 */
import type { JobDepth } from "./model";

export const METRICS = ["queued", "processing", "oldestSeconds"] as const;
export type Metric = (typeof METRICS)[number];

export interface Line {
  readonly jobType: string;
  readonly values: readonly number[];
  /** Now. */
  readonly last: number;
}

export interface Chart {
  /** Seconds since 1970, as uPlot counts. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
}

export function chartOf(depth: JobDepth, metric: Metric): Chart {
  const times = timesOf(depth);
  const lines = depth.types.map(({ jobType, samples }) => {
    const found = new Array<number | null>(times.length).fill(null);
    for (const sample of samples) {
      const place = placeOf(times, Date.parse(sample.sampledAt) / 1000);
      if (place !== null) found[place] = Math.max(found[place] ?? 0, sample[metric]);
    }
    const values = found.map((value, place) => value ?? bridge(found[place - 1], found[place + 1]));
    return { jobType, values, last: values.at(-1) ?? 0 };
  });
  return { times, lines };
}

/** Whole steps that are over, and now. */
function timesOf({ since, until, stepSeconds: step }: JobDepth): number[] {
  const now = Date.parse(until) / 1000;
  const times: number[] = [];
  for (let time = Math.ceil(Date.parse(since) / 1000 / step) * step; time <= now - step; time += step) times.push(time);
  return [...times, now];
}

function placeOf(times: readonly number[], at: number): number | null {
  const place = times.findLastIndex((time) => time <= at);
  return place < 0 ? null : place;
}

function bridge(before: number | null | undefined, behind: number | null | undefined): number {
  const isMissed = typeof before === "number" && typeof behind === "number";
  return isMissed ? (before + behind) / 2 : 0;
}

export function isQuiet({ lines }: Chart): boolean {
  return lines.every(({ values }) => values.every((value) => value === 0));
}
