/** One job with all that is known of it, read again whenever something happens to it. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { JobDocument } from "../api/generated";
import { problemOf, type Problem } from "../kernel/problem";
import { createRefresh } from "../kernel/refresh";
import { wait } from "../kernel/waiting";
import type { JobListener } from "../live/feed";
import type { Job, JobDetail } from "./model";
import { applyChange, jobOf } from "./rules";

export type Shown = Job & JobDetail;

export type DetailState =
  | { readonly kind: "loading" }
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly problem: Problem }
  | { readonly kind: "shown"; readonly job: Shown };

export interface Detail extends JobListener {
  readonly state: ReadonlySignal<DetailState>;
  readonly load: () => Promise<void>;
  readonly refresh: () => void;
}

export function createDetail(request: Request, jobId: string, ends: AbortSignal): Detail {
  const state = signal<DetailState>({ kind: "loading" });

  async function read(): Promise<void> {
    const { job } = await request(JobDocument, { id: jobId });
    state.value = job === null ? { kind: "missing" } : { kind: "shown", job: { ...job, ...jobOf(job, Date.now()) } };
  }

  const refresh = createRefresh({ read, wait, ends });

  return {
    state,
    refresh,
    async load() {
      try {
        await read();
      } catch (error) {
        state.value = { kind: "failed", problem: problemOf(error) };
      }
    },
    onEvent({ job: change, occurredAt }) {
      const known = state.peek();
      if (change?.jobId !== jobId || known.kind !== "shown") return;
      const next = applyChange(known.job, { change, occurredAt, now: Date.now() });
      if (next !== known.job) state.value = { kind: "shown", job: { ...known.job, ...next } };
      if (change.revision !== null) refresh(); // its history has one more step
    },
    onGap: refresh,
  };
}
