/** Two tabs must not send the same file, and one must not call "interrupted" what the other one is sending. */
import type { UploadRecord } from "./records";

const PREFIX = "touchline-upload-";

/** Runs the work unless another tab has it; then answers null. Without locks (no https) there is nothing to ask. */
export async function holdingFile<Result>(record: UploadRecord, work: () => Promise<Result>): Promise<Result | null> {
  if (!("locks" in navigator)) return work();
  const options = { ifAvailable: true };
  return navigator.locks.request(nameOf(record), options, async (lock) => (lock === null ? null : await work()));
}

export async function filesOfOtherTabs(): Promise<(record: UploadRecord) => boolean> {
  if (!("locks" in navigator)) return () => false;
  const { held = [] } = await navigator.locks.query();
  const names = new Set(held.map(({ name }) => name));
  return (record) => names.has(nameOf(record));
}

/** Named by the file and not by the key, which changes when an upload has to begin anew. */
function nameOf({ fileName, size, lastModified }: UploadRecord): string {
  return `${PREFIX}${size}-${lastModified}-${fileName}`;
}
