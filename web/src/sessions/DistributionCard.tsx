import { useSignal } from "@preact/signals";
import { SessionDistributionDocument } from "../api/generated";
import { Choice } from "../design/Choice";
import { classes } from "../design/classes";
import { plural } from "../kernel/format";
import { filterOf, METRIC_NAMES, sessionsPath } from "./address";
import { ChartBlank, ChartCard } from "./ChartCard";
import { shownMetric } from "./choices";
import { Columns } from "./Columns";
import { barPath, barTicks, barWords, markersOf } from "./distribution";
import styles from "./DistributionCard.module.css";
import { METRICS, type Distribution, type Metric, type Question } from "./model";
import { Stack } from "./Stack";
import { ceilingOf } from "./drawing";
import { useReading } from "./useReading";
import { formatCount, formatMs, METRIC_LABELS, METRIC_MEANINGS, SHARES } from "./words";

/** The distribution of one latency. A bar leads to its rows. */
export function DistributionCard({ question, ticks }: { readonly question: Question; readonly ticks: number }) {
  const metric = shownMetric.value;
  const reading = useReading(
    (request) =>
      request(SessionDistributionDocument, {
        filter: filterOf(question, Date.now()),
        metric: METRIC_NAMES[metric],
      }),
    [sessionsPath(question), metric],
  );
  const distribution = reading.answer.value?.sessionDistribution ?? null;
  return (
    <ChartCard
      title="Latency"
      meaning={METRIC_MEANINGS[metric]}
      tools={
        <Choice
          label="Latency"
          options={METRICS}
          chosen={metric}
          name={(one) => METRIC_LABELS[one]}
          onChoose={(one) => (shownMetric.value = one)}
        />
      }
    >
      {distribution === null ? (
        <ChartBlank problem={reading.problem.value} />
      ) : (
        <Plot distribution={distribution} metric={metric} question={question} ticks={ticks} />
      )}
    </ChartCard>
  );
}

interface PlotProps {
  readonly distribution: Distribution;
  readonly metric: Metric;
  readonly question: Question;
  readonly ticks: number;
}

function Plot({ distribution, metric, question, ticks }: PlotProps) {
  const pointed = useSignal<number | null>(null);
  const { bars, percentiles } = distribution;
  if (percentiles.count === 0) return <ChartBlank>No session here has this latency.</ChartBlank>;
  const highest = ceilingOf(
    bars.map(({ count }) => count),
    4,
  );
  const bar = pointed.value === null ? undefined : bars[pointed.value];
  return (
    <div class={styles.plot}>
      <Columns
        label={`${METRIC_LABELS[metric]}: sessions by latency`}
        columns={bars.map((one) => ({
          key: one.fromMs,
          to: barPath(question, metric, one),
          label: barWords(one),
          content: <Stack share={one.count / highest} parts={[["second", one.count]]} />,
        }))}
        ticks={barTicks(bars, ticks)}
        scale={[formatCount(highest), formatCount(highest / 2), "0"]}
        onPoint={(index) => (pointed.value = index)}
      >
        {markersOf(bars, percentiles).map(({ name, at, isNear }) => (
          <span
            key={name}
            class={classes(styles.marker, isNear && styles.near)}
            style={{ "--at": `${at * 100}%` }}
            aria-hidden="true"
          >
            <span class={styles.name}>{SHARES[name]}</span>
          </span>
        ))}
      </Columns>
      <div class={styles.below}>
        <p class={styles.pointed}>{bar ? barWords(bar) : plural(percentiles.count, "session")}</p>
        <dl class={styles.figures} aria-label={`${METRIC_LABELS[metric]}: percentiles`}>
          {(["p50", "p90", "p95", "p99"] as const).map((name) => (
            <div key={name}>
              <dt>{name === "p50" ? "Median" : `${SHARES[name]} within`}</dt>
              <dd>{formatMs(percentiles[name])}</dd>
            </div>
          ))}
        </dl>
      </div>
    </div>
  );
}
