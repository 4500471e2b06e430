import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useCallback } from "preact/hooks";
import type { JobFilter } from "../api/generated";
import { Button } from "../design/Button";
import { ProblemNotice } from "../design/Notice";
import { look } from "../design/Row";
import { SkeletonRows } from "../design/SkeletonRows";
import { CancelDialog } from "./CancelDialog";
import { JobRow } from "./JobRow";
import styles from "./JobRows.module.css";
import { createJobList } from "./list";
import type { Job } from "./model";
import { useFeed } from "./useFeed";

interface JobRowsProps {
  readonly filter: JobFilter;
  readonly size: number;
  readonly empty: ComponentChildren;
}

export function JobRows({ filter, size, empty }: JobRowsProps) {
  const list = useFeed(
    (request, ends) => createJobList(request, filter, size, ends),
    [filter.status, filter.jobType, filter.errorType, size],
  );
  const doomed = useSignal<Job | null>(null);
  const askToCancel = useCallback((job: Job) => (doomed.value = job), []);
  const jobs = list.jobs.value;
  const loading = list.loading.value;
  if (loading.kind === "failed" && jobs.length === 0)
    return <ProblemNotice problem={loading.problem} onRetry={() => void list.load()} />;
  if (loading.kind === "loading" && jobs.length === 0) return <SkeletonRows count={3} label="Loading jobs" />;
  if (jobs.length === 0) return typeof empty === "string" ? <p class={styles.empty}>{empty}</p> : empty;
  return (
    <>
      <ul class={look.list}>
        {jobs.map((job) => (
          <JobRow key={job.id} job={job} onCancel={askToCancel} onAct={list.onGap} />
        ))}
      </ul>
      {list.hasMore.value && size >= 50 && (
        <div class={styles.more}>
          <Button disabled={loading.kind === "loading"} onClick={() => void list.loadMore()}>
            Show more
          </Button>
        </div>
      )}
      {doomed.value && <CancelDialog job={doomed.value} onClose={() => (doomed.value = null)} onAct={list.onGap} />}
    </>
  );
}
