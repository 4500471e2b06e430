import { Link } from "../app/Link";
import { navigate } from "../app/router";
import type { JobOverviewQuery } from "../api/generated";
import styles from "./FilterBar.module.css";
import { jobsPath, STATUSES, type Filters, type Status } from "./filters";
import { failedCount, JOB_TYPES, statusWords, typeWords } from "./words";

interface FilterBarProps {
  readonly filters: Filters;
  readonly facts: JobOverviewQuery | null;
}

export function FilterBar({ filters, facts }: FilterBarProps) {
  const { status, jobType } = filters;
  return (
    <div class={styles.bar}>
      <nav class={styles.states} aria-label="States">
        <Link to={jobsPath({ jobType })} class={styles.state} current={status === null}>
          Overview
        </Link>
        {STATUSES.map((one) => (
          <Link key={one} to={jobsPath({ status: one, jobType })} class={styles.state} current={status === one}>
            {statusWords(one)}
            <Count total={totalOf(facts, one)} />
          </Link>
        ))}
      </nav>
      <TypeFilter filters={filters} />
    </div>
  );
}

function Count({ total }: { readonly total: number | null }) {
  if (!total) return null;
  return <span class={styles.count}>{total >= 1000 ? "999+" : total}</span>;
}

function TypeFilter({ filters }: { readonly filters: Filters }) {
  const { status, jobType } = filters;
  const choose = (event: Event) => {
    const { value } = event.currentTarget as HTMLSelectElement;
    navigate(jobsPath({ status, jobType: value === "" ? null : value }), { replace: true });
  };
  return (
    <label class={styles.type}>
      <span class={styles.label}>Type</span>
      <select class={styles.select} value={jobType ?? ""} onChange={choose}>
        <option value="">All types</option>
        {JOB_TYPES.map((one) => (
          <option key={one} value={one}>
            {typeWords(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

function totalOf(facts: JobOverviewQuery | null, status: Status): number | null {
  if (facts === null || status === "done") return null; // nobody waits for what is done
  return status === "failed" ? failedCount(facts) : facts[status].totalCount;
}
