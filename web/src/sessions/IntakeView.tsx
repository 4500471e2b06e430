import { useSignal } from "@preact/signals";
import { IngestQualityDocument } from "../api/generated";
import { Link } from "../app/Link";
import { ProblemNotice } from "../design/Notice";
import { SkeletonRows } from "../design/SkeletonRows";
import { askedRange, sessionsPath, withFilters } from "./address";
import { spanWords } from "./buckets";
import { ChartBlank, ChartCard } from "./ChartCard";
import { Columns } from "./Columns";
import { BECAME, BECAME_MEANINGS, BECAME_NAMES, intakeLegend, intakeParts, intakePath, intakeWords } from "./intake";
import styles from "./IntakeView.module.css";
import { Legend } from "./Legend";
import type { Intake, Question } from "./model";
import { bucketTicks } from "./OutcomeChart";
import { Quarantine } from "./Quarantine";
import { startOf } from "./series";
import { Stack } from "./Stack";
import { ceilingOf } from "./drawing";
import { useReading } from "./useReading";
import { useTicks } from "./useTicks";
import { formatCount, formatShare, reasonWords } from "./words";

/** Events that came in: how many, what became of them, and those that could not be read. */
export function IntakeView({ question }: { readonly question: Question }) {
  const reading = useReading(
    (request) => request(IngestQualityDocument, askedRange(question.range, Date.now())),
    [sessionsPath(question)],
  );
  const intake = reading.answer.value?.ingestQuality ?? null;
  const problem = reading.problem.value;
  if (intake === null && problem !== null)
    return <ProblemNotice problem={problem} onRetry={() => void reading.again()} />;
  if (intake === null) return <SkeletonRows count={4} label="Loading events" />;
  return (
    <div class={styles.cards}>
      <Sum intake={intake} />
      <ChartCard title="Events over time" meaning="By time of arrival">
        {intake.raw === 0 ? (
          <ChartBlank>No events were received in this time range.</ChartBlank>
        ) : (
          <Chart intake={intake} question={question} />
        )}
      </ChartCard>
      {intake.reasons.length > 0 && <Reasons intake={intake} question={question} />}
      <Quarantine reason={question.filters.reason ?? null} />
    </div>
  );
}

/** Raw is the sum of the others, and is seen to be. */
function Sum({ intake }: { readonly intake: Intake }) {
  return (
    <dl class={styles.sum} aria-label="Events">
      <div class={styles.raw}>
        <dt>Raw</dt>
        <dd>{formatCount(intake.raw)}</dd>
        <dd class={styles.note}>all received</dd>
      </div>
      {BECAME.map((name, index) => (
        <div key={name} class={index === 0 ? styles.equals : styles.plus}>
          <dt>{BECAME_NAMES[name]}</dt>
          <dd>{formatCount(intake[name])}</dd>
          <dd class={styles.note}>{BECAME_MEANINGS[name]}</dd>
        </div>
      ))}
    </dl>
  );
}

function Chart({ intake, question }: { readonly intake: Intake; readonly question: Question }) {
  const pointed = useSignal<number | null>(null);
  const ticks = useTicks(9, 4);
  const { series } = intake;
  const highest = ceilingOf(
    series.map(({ raw }) => raw),
    4,
  );
  const bucket = pointed.value === null ? undefined : series[pointed.value];
  return (
    <>
      <Columns
        label="Events over time"
        columns={series.map((one) => ({
          key: one.start,
          to: intakePath(question, one),
          label: intakeWords(one),
          content: <Stack share={one.raw / highest} parts={intakeParts(one)} />,
        }))}
        ticks={bucketTicks(series, ticks)}
        scale={[formatCount(highest), formatCount(highest / 2), "0"]}
        onPoint={(index) => (pointed.value = index)}
      />
      <Legend
        of={bucket ? spanWords(startOf(bucket), bucket.seconds) : "In total"}
        entries={intakeLegend(bucket ?? intake)}
      />
    </>
  );
}

/** A reason leads to the events that were set aside for it. */
function Reasons({ intake, question }: { readonly intake: Intake; readonly question: Question }) {
  const most = Math.max(1, ...intake.reasons.map(({ count }) => count));
  return (
    <ChartCard title="Why events were quarantined">
      <ul class={styles.reasons}>
        {intake.reasons.map(({ reason, count }) => (
          <li key={reason} class={styles.reason}>
            <Link to={sessionsPath(withFilters(question, { reason }))} class={styles.name}>
              {reasonWords(reason)}
            </Link>
            <Stack across share={count / most} parts={[["unexcused", count]]} />
            <strong>{formatCount(count)}</strong>
            <span class={styles.note}>{formatShare(count, intake.raw)}</span>
          </li>
        ))}
      </ul>
    </ChartCard>
  );
}
