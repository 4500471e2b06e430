/** Where a video begins to play. Pure. */

/** What lies behind the end is the beginning: an old link to a shorter video shows something. */
export function startSeconds(startMs: number, durationMs: number | null): number {
  return startMs > 0 && startMs < (durationMs ?? Infinity) ? startMs / 1000 : 0;
}
