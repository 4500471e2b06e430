/** One part, straight to the object store. XMLHttpRequest, because fetch tells nothing of what has been sent. */

/**
 * `expired`: the address is too old, another one will do. `gone`: the store does not know this upload any more.
 * `again`: nothing wrong with the request; the network or the store failed.
 */
export type PutOutcome = "sent" | "expired" | "gone" | "again";

export type PutPart = (
  url: string,
  bytes: Blob,
  onProgress: (sentBytes: number) => void,
  signal: AbortSignal,
) => Promise<PutOutcome>;

const STALLED_AFTER_MS = 60_000;

export const putPart: PutPart = (url, bytes, onProgress, signal) =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = new XMLHttpRequest();
    let stalled = setTimeout(onStalled, STALLED_AFTER_MS);
    const onAbort = () => request.abort();

    function settle(outcome: PutOutcome): void {
      clearTimeout(stalled);
      signal.removeEventListener("abort", onAbort);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve(outcome);
    }
    function onStalled(): void {
      request.abort();
    }

    signal.addEventListener("abort", onAbort, { once: true });
    request.upload.onprogress = ({ loaded }) => {
      clearTimeout(stalled);
      stalled = setTimeout(onStalled, STALLED_AFTER_MS);
      onProgress(loaded);
    };
    request.onload = () => settle(outcomeOf(request.status));
    request.onerror = () => settle("again");
    request.onabort = () => settle("again");
    request.open("PUT", url);
    request.send(bytes); // a slice has no type, so no header is sent that the signature does not cover
  });

export function outcomeOf(status: number): PutOutcome {
  if (status >= 200 && status < 300) return "sent";
  if (status === 403) return "expired";
  if (status === 404) return "gone";
  return "again";
}
