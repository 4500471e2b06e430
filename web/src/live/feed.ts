/**
 * What happens to clips, jobs or matches, for the pages that show them: followed while somebody listens, and not longer.
 * Invariant: one connection, however many listen. Whoever listens first and reads afterwards misses nothing.
 */
import type { Tokens } from "../api/client";
import { waitOrWake } from "../kernel/waking";
import { follow } from "./follow";
import type { JobEvent, MatchEvent, StorageEvent, Stream } from "./socket";

export interface Listener<Event> {
  readonly onEvent: (event: Event) => void;
  /** What happened before cannot be told: read everything again. */
  readonly onGap: () => void;
}

export interface Feed<Event> {
  /** Until the answered function is called. */
  readonly listen: (listener: Listener<Event>) => () => void;
}

export type JobListener = Listener<JobEvent>;
export type MatchListener = Listener<MatchEvent>;
export type StorageListener = Listener<StorageEvent>;

export function createFeed<Event extends { readonly cursor: string }>(
  tokens: Tokens,
  ends: AbortSignal,
  stream: Stream<Event>,
): Feed<Event> {
  const listeners = new Set<Listener<Event>>();
  let open: AbortController | null = null;

  function start(): AbortController {
    const life = new AbortController();
    void follow<Event>(
      {
        open: (after, handlers, until) => stream.open(tokens, after, handlers, until),
        onEvent: (event) => listeners.forEach((listener) => listener.onEvent(event)),
        onGap: () => listeners.forEach((listener) => listener.onGap()),
        onState: () => undefined, // the page's other connection shows how it is
        wait: waitOrWake,
        random: Math.random,
        now: Date.now,
      },
      AbortSignal.any([life.signal, ends]),
    );
    return life;
  }

  return {
    listen(listener) {
      listeners.add(listener);
      open ??= start();
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        open?.abort();
        open = null;
      };
    },
  };
}
