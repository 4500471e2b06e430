/**
 * A video element's state as signals, so that each control follows only what it shows.
 * Invariant: times are the video's own. What lies before its first moment in the stream (the lead) does not count.
 */
import { batch, signal, type ReadonlySignal } from "@preact/signals";
import { mediaSeconds } from "./start";

export interface LiveWindow {
  readonly from: number;
  readonly to: number;
}

export interface MediaState {
  readonly paused: ReadonlySignal<boolean>;
  readonly ended: ReadonlySignal<boolean>;
  /** Wants to play and cannot yet. */
  readonly waiting: ReadonlySignal<boolean>;
  /** There is a picture to show. */
  readonly loaded: ReadonlySignal<boolean>;
  readonly seconds: ReadonlySignal<number>;
  readonly duration: ReadonlySignal<number>;
  readonly bufferedTo: ReadonlySignal<number>;
  /** What of a live stream can be played now; null for what has an end. */
  readonly window: ReadonlySignal<LiveWindow | null>;
  readonly volume: ReadonlySignal<number>;
  readonly muted: ReadonlySignal<boolean>;
  readonly hasCaptions: ReadonlySignal<boolean>;
  /** The name of those that are shown, if any. */
  readonly captions: ReadonlySignal<string | null>;
}

const EVENTS = [
  "play",
  "pause",
  "ended",
  "waiting",
  "stalled",
  "playing",
  "canplay",
  "seeking",
  "seeked",
  "timeupdate",
  "durationchange",
  "progress",
  "volumechange",
  "loadeddata",
  "emptied",
] as const;
const TRACK_EVENTS = ["addtrack", "removetrack", "change"] as const;

export function followMedia(element: HTMLVideoElement, lead: ReadonlySignal<number>, ends: AbortSignal): MediaState {
  const state = {
    paused: signal(true),
    ended: signal(false),
    waiting: signal(false),
    loaded: signal(false),
    seconds: signal(0),
    duration: signal(0),
    bufferedTo: signal(0),
    window: signal<LiveWindow | null>(null),
    volume: signal(1),
    muted: signal(false),
    hasCaptions: signal(false),
    captions: signal<string | null>(null),
  };
  const read = () =>
    batch(() => {
      state.paused.value = element.paused;
      state.ended.value = element.ended;
      state.loaded.value = element.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA;
      state.waiting.value = !element.paused && element.readyState < HTMLMediaElement.HAVE_FUTURE_DATA && !element.ended;
      const timeOf = (streamSeconds: number) => mediaSeconds(streamSeconds, lead.peek());
      state.seconds.value = timeOf(element.currentTime);
      state.duration.value = Number.isFinite(element.duration) ? timeOf(element.duration) : 0;
      state.bufferedTo.value = timeOf(bufferedTo(element));
      state.window.value = windowOf(element);
      state.volume.value = element.volume;
      state.muted.value = element.muted;
      state.hasCaptions.value = captionTracks(element).length > 0;
      state.captions.value = captionTracks(element).find(isShown)?.label ?? null;
    });
  for (const name of EVENTS) element.addEventListener(name, read, { signal: ends });
  for (const name of TRACK_EVENTS) element.textTracks.addEventListener(name, read, { signal: ends });
  read();
  return state;
}

/** The texts of the stream; what scripts keep in tracks of other kinds is not for eyes. */
export function captionTracks(element: HTMLVideoElement): readonly TextTrack[] {
  return [...element.textTracks].filter(({ kind }) => kind === "subtitles" || kind === "captions");
}

export function isShown(track: TextTrack): boolean {
  return track.mode === "showing";
}

function windowOf({ duration, seekable }: HTMLVideoElement): LiveWindow | null {
  if (duration !== Infinity || seekable.length === 0) return null;
  return { from: seekable.start(0), to: seekable.end(seekable.length - 1) };
}

/** The end of what can be played from here without waiting. */
function bufferedTo({ buffered, currentTime }: HTMLVideoElement): number {
  for (let index = 0; index < buffered.length; index += 1) {
    if (buffered.start(index) <= currentTime + 0.1 && buffered.end(index) >= currentTime) return buffered.end(index);
  }
  return currentTime;
}
