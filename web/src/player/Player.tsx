import { useSignal, type Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "../design/Button";
import { classes } from "../design/classes";
import { Icon } from "../design/Icon";
import { ProblemText } from "../design/Phrase";
import type { Problem } from "../kernel/problem";
import { Controls } from "./Controls";
import { useIdle } from "./idle";
import { followMedia, type MediaState } from "./media";
import styles from "./Player.module.css";
import { createRemote, type Remote } from "./remote";
import { focusOf, shortcutFor } from "./shortcuts";
import { useStream, type Playable } from "./stream";

interface PlayerProps {
  readonly playback: Playable;
  /** As it is now (see `titleNow`). */
  readonly title: string;
  /** Where to begin. */
  readonly startMs: number;
  /** The signed addresses are too old: the owner fetches others, and the player goes on where it was. */
  readonly onExpired: () => void;
}

export interface Machine {
  readonly media: MediaState;
  readonly remote: Remote;
}

export function Player({ playback, title, startMs, onExpired }: PlayerProps) {
  const frame = useRef<HTMLDivElement>(null);
  const element = useRef<HTMLVideoElement>(null);
  const machine = useSignal<Machine | null>(null);
  const problem = useSignal<Problem | null>(null);
  const attempt = useSignal(0);
  const lead = useSignal(0);
  const { idle, stir } = useIdle();

  useMachine(frame, element, lead, machine);
  useStream({ element, playback, startMs, lead, problem, attempt: attempt.value, onExpired });

  return (
    <div ref={frame} class={styles.frame} onPointerMove={stir} onFocusIn={stir}>
      <video
        ref={element}
        class={styles.video}
        poster={playback.posterUrl ?? undefined}
        playsInline
        preload="auto"
        aria-label={title}
        onClick={() => machine.value?.remote.toggle()}
      />
      {problem.value && <Failure problem={problem.value} onRetry={() => (attempt.value += 1)} />}
      {machine.value && problem.value === null && (
        <Front machine={machine.value} idle={idle.value} expectedSeconds={(playback.durationMs ?? 0) / 1000} />
      )}
    </div>
  );
}

interface FrontProps {
  readonly machine: Machine;
  readonly idle: boolean;
  readonly expectedSeconds: number;
}

/** What lies over the picture, unless it plays and nobody moves. */
function Front({ machine, idle, expectedSeconds }: FrontProps) {
  const isQuiet = idle && !machine.media.paused.value;
  return (
    <div class={classes(styles.front, isQuiet && styles.quiet)}>
      <Overlay machine={machine} />
      <Controls machine={machine} expectedSeconds={expectedSeconds} />
    </div>
  );
}

function Failure({ problem, onRetry }: { readonly problem: Problem; readonly onRetry: () => void }) {
  return (
    <div class={styles.problem} role="alert">
      <p>
        <ProblemText problem={problem} />
      </p>
      <Button icon="replay" onClick={onRetry}>
        Try again
      </Button>
    </div>
  );
}

function useMachine(
  frame: RefObject<HTMLDivElement | null>,
  element: RefObject<HTMLVideoElement | null>,
  lead: Signal<number>,
  machine: Signal<Machine | null>,
): void {
  useEffect(() => {
    if (frame.current === null || element.current === null) return undefined;
    const life = new AbortController();
    const remote = createRemote(element.current, frame.current, lead);
    machine.value = { remote, media: followMedia(element.current, lead, life.signal) };
    const onKey = (event: KeyboardEvent) => {
      const hasModifier = event.altKey || event.ctrlKey || event.metaKey;
      const shortcut = shortcutFor({ key: event.key, hasModifier, focus: focusOf(event.target) });
      if (shortcut === null || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault(); // the page would scroll
      remote.press(shortcut);
    };
    addEventListener("keydown", onKey, { signal: life.signal });
    return () => life.abort();
  }, []);
}

/** In the middle of the picture: what is to be waited for, or pressed. */
function Overlay({ machine: { media, remote } }: { readonly machine: Machine }) {
  if (media.waiting.value || !media.loaded.value) {
    return <div class={styles.spinner} role="status" aria-label="Loading" />;
  }
  if (!media.paused.value) return null;
  const hasEnded = media.ended.value;
  return (
    <button
      type="button"
      class={styles.start}
      aria-label={hasEnded ? "Play again" : "Play"}
      onClick={() => remote.toggle()}
    >
      <Icon name={hasEnded ? "replay" : "play"} size={34} />
    </button>
  );
}
