/** Where a video begins to play, and what lies before that in its stream. Pure. */

/** What lies behind the end is the beginning: an old link to a shorter video shows something. */
export function startSeconds(startMs: number, durationMs: number | null): number {
  return startMs > 0 && startMs < (durationMs ?? Infinity) ? startMs / 1000 : 0;
}

const START = /^#EXT-X-START:(?:[^\n]*,)?TIME-OFFSET=([0-9.]+)/m;

/** So many seconds of the stream lie before the first moment of the video, as the master playlist says. */
export function leadOf(playlist: string): number {
  const seconds = Number(START.exec(playlist)?.[1] ?? 0);
  return Number.isFinite(seconds) ? seconds : 0;
}

/** The time of the video at a time of its stream, in whole milliseconds, so that no fraction makes it a second less. */
export function mediaSeconds(streamSeconds: number, lead: number): number {
  return Math.max(0, Math.round((streamSeconds - lead) * 1000) / 1000);
}
