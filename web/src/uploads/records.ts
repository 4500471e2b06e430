/**
 * Unfinished uploads, remembered by this browser so that they can go on after a reload.
 * Invariant: a file is the same file when name, size and time of change are; nothing of its content is stored.
 */

export interface UploadRecord {
  readonly idempotencyKey: string;
  readonly artifactHash: string | null; // null until the server has answered the first time
  readonly fileName: string;
  readonly size: number;
  readonly lastModified: number;
  readonly begunAt: number;
}

export type FileLike = Pick<File, "name" | "size" | "lastModified">;
export type RecordStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

const MOST_RECORDS = 100;
const KEPT_FOR_MS = 7 * 24 * 60 * 60 * 1000; // the server gives abandoned uploads up before that

export class UploadRecords {
  readonly #storage: RecordStorage;
  readonly #place: string;
  readonly #now: () => number;

  /** Each person has their own: another one who signs in here sees none of them. */
  constructor(storage: RecordStorage, owner: string, now: () => number) {
    this.#storage = storage;
    this.#place = `touchline.uploads.${owner}`;
    this.#now = now;
  }

  all(): UploadRecord[] {
    return this.#read().filter(({ begunAt }) => this.#now() - begunAt < KEPT_FOR_MS);
  }

  find(file: FileLike): UploadRecord | undefined {
    return this.all().find((record) => isSameFile(record, file));
  }

  /** Adds it, or replaces the one with the same key. */
  keep(record: UploadRecord): void {
    this.#write([...this.#without(record.idempotencyKey), record].slice(-MOST_RECORDS));
  }

  drop(idempotencyKey: string): void {
    this.#write(this.#without(idempotencyKey));
  }

  #without(idempotencyKey: string): UploadRecord[] {
    return this.all().filter((record) => record.idempotencyKey !== idempotencyKey);
  }

  #read(): UploadRecord[] {
    try {
      const stored: unknown = JSON.parse(this.#storage.getItem(this.#place) ?? "[]");
      return Array.isArray(stored) ? stored.filter(isRecord) : [];
    } catch {
      return []; // another version's, or storage that is switched off: uploads work, they just do not resume
    }
  }

  #write(records: readonly UploadRecord[]): void {
    try {
      if (records.length === 0) this.#storage.removeItem(this.#place);
      else this.#storage.setItem(this.#place, JSON.stringify(records));
    } catch {
      // As above: full or forbidden storage costs the resuming, not the upload.
    }
  }
}

export function newRecord(file: FileLike, idempotencyKey: string, now: number): UploadRecord {
  const { name: fileName, size, lastModified } = file;
  return { idempotencyKey, artifactHash: null, fileName, size, lastModified, begunAt: now };
}

export function isSameFile(record: UploadRecord, file: FileLike): boolean {
  return record.fileName === file.name && record.size === file.size && record.lastModified === file.lastModified;
}

function isRecord(value: unknown): value is UploadRecord {
  if (typeof value !== "object" || value === null) return false;
  const record = value as Record<string, unknown>;
  return (
    typeof record.idempotencyKey === "string" &&
    (record.artifactHash === null || typeof record.artifactHash === "string") &&
    typeof record.fileName === "string" &&
    typeof record.size === "number" &&
    typeof record.lastModified === "number" &&
    typeof record.begunAt === "number"
  );
}
