/** Samples of the queue over the last hours, read again every minute: that is how often is sampled. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { JobDepthDocument } from "../api/generated";
import { problemOf, type Problem } from "../kernel/problem";
import type { Wait } from "../kernel/waiting";
import type { JobDepth } from "./model";

export interface DepthReader {
  readonly depth: ReadonlySignal<JobDepth | null>;
  readonly problem: ReadonlySignal<Problem | null>;
}

const EVERY_MS = 60_000;

export function readDepth(request: Request, hours: number, wait: Wait, ends: AbortSignal): DepthReader {
  const depth = signal<JobDepth | null>(null);
  const problem = signal<Problem | null>(null);

  async function run(): Promise<void> {
    while (!ends.aborted) {
      try {
        depth.value = (await request(JobDepthDocument, { hours })).jobDepth;
        problem.value = null;
      } catch (error) {
        problem.value = problemOf(error); // what was read before is still shown
      }
      await wait(EVERY_MS, ends);
    }
  }

  run().catch(() => undefined); // only the end of the page interrupts it
  return { depth, problem };
}
