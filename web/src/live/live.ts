/** The page's one live connection: how it is, and what comes over it. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Tokens } from "../api/client";
import { follow, type LiveState } from "./follow";
import { LIFECYCLE, type LifecycleEvent } from "./socket";
import { waitOrWake } from "../kernel/waking";

export interface LiveListener {
  onEvent(event: LifecycleEvent): void;
  /** What happened before cannot be told: read everything again. */
  onGap(): void;
}

export function goLive(tokens: Tokens, listener: LiveListener, ends: AbortSignal): ReadonlySignal<LiveState> {
  const state = signal<LiveState>("connecting");
  void follow<LifecycleEvent>(
    {
      ...listener,
      open: (after, handlers, until) => LIFECYCLE.open(tokens, after, handlers, until),
      onState: (next) => {
        state.value = next;
      },
      wait: waitOrWake,
      random: Math.random,
      now: Date.now,
    },
    ends,
  );
  return state;
}
