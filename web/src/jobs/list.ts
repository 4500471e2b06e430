/** One list of jobs: read by the server's order, kept current by events. Decisions are in rules.ts. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { JobsDocument, type JobFilter } from "../api/generated";
import { problemOf } from "../kernel/problem";
import { createRefresh } from "../kernel/refresh";
import { wait } from "../kernel/waiting";
import type { Loading } from "../kernel/loading";
import type { JobListener } from "../live/feed";
import type { JobEvent } from "../live/socket";
import type { Job } from "./model";
import { applyChange, jobOf, newer } from "./rules";

export interface JobList extends JobListener {
  readonly jobs: ReadonlySignal<readonly Job[]>;
  readonly totalCount: ReadonlySignal<number>;
  readonly hasMore: ReadonlySignal<boolean>;
  readonly loading: ReadonlySignal<Loading>;
  readonly load: () => Promise<void>;
  readonly loadMore: () => Promise<void>;
}

const MOST = 500;

export function createJobList(request: Request, filter: JobFilter, size: number, ends: AbortSignal): JobList {
  const jobs = signal<readonly Job[]>([]);
  const totalCount = signal(0);
  const hasMore = signal(false);
  const loading = signal<Loading>({ kind: "loading" });
  let wanted = size;

  /** All that is shown, once more: jobs come and go in the middle of it. */
  async function read(): Promise<void> {
    const page = (await request(JobsDocument, { page: { first: wanted }, filter })).jobsConnection;
    const known = new Map(jobs.peek().map((job) => [job.id, job]));
    const now = Date.now();
    jobs.value = page.edges.map(({ node }) => newer(known.get(node.id), jobOf(node, now)));
    totalCount.value = page.totalCount;
    hasMore.value = page.pageInfo.hasNextPage && wanted < MOST;
    loading.value = { kind: "idle" };
  }

  async function load(): Promise<void> {
    loading.value = { kind: "loading" };
    try {
      await read();
    } catch (error) {
      loading.value = { kind: "failed", problem: problemOf(error) };
    }
  }

  const refresh = createRefresh({ read, wait, ends });

  function belongs(change: { readonly status: string; readonly jobType: string }): boolean {
    return (filter.status ?? change.status) === change.status && (filter.jobType ?? change.jobType) === change.jobType;
  }

  return {
    jobs,
    totalCount,
    hasMore,
    loading,
    load,
    async loadMore() {
      wanted = Math.min(wanted + size, MOST);
      await load();
    },
    onEvent({ job: change, occurredAt }: JobEvent) {
      if (change === null) return;
      const known = jobs.peek().find(({ id }) => id === change.jobId);
      if (known === undefined) {
        if (belongs(change)) refresh();
        return;
      }
      const next = applyChange(known, { change, occurredAt, now: Date.now() });
      if (next === known) return;
      jobs.value = jobs.peek().map((job) => (job === known ? next : job));
      if (!belongs(next)) refresh();
    },
    onGap: refresh,
  };
}
