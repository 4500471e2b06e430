/** How fast bytes go out, over the last seconds: steady enough to read, quick enough to be true. */

const WINDOW_MS = 8_000;
const SHORTEST_MS = 1_000;

interface Sample {
  readonly at: number;
  readonly bytes: number;
}

export class Rate {
  #samples: Sample[] = [];

  add(at: number, bytes: number): void {
    const last = this.#samples.at(-1);
    // A part that is sent again takes its bytes back: then the past says nothing about the speed.
    if (last !== undefined && bytes < last.bytes) this.#samples = [];
    this.#samples = [...this.#samples.filter((sample) => at - sample.at <= WINDOW_MS), { at, bytes }];
  }

  /** Null until there is enough to tell. */
  get bytesPerSecond(): number | null {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.at - first.at < SHORTEST_MS) return null;
    return ((last.bytes - first.bytes) / (last.at - first.at)) * 1000;
  }
}
