/**
 * Follows the log of changes for as long as the page is open.
 * Invariant: after an interruption it goes on behind the last event that was handed over, so nothing is missed and
 * nothing comes twice; where that is not possible it says so (`onGap`), and whoever listens reads everything again.
 */
import { delayBefore, type Wait } from "../kernel/waiting";

export type LiveState = "connecting" | "live" | "waiting";

/** Why a stream ended. `cursor-refused`: the log no longer reaches back to where we were. */
export type Ending = "closed" | "cursor-refused";

export interface StreamHandlers<Event> {
  readonly onOpen: () => void;
  readonly onEvent: (event: Event) => void;
}

export interface Follower<Event extends { readonly cursor: string }> {
  /** Opens the stream behind `after` and settles when it ends, for whatever reason. */
  open(after: string | null, handlers: StreamHandlers<Event>, signal: AbortSignal): Promise<Ending>;
  onEvent(event: Event): void;
  onState(state: LiveState): void;
  onGap(): void;
  readonly wait: Wait;
  readonly random: () => number;
  readonly now: () => number;
}

const BACKOFF = { firstMs: 500, mostMs: 30_000 };
const STEADY_AFTER_MS = 10_000;

export async function follow<Event extends { readonly cursor: string }>(
  follower: Follower<Event>,
  signal: AbortSignal,
): Promise<void> {
  let cursor = null as string | null; // changed by the handlers below, which the compiler does not see
  let failures = 0;
  while (!signal.aborted) {
    follower.onState("connecting");
    const begun = follower.now();
    const after = cursor;
    const ending: Ending = await follower.open(
      after,
      {
        onOpen() {
          follower.onState("live");
          if (after === null) follower.onGap();
        },
        onEvent(event) {
          cursor = event.cursor;
          failures = 0;
          follower.onEvent(event);
        },
      },
      signal,
    );
    if (isOver(signal)) return;
    if (ending === "cursor-refused") cursor = null;
    // A server that accepts and hangs up at once must not be asked again at once.
    failures = follower.now() - begun > STEADY_AFTER_MS ? 1 : failures + 1;
    follower.onState("waiting");
    await follower.wait(delayBefore(failures, BACKOFF, follower.random), signal).catch(() => undefined);
  }
}

/** Asked anew after an await, where the compiler believes the old answer. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}
