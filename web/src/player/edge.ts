/** How far a player is behind what happens now in a live stream. Pure. */
import { formatDuration, speakDuration } from "../kernel/format";
import type { LiveWindow } from "./media";

/** Players keep so far from the end that a part which comes late does not stop the picture. */
const MARGIN_SECONDS = 2;
const NEAR_SECONDS = 8;

export function behindLive({ to }: LiveWindow, seconds: number): number {
  return Math.max(0, to - seconds);
}

export function isAtEdge(behind: number): boolean {
  return behind <= NEAR_SECONDS;
}

/** Where what happens now is played from. */
export function edgeOf({ from, to }: LiveWindow): number {
  return Math.max(from, to - MARGIN_SECONDS);
}

/** `2 s behind`, `1:05 behind`. */
export function behindWords(behind: number): string {
  return behind < 60 ? `${Math.round(behind)} s behind` : `${formatDuration(behind * 1000)} behind`;
}

export function behindSpoken(behind: number): string {
  return isAtEdge(behind) ? "Live" : `${speakDuration(behind * 1000)} behind live`;
}
