import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { useWorkspace } from "../app/workspace";
import { Choice } from "../design/Choice";
import { ProblemText } from "../design/Phrase";
import { wait } from "../kernel/waiting";
import { readDepth } from "./depth";
import styles from "./DepthCard.module.css";
import { DepthChart } from "./DepthChart";
import { chartOf, isQuiet, METRICS, type Metric } from "./series";

const NAMES: Record<Metric, string> = { queued: "Waiting", processing: "Running", oldestSeconds: "Age" };
const MEANINGS: Record<Metric, string> = {
  queued: "Waiting jobs",
  processing: "Running jobs",
  oldestSeconds: "Age of the oldest job that is due",
};
const SPANS = [1, 6, 24] as const;

/** Queue length and age over time. */
export function DepthCard({ jobType }: { readonly jobType: string | null }) {
  const { request } = useWorkspace();
  const metric = useSignal<Metric>("queued");
  const hours = useSignal<number>(1);
  const { reader, life } = useMemo(() => {
    const life = new AbortController();
    return { reader: readDepth(request, hours.value, wait, life.signal), life };
  }, [hours.value]);
  useEffect(() => () => life.abort(), [life]);
  return (
    <section class={styles.card} aria-label="Queue length and age over time">
      <div class={styles.head}>
        <Choice
          label="Figure"
          options={METRICS}
          chosen={metric.value}
          name={(one) => NAMES[one]}
          onChoose={(one) => (metric.value = one)}
        />
        <Choice
          label="Time range"
          options={SPANS}
          chosen={hours.value}
          name={(one) => `${one} h`}
          onChoose={(one) => (hours.value = one)}
        />
      </div>
      <Plot reader={reader} metric={metric.value} jobType={jobType} />
    </section>
  );
}

interface PlotProps {
  readonly reader: ReturnType<typeof readDepth>;
  readonly metric: Metric;
  readonly jobType: string | null;
}

function Plot({ reader, metric, jobType }: PlotProps) {
  const depth = reader.depth.value;
  const problem = reader.problem.value;
  const chart = useMemo(() => {
    if (depth === null) return null;
    return chartOf(
      { ...depth, types: depth.types.filter((one) => jobType === null || one.jobType === jobType) },
      metric,
    );
  }, [depth, metric, jobType]);
  if (chart === null && problem !== null)
    return (
      <p class={styles.quiet} role="alert">
        <ProblemText problem={problem} />
      </p>
    );
  if (chart === null) return <div class={styles.blank} role="status" aria-label="Loading the chart" />;
  if (isQuiet(chart)) return <p class={styles.quiet}>{`${MEANINGS[metric]}: none in this time.`}</p>;
  return <DepthChart chart={chart} metric={metric} label={MEANINGS[metric]} />;
}
