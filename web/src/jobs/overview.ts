/** What the page says of all jobs together: how many, what failed and why, what is beyond its threshold. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { JobOverviewDocument, type JobOverviewQuery } from "../api/generated";
import { problemOf } from "../kernel/problem";
import { createRefresh } from "../kernel/refresh";
import { wait } from "../kernel/waiting";
import type { Loading } from "../kernel/loading";
import type { JobListener } from "../live/feed";

export interface Overview extends JobListener {
  readonly facts: ReadonlySignal<JobOverviewQuery | null>;
  readonly loading: ReadonlySignal<Loading>;
  readonly load: () => Promise<void>;
  readonly refresh: () => void;
}

export function createOverview(request: Request, jobType: string | null, ends: AbortSignal): Overview {
  const facts = signal<JobOverviewQuery | null>(null);
  const loading = signal<Loading>({ kind: "loading" });

  async function read(): Promise<void> {
    facts.value = await request(JobOverviewDocument, { jobType });
    loading.value = { kind: "idle" };
  }

  const refresh = createRefresh({ read, wait, ends });

  return {
    facts,
    loading,
    refresh,
    async load() {
      loading.value = { kind: "loading" };
      try {
        await read();
      } catch (error) {
        loading.value = { kind: "failed", problem: problemOf(error) };
      }
    },
    onEvent({ job, alert }) {
      if (alert !== null || job?.revision !== null) refresh(); // progress changes none of it
    },
    onGap: refresh,
  };
}
