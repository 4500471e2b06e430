/**
 * Reads something again when it is wanted: the first time soon, then not more often than every one and a half seconds,
 * however many wishes there are. Never two readings at once.
 */
import type { Wait } from "./waiting";

export interface RefreshParts {
  readonly read: () => Promise<void>;
  readonly wait: Wait;
  readonly ends: AbortSignal;
}

const GATHER_MS = 300;
const PAUSE_MS = 1500;

export function createRefresh({ read, wait, ends }: RefreshParts): () => void {
  let state: "idle" | "gathering" | "reading" | "wanted" = "idle";

  async function run(): Promise<void> {
    state = "gathering";
    await wait(GATHER_MS, ends);
    do {
      state = "reading";
      await read().catch(() => undefined); // what is shown stays; the next wish reads again
      await wait(PAUSE_MS, ends);
    } while (isWanted());
    state = "idle";
  }

  /** Asked anew after an await, where the compiler believes the old answer. */
  function isWanted(): boolean {
    return state === "wanted";
  }

  return () => {
    if (state === "reading") state = "wanted";
    else if (state === "idle") run().catch(() => undefined); // only the end of the page interrupts it
  };
}
