/**
 * One file from the disk to a stored video, begun anew or continued.
 * Invariant: every step may be repeated. What the server has is asked, not remembered.
 */
import type { Video } from "../library/model";
import { withRetries, type RetryPolicy } from "../kernel/retry";
import { hasCode, isTransient, problemOf } from "../kernel/problem";
import type { UploadDoor } from "./door";
import type { Checksum } from "./checksums";
import { partNumbers, partsToSend, type Plan } from "./plan";
import { sendParts, type PlannedUpload } from "./parts";
import type { FileLike, UploadRecord } from "./records";
import type { Slots } from "./slots";
import type { PutPart } from "./transfer";

export interface Sending {
  readonly door: UploadDoor;
  readonly put: PutPart;
  readonly checksum: Checksum;
  readonly slots: Slots;
  readonly retryPolicy: RetryPolicy;
  readonly signal: AbortSignal;
  readonly newKey: () => string;
  onRecord(record: UploadRecord): void;
  onRegistered(artifactHash: string, video: Video | null): void;
  onProgress(sentBytes: number): void;
  onSent(): void;
}

export type SendableFile = Blob & FileLike & { readonly type: string };

const MOST_ROUNDS = 3;
/** States of a video whose file has arrived as a whole. */
const STORED = new Set(["completing", "processing", "ready"]);

export async function sendFile(file: SendableFile, record: UploadRecord, sending: Sending): Promise<Video> {
  let upload = await begin(file, record, sending);
  for (let round = 1; !("stored" in upload); round += 1) {
    const { artifactHash, plan, checksums } = upload;
    await sendParts(file, upload, sending);
    sending.onSent();
    try {
      const own = partNumbers(plan).map((number) => checksums.get(number) ?? "");
      return await withRetries(() => sending.door.complete(artifactHash, own), sending.retryPolicy);
    } catch (error) {
      sending.signal.throwIfAborted();
      const mended = round < MOST_ROUNDS ? await mend(upload, error, sending) : null;
      if (mended === null) throw error;
      upload = mended;
    }
  }
  return upload.stored;
}

interface Stored {
  readonly artifactHash: string;
  readonly stored: Video;
}

async function begin(file: SendableFile, record: UploadRecord, sending: Sending): Promise<PlannedUpload | Stored> {
  if (record.artifactHash === null) return create(file, record, sending);
  sending.onRegistered(record.artifactHash, null);
  const known = await look(record.artifactHash, file.size, sending);
  if (known !== null) return known;
  // Given up by the server: the old key would only lead back to it.
  return create(file, { ...record, artifactHash: null, idempotencyKey: sending.newKey() }, sending);
}

async function create(file: SendableFile, record: UploadRecord, sending: Sending): Promise<PlannedUpload | Stored> {
  sending.onRecord(record);
  const { idempotencyKey } = record;
  const asked = { idempotencyKey, fileName: file.name, sizeBytes: file.size, contentType: file.type || null };
  const { vod, parts, ...sizes } = await withRetries(() => sending.door.create(asked), sending.retryPolicy);
  sending.onRecord({ ...record, artifactHash: vod.artifactHash });
  sending.onRegistered(vod.artifactHash, vod);
  if (isStored(vod)) return { artifactHash: vod.artifactHash, stored: vod };
  return planned(vod.artifactHash, planOf(file.size, sizes), { addresses: parts });
}

/** What the server has of it: the whole file, some parts, or nothing (null). */
async function look(artifactHash: string, sizeBytes: number, sending: Sending): Promise<PlannedUpload | Stored | null> {
  const video = await withRetries(() => sending.door.find(artifactHash), sending.retryPolicy);
  if (video !== null && isStored(video)) return { artifactHash, stored: video };
  return lookForParts(artifactHash, sizeBytes, sending);
}

async function lookForParts(artifactHash: string, sizeBytes: number, sending: Sending): Promise<PlannedUpload | null> {
  const known = await withRetries(() => sending.door.arrived(artifactHash), sending.retryPolicy);
  if (known === null) return null;
  const arrived = new Map(known.arrived.map((number, index) => [number, known.checksums[index] ?? ""]));
  return planned(artifactHash, planOf(sizeBytes, known), { arrived });
}

/**
 * How to go on when "complete" has failed, or null. Its answer may have been lost on the way, or parts may be missing or
 * damaged that were sent. A file that was refused takes no parts any more.
 */
async function mend(upload: PlannedUpload, failure: unknown, sending: Sending): Promise<PlannedUpload | Stored | null> {
  const ask = isTransient(problemOf(failure)) ? look : lookForParts;
  try {
    const known = await ask(upload.artifactHash, upload.plan.sizeBytes, sending);
    if (known === null || "stored" in known) return known;
    const { checksums } = upload;
    return partsToSend(known.plan, known.arrived, checksums).length > 0 ? { ...known, checksums } : null;
  } catch (error) {
    if (hasCode(error, "unauthenticated")) throw error;
    return null; // the failure that brought us here says more
  }
}

function isStored(video: Video): boolean {
  return video.status !== null && STORED.has(video.status);
}

function planned(artifactHash: string, plan: Plan, known: Partial<PlannedUpload>): PlannedUpload {
  return { artifactHash, plan, arrived: new Map(), checksums: new Map(), addresses: [], ...known };
}

function planOf(sizeBytes: number, { partSizeBytes, partCount }: Omit<Plan, "sizeBytes">): Plan {
  return { sizeBytes, partSizeBytes, partCount };
}
