import { PageTitle } from "../app/PageTitle";
import { Notice, ProblemNotice } from "../design/Notice";
import { JobAlerts } from "./JobAlerts";
import { DepthCard } from "./DepthCard";
import { FailureGroups } from "./FailureGroups";
import { FilterBar } from "./FilterBar";
import { filtersOf, jobsPath, type Filters } from "./filters";
import { JobRows } from "./JobRows";
import styles from "./JobsPage.module.css";
import { createOverview, type Overview } from "./overview";
import { CANCELLED, isOnPurpose } from "./rules";
import { Section } from "./Section";
import { useFeed } from "./useFeed";
import { listTitle, summaryWords } from "./words";

const SHORT_LIST = 10;
const LONG_LIST = 50;

export function JobsPage({ query }: { readonly query: string }) {
  const filters = filtersOf(query);
  const overview = useFeed((request, ends) => createOverview(request, filters.jobType, ends), [filters.jobType]);
  return (
    <>
      <div class={styles.head}>
        <PageTitle name="Jobs" class={styles.title} />
        <Summary overview={overview} />
      </div>
      <JobAlerts alerts={overview.facts.value?.jobAlerts ?? []} />
      <FilterBar filters={filters} facts={overview.facts.value} />
      {filters.status === null ? (
        <Everything filters={filters} overview={overview} />
      ) : (
        <OneState filters={filters} overview={overview} />
      )}
    </>
  );
}

function Summary({ overview }: { readonly overview: Overview }) {
  const facts = overview.facts.value;
  return <p class={styles.summary}>{facts === null ? "\u00a0" : summaryWords(facts)}</p>;
}

interface ContentProps {
  readonly filters: Filters;
  readonly overview: Overview;
}

function Everything({ filters, overview }: ContentProps) {
  const { jobType } = filters;
  const facts = overview.facts.value;
  const loading = overview.loading.value;
  if (facts === null && loading.kind === "failed")
    return <ProblemNotice problem={loading.problem} onRetry={() => void overview.load()} />;
  const groups = facts?.jobFailures.filter((group) => jobType === null || group.jobType === jobType) ?? [];
  const [failures, cancelled] = [groups.filter((group) => !isOnPurpose(group)), groups.filter(isOnPurpose)];
  return (
    <>
      <DepthCard jobType={jobType} />
      <Section title="Running" all={jobsPath({ status: "processing", jobType })}>
        <JobRows filter={{ status: "processing", jobType }} size={SHORT_LIST} empty="No jobs are running." />
      </Section>
      {failures.length > 0 && (
        <Section title="Failed, by cause" all={jobsPath({ status: "failed", jobType })}>
          <FailureGroups failures={failures} onAct={overview.refresh} />
        </Section>
      )}
      {cancelled.length > 0 && (
        <Section title="Cancelled" all={jobsPath({ status: "failed", jobType, cause: CANCELLED })}>
          <FailureGroups failures={cancelled} onAct={overview.refresh} />
        </Section>
      )}
      <Section title="Waiting" all={jobsPath({ status: "queued", jobType })}>
        <JobRows filter={{ status: "queued", jobType }} size={SHORT_LIST} empty="No jobs are waiting." />
      </Section>
    </>
  );
}

function OneState({ filters, overview }: ContentProps) {
  const { status, jobType, cause } = filters;
  const failures =
    overview.facts.value?.jobFailures.filter(
      (group) => (jobType === null || group.jobType === jobType) && (cause === null || group.errorType === cause),
    ) ?? [];
  return (
    <>
      {status === "failed" && failures.length > 0 && (
        <Section title="By cause" all={cause === null ? null : jobsPath({ status, jobType })}>
          <FailureGroups failures={failures} onAct={overview.refresh} />
        </Section>
      )}
      <Section title={status === null ? "" : listTitle(status, cause)} all={null}>
        <JobRows
          filter={{ status, jobType, errorType: cause }}
          size={LONG_LIST}
          empty={
            <Notice icon="check" title="No jobs in this list">
              Jobs appear here as soon as their state changes.
            </Notice>
          }
        />
      </Section>
    </>
  );
}
