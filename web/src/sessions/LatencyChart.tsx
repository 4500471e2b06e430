import { useSignal } from "@preact/signals";
import { classes } from "../design/classes";
import { spanWords } from "./buckets";
import { Columns } from "./Columns";
import styles from "./LatencyChart.module.css";
import { Legend } from "./Legend";
import type { Bucket, Percentiles, Question } from "./model";
import { bucketTicks } from "./OutcomeChart";
import { bucketPath, latencyLegend, latencyWords, startOf } from "./series";
import { ceilingOf, pathOf, type Point } from "./drawing";
import { formatMs } from "./words";

interface LatencyChartProps {
  readonly buckets: readonly Bucket[];
  /** Of the whole range. */
  readonly startup: Percentiles;
  readonly question: Question;
  readonly ticks: number;
}

/** How long the start took, over time. A bucket leads to its rows, the slowest first. */
export function LatencyChart({ buckets, startup, question, ticks }: LatencyChartProps) {
  const pointed = useSignal<number | null>(null);
  const highest = ceilingOf(
    buckets.map(({ startupP50, startupP95 }) => Math.max(startupP50 ?? 0, startupP95 ?? 0)),
    10,
  );
  const bucket = pointed.value === null ? undefined : buckets[pointed.value];
  return (
    <>
      <Columns
        label="Startup over time"
        columns={buckets.map((one) => ({
          key: one.start,
          to: one.startupP95 === null ? null : bucketPath(question, one, "slowest"),
          label: latencyWords(one),
          content: (
            <>
              <Dot value={one.startupP50} highest={highest} look={styles.half} />
              <Dot value={one.startupP95} highest={highest} look={styles.most} />
            </>
          ),
        }))}
        ticks={bucketTicks(buckets, ticks)}
        scale={[formatMs(highest), formatMs(highest / 2), "0"]}
        onPoint={(index) => (pointed.value = index)}
      >
        <svg class={styles.lines} viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
          <path class={styles.half} d={linesOf(buckets, "startupP50", highest)} />
          <path class={styles.most} d={linesOf(buckets, "startupP95", highest)} />
        </svg>
      </Columns>
      <Legend
        of={bucket ? spanWords(startOf(bucket), bucket.seconds) : "In total"}
        entries={bucket ? latencyLegend(bucket.startupP50, bucket.startupP95) : latencyLegend(startup.p50, startup.p95)}
      />
    </>
  );
}

interface DotProps {
  readonly value: number | null;
  readonly highest: number;
  readonly look: string | undefined;
}

function Dot({ value, highest, look }: DotProps) {
  if (value === null) return null;
  return <span class={classes(styles.dot, look)} style={{ "--height": `${(value / highest) * 100}%` }} />;
}

/** A line for each run of buckets that have a value: where nothing started there is nothing to draw. */
function linesOf(buckets: readonly Bucket[], name: "startupP50" | "startupP95", highest: number): string {
  const runs: Point[][] = [[]];
  buckets.forEach((bucket, index) => {
    const value = bucket[name];
    if (value === null) runs.push([]);
    else runs.at(-1)?.push({ at: (index + 0.5) / buckets.length, value });
  });
  return runs.map((run) => pathOf(run, highest)).join("");
}
