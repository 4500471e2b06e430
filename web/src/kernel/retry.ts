/** Repeats a call that failed for a passing reason; any other failure is the caller's at once. */
import { isTransient, problemOf } from "./problem";
import { delayBefore, type Backoff, type Wait } from "./waiting";

export interface RetryPolicy {
  readonly attempts: number;
  readonly backoff: Backoff;
  readonly wait: Wait;
  readonly random: () => number;
  readonly signal?: AbortSignal;
}

export async function withRetries<Result>(call: () => Promise<Result>, retryPolicy: RetryPolicy): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      retryPolicy.signal?.throwIfAborted();
      const problem = problemOf(error);
      if (!isTransient(problem) || attempt >= retryPolicy.attempts) throw error;
      const asked = (problem.retryAfterSeconds ?? 0) * 1000;
      const delay = delayBefore(attempt, retryPolicy.backoff, retryPolicy.random);
      await retryPolicy.wait(Math.max(asked, delay), retryPolicy.signal);
    }
  }
}
