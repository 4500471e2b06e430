import { useSignal } from "@preact/signals";
import { spanWords, timeTicks } from "./buckets";
import { Columns } from "./Columns";
import { Legend } from "./Legend";
import type { Bucket, Question } from "./model";
import { bucketPath, outcomeLegend, outcomeWords, partsOf, startOf, type Part } from "./series";
import { Stack } from "./Stack";
import { ceilingOf } from "./drawing";
import { formatCount } from "./words";

interface OutcomeChartProps {
  readonly buckets: readonly Bucket[];
  readonly question: Question;
  readonly ticks: number;
}

/** How sessions began, over time. */
export function OutcomeChart({ buckets, question, ticks }: OutcomeChartProps) {
  const pointed = useSignal<number | null>(null);
  const highest = ceilingOf(
    buckets.map(({ sessions }) => sessions),
    4,
  );
  const bucket = pointed.value === null ? undefined : buckets[pointed.value];
  return (
    <>
      <Columns
        label="Outcome over time"
        columns={buckets.map((one) => ({
          key: one.start,
          to: bucketPath(question, one),
          label: outcomeWords(one),
          content: <Stack share={one.sessions / highest} parts={partsOf(one)} />,
        }))}
        ticks={bucketTicks(buckets, ticks)}
        scale={[formatCount(highest), formatCount(highest / 2), "0"]}
        onPoint={(index) => (pointed.value = index)}
      />
      <Legend
        of={bucket ? spanWords(startOf(bucket), bucket.seconds) : "In total"}
        entries={outcomeLegend(bucket ? partsOf(bucket) : totalsOf(buckets))}
      />
    </>
  );
}

function totalsOf(buckets: readonly Bucket[]): Part[] {
  const sum = (name: "success" | "excused" | "unexcused" | "running" | "cancelled" | "notInDenominator") =>
    buckets.reduce((total, bucket) => total + bucket[name], 0);
  return [
    ["success", sum("success")],
    ["excused", sum("excused")],
    ["unexcused", sum("unexcused")],
    ["running", sum("running")],
    ["cancelled", sum("cancelled")],
    ["uncounted", sum("notInDenominator")],
  ];
}

/** From the start of the first to the end of the last. */
export function bucketTicks(buckets: readonly { readonly start: string; readonly seconds: number }[], most: number) {
  const first = buckets[0];
  const last = buckets.at(-1);
  if (first === undefined || last === undefined) return [];
  return timeTicks(startOf(first), startOf(last) + last.seconds * 1000, most);
}
