import { SessionOverviewDocument, type SessionOverviewQuery } from "../api/generated";
import { PageTitle } from "../app/PageTitle";
import { ProblemNotice } from "../design/Notice";
import { filterOf, questionOf, sessionsPath } from "./address";
import { BreakdownCard } from "./BreakdownCard";
import { bucketSeconds } from "./buckets";
import { ChartBlank, ChartCard } from "./ChartCard";
import { DistributionCard } from "./DistributionCard";
import { FilterBar } from "./FilterBar";
import { Headline } from "./Headline";
import { IntakeView } from "./IntakeView";
import { LatencyChart } from "./LatencyChart";
import { LeadersCard } from "./LeadersCard";
import type { Question } from "./model";
import { NoSessions } from "./NoSessions";
import { OutcomeChart } from "./OutcomeChart";
import { SessionRows } from "./SessionRows";
import styles from "./SessionsPage.module.css";
import { useReading } from "./useReading";
import { useTicks } from "./useTicks";

export function SessionsPage({ query }: { readonly query: string }) {
  const question = questionOf(query);
  return (
    <>
      <PageTitle name="Sessions" class={styles.title} />
      <FilterBar question={question} />
      <View question={question} />
    </>
  );
}

function View({ question }: { readonly question: Question }) {
  switch (question.view) {
    case "overview":
      return <Overview question={question} />;
    case "rows":
      return <SessionRows question={question} />;
    case "intake":
      return <IntakeView question={question} />;
  }
}

/** Everything but the figures waits until it is known that there are sessions. */
function Overview({ question }: { readonly question: Question }) {
  const reading = useReading(
    (request) => {
      const now = Date.now();
      return request(SessionOverviewDocument, {
        filter: filterOf(question, now),
        bucketSeconds: bucketSeconds(question.range, now),
      });
    },
    [sessionsPath(question)],
  );
  const facts = reading.answer.value;
  const problem = reading.problem.value;
  if (facts === null && problem !== null)
    return <ProblemNotice problem={problem} onRetry={() => void reading.again()} />;
  if (facts?.sessionSummary.sessions === 0) return <NoSessions question={question} />;
  return (
    <div class={styles.cards}>
      <div class={styles.wide}>
        <Headline summary={facts?.sessionSummary ?? null} question={question} />
      </div>
      <OverTime facts={facts} question={question} />
      {facts !== null && <Others question={question} />}
    </div>
  );
}

interface OverTimeProps {
  readonly facts: SessionOverviewQuery | null;
  readonly question: Question;
}

function OverTime({ facts, question }: OverTimeProps) {
  const ticks = useTicks(7, 4);
  const shared = { buckets: facts?.sessionSeries ?? [], question, ticks };
  return (
    <>
      <ChartCard title="Outcome over time" meaning="Whether sessions started successfully">
        {facts === null ? <ChartBlank /> : <OutcomeChart {...shared} />}
      </ChartCard>
      <ChartCard title="Startup over time" meaning="From the request to the first processed segment">
        {facts === null ? <ChartBlank /> : <LatencyChart {...shared} startup={facts.sessionSummary.startup} />}
      </ChartCard>
    </>
  );
}

function Others({ question }: { readonly question: Question }) {
  const ticks = useTicks(9, 3);
  return (
    <>
      <div class={styles.wide}>
        <DistributionCard question={question} ticks={ticks} />
      </div>
      <div class={styles.wide}>
        <BreakdownCard question={question} />
      </div>
      <div class={styles.wide}>
        <LeadersCard question={question} />
      </div>
    </>
  );
}
