/** A clock that moves only when somebody waits on it. */
import type { Wait } from "../../src/kernel/waiting";

export class FakeTime {
  now = 0;
  readonly waits: number[] = [];

  readonly wait: Wait = (milliseconds, signal) => {
    signal?.throwIfAborted();
    this.waits.push(milliseconds);
    this.now += milliseconds;
    return Promise.resolve();
  };

  get patience() {
    return { attempts: 4, backoff: { firstMs: 100, mostMs: 1000 }, wait: this.wait, random: () => 1 };
  }
}

/** Lets everything that is ready to go on go on. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}
