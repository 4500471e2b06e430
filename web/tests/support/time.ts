/** A clock that moves only when somebody waits on it, or, while it is held, not even then. */
import type { Wait } from "../../src/kernel/waiting";

export class FakeTime {
  now = 0;
  readonly waits: number[] = [];

  readonly wait: Wait = (milliseconds, signal) => {
    signal?.throwIfAborted();
    this.waits.push(milliseconds);
    this.now += milliseconds;
    return this.#held ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve();
  };
  readonly #waiting: (() => void)[] = [];
  #held = false;

  hold(): void {
    this.#held = true;
  }

  /** Whoever waits has waited long enough; the next one waits again. */
  async release(): Promise<void> {
    for (const resolve of this.#waiting.splice(0)) resolve();
    await settle();
  }

  get retryPolicy() {
    return { attempts: 4, backoff: { firstMs: 100, mostMs: 1000 }, wait: this.wait, random: () => 1 };
  }
}

/** Lets everything that is ready to go on go on. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}
