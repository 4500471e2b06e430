/** Waiting, and waiting longer each time. */

export type Wait = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

export const wait: Wait = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", onAbort, { once: true });
  });

export interface Backoff {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** Doubles with each attempt (1, 2, …); the random half keeps many browsers from coming back at the same moment. */
export function delayBefore(attempt: number, { firstMs, mostMs }: Backoff, random: () => number): number {
  const whole = Math.min(mostMs, firstMs * 2 ** Math.min(attempt - 1, 20));
  return Math.round(whole / 2 + (random() * whole) / 2);
}
