/** One answer, read again and again while somebody looks at it. What was read is shown until there is something newer. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { problemOf, type Problem } from "../kernel/problem";
import type { Wait } from "../kernel/waiting";

export interface Reading<Answer> {
  readonly answer: ReadonlySignal<Answer | null>;
  readonly problem: ReadonlySignal<Problem | null>;
  readonly again: () => Promise<void>;
}

export interface ReadingParts {
  /** Ends early when somebody looks again. */
  readonly wait: Wait;
  readonly isWatched: () => boolean;
  readonly ends: AbortSignal;
}

const EVERY_MS = 20_000;

export function createReading<Answer>(ask: () => Promise<Answer>, parts: ReadingParts): Reading<Answer> {
  const { wait, isWatched, ends } = parts;
  const answer = signal<Answer | null>(null);
  const problem = signal<Problem | null>(null);
  let asked = 0;

  /** An answer that was overtaken by a later question is of no use. */
  async function again(): Promise<void> {
    const mine = (asked += 1);
    try {
      const given = await ask();
      if (mine !== asked) return;
      answer.value = given;
      problem.value = null;
    } catch (error) {
      if (mine === asked) problem.value = problemOf(error);
    }
  }

  async function run(): Promise<void> {
    await again();
    for (;;) {
      await wait(EVERY_MS, ends);
      if (isWatched()) await again();
    }
  }

  run().catch(() => undefined); // only the end of the page interrupts it
  return { answer, problem, again };
}
