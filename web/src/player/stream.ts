/** The stream in the video element: attached again, at the same place, when its addresses expire or it fails. */
import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Problem } from "../kernel/problem";
import { problemWith } from "./problems";
import { startSeconds } from "./start";
import { attachSource, type SourceFailure } from "./source";

/** What a player needs of whatever it plays. */
export interface Playable {
  readonly manifestUrl: string;
  readonly posterUrl: string | null;
  readonly durationMs: number | null;
  /** It goes on: it begins with what happens now. */
  readonly isLive?: boolean;
}

export interface StreamUse {
  readonly element: RefObject<HTMLVideoElement | null>;
  readonly playback: Playable;
  readonly startMs: number;
  /** Told here: how many seconds of the stream lie before the video's first moment. */
  readonly lead: Signal<number>;
  readonly problem: Signal<Problem | null>;
  readonly attempt: number;
  readonly onExpired: () => void;
}

const RENEWED = new Set<SourceFailure>(["expired", "missing"]);
const EXPIRY_PAUSE_MS = 30_000;

/** Attaches the stream, again whenever its addresses are new or somebody tries again, at the place where it was. */
export function useStream({ element, playback, startMs, lead, problem, attempt, onExpired }: StreamUse): void {
  const renewedAt = useRef(-Infinity);
  const place = useRef<Place>({ seconds: startSeconds(startMs, playback.durationMs), playing: true });
  useEffect(() => {
    const video = element.current;
    if (video === null) return undefined;
    const life = new AbortController();
    const onFailure = (failure: SourceFailure) => {
      place.current = placeOf(video, lead.peek(), place.current); // taking the stream off sets it back to the beginning
      // Fresh addresses that are refused at once will be refused again.
      if (RENEWED.has(failure) && performance.now() - renewedAt.current > EXPIRY_PAUSE_MS) {
        renewedAt.current = performance.now();
        onExpired();
      } else {
        problem.value = problemWith(failure, playback.isLive ?? false);
      }
    };
    problem.value = null;
    const onLead = (seconds: number) => (lead.value = seconds);
    const { manifestUrl, isLive = false } = playback;
    const source = { manifestUrl, isLive, startAtSeconds: place.current.seconds, onLead, onFailure };
    void attachSource(video, source, life.signal);
    // Browsers that want a click first refuse to start; then there is the button.
    const start = () => void video.play().catch(() => undefined);
    if (place.current.playing) video.addEventListener("canplay", start, { signal: life.signal, once: true });
    return () => life.abort();
  }, [playback, attempt]);
}

interface Place {
  readonly seconds: number;
  readonly playing: boolean;
}

/** Before anything was loaded, the element knows nothing of where it was to begin. */
function placeOf(video: HTMLVideoElement, lead: number, otherwise: Place): Place {
  if (video.readyState === HTMLMediaElement.HAVE_NOTHING) return otherwise;
  return { seconds: Math.max(0, video.currentTime - lead), playing: !video.paused || video.played.length === 0 };
}
