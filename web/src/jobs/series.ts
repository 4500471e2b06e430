/**
 * Samples of the queue as lines of a chart. Pure.
 * Invariant: every line has a value at every time; where nothing was sampled nothing waited and nothing ran.
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
  const step = depth.stepSeconds;
  const until = Date.parse(depth.until) / 1000;
  const first = Math.ceil(Date.parse(depth.since) / 1000 / step) * step;
  const times: number[] = [];
  for (let time = first; time < until; time += step) times.push(time);
  times.push(until);
  const lines = depth.types.map(({ jobType, samples }) => {
    const values = new Array<number>(times.length).fill(0);
    for (const sample of samples) {
      const at = Date.parse(sample.sampledAt) / 1000;
      const isNow = at >= until;
      const place = isNow ? times.length - 1 : Math.floor((at - first) / step);
      if (place >= 0 && place < times.length) values[place] = Math.max(values[place] ?? 0, sample[metric]);
    }
    return { jobType, values, last: values.at(-1) ?? 0 };
  });
  return { times, lines };
}

export function isQuiet({ lines }: Chart): boolean {
  return lines.every(({ values }) => values.every((value) => value === 0));
}
