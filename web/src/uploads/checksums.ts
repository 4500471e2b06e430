/** Checksums of parts, computed by a worker while they are sent. The object store names a part by the same one. */
import type { ChecksumAnswer, ChecksumRequest } from "./md5.worker";

/** Null when the bytes cannot be read. */
export type Checksum = (bytes: Blob) => Promise<string | null>;

/** The worker is started with the first part, and again when it died: then its answers are missing. */
export function createChecksum(): Checksum {
  const waiting = new Map<number, (checksum: string | null) => void>();
  let worker: Worker | null = null;
  let asked = 0;

  function start(): Worker {
    const started = new Worker(new URL("./md5.worker.ts", import.meta.url), { type: "module" });
    started.onmessage = ({ data: { id, checksum } }: MessageEvent<ChecksumAnswer>) => {
      waiting.get(id)?.(checksum);
      waiting.delete(id);
    };
    started.onerror = () => {
      worker = null;
      started.terminate();
      for (const answer of waiting.values()) answer(null);
      waiting.clear();
    };
    return started;
  }

  return (bytes) =>
    new Promise((resolve) => {
      worker ??= start();
      asked += 1;
      waiting.set(asked, resolve);
      worker.postMessage({ id: asked, bytes } satisfies ChecksumRequest);
    });
}
