/** The queue of uploads: what was chosen, what is on its way, what an earlier visit left unfinished. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { randomId } from "../kernel/ids";
import { ProblemError, problemOf, type Problem } from "../kernel/problem";
import { waitOrWake } from "../kernel/waking";
import type { Video } from "../library/model";
import { createChecksum } from "./checksums";
import type { UploadDoor } from "./door";
import { advance, isRefusal, isUnderWay, newUpload, startable, type Step, type Upload } from "./machine";
import { Rate } from "./rate";
import { newRecord, type UploadRecord, type UploadRecords } from "./records";
import { sendFile, type Sending } from "./send";
import { Slots } from "./slots";
import { filesOfOtherTabs, holdingFile } from "./tabs";
import { putPart } from "./transfer";

const FILES_AT_ONCE = 2;
const PARTS_AT_ONCE = 3; // over all files
const REPORT_EVERY_MS = 200;
const BACKOFF = { firstMs: 1000, mostMs: 30_000 };
const ATTEMPTS = 6;
const ELSEWHERE: Problem = {
  code: "conflict",
  message: "This file is being uploaded in another tab",
  hint: "Continue there, or close that tab and try again.",
};

export interface Uploads {
  readonly queue: ReadonlySignal<readonly Upload[]>;
  add(files: readonly File[]): void;
  retry(id: string): void;
  /** Stops it and has the server forget what has arrived. */
  cancel(id: string): Promise<void>;
  dismissDone(): void;
}

export interface UploadsParts {
  readonly door: UploadDoor;
  readonly records: UploadRecords;
  readonly ends: AbortSignal;
  readonly onVideo: (video: Video) => void;
}

interface Job {
  readonly file: File | null; // null: interrupted, its file is not chosen yet
  readonly stop: AbortController;
  record: UploadRecord;
  running: Promise<void>;
}

export function createUploads({ door, records, ends, onVideo }: UploadsParts): Uploads {
  const queue = signal<readonly Upload[]>([]);
  const jobs = new Map<string, Job>();
  const slots = new Slots(PARTS_AT_ONCE);
  const checksum = createChecksum();

  function step(id: string, next: Step): void {
    queue.value = queue.peek().map((upload) => (upload.id === id ? advance(upload, next) : upload));
  }

  function put(upload: Upload, job: Job): void {
    jobs.set(upload.id, job);
    const others = queue.peek().filter(({ id }) => id !== upload.id);
    queue.value = [...others, upload];
  }

  function forget(id: string): void {
    jobs.delete(id);
    queue.value = queue.peek().filter((upload) => upload.id !== id);
  }

  function startNext(): void {
    for (const { id } of startable(queue.peek(), FILES_AT_ONCE)) {
      step(id, { kind: "started" });
      const job = jobs.get(id);
      if (job?.file) job.running = run(id, job, job.file).finally(startNext);
    }
  }

  async function run(id: string, job: Job, file: File): Promise<void> {
    try {
      const video = await holdingFile(job.record, () => sendFile(file, job.record, sendingOf(id, job)));
      if (video === null) throw new ProblemError(ELSEWHERE);
      records.drop(job.record.idempotencyKey);
      onVideo(video);
      step(id, { kind: "completed", playbackId: video.playbackId });
    } catch (error) {
      if (job.stop.signal.aborted) return; // whoever stopped it sees to the rest
      const problem = problemOf(error);
      if (isRefusal(problem)) records.drop(job.record.idempotencyKey);
      step(id, { kind: "failed", problem });
    }
  }

  function sendingOf(id: string, job: Job): Sending {
    const { signal } = job.stop;
    const rate = new Rate();
    let reportedAt = 0;
    return {
      door,
      put: putPart,
      checksum,
      slots,
      signal,
      retryPolicy: { attempts: ATTEMPTS, backoff: BACKOFF, wait: waitOrWake, random: Math.random, signal },
      newKey: randomId,
      onRecord(record) {
        if (record.idempotencyKey !== job.record.idempotencyKey) records.drop(job.record.idempotencyKey);
        job.record = record;
        records.keep(record);
      },
      onRegistered(artifactHash, video) {
        step(id, { kind: "registered", artifactHash, playbackId: video?.playbackId ?? null });
        if (video !== null) onVideo(video);
      },
      onProgress(sentBytes) {
        const now = Date.now();
        if (signal.aborted || now - reportedAt < REPORT_EVERY_MS) return;
        reportedAt = now;
        rate.add(now, sentBytes);
        step(id, { kind: "progressed", sentBytes, bytesPerSecond: rate.bytesPerSecond });
      },
      onSent: () => step(id, { kind: "sent" }),
    };
  }

  function addFile(file: File): void {
    const known = records.find(file);
    const twin = [...jobs].find(([, job]) => job.record.idempotencyKey === known?.idempotencyKey);
    const upload = queue.peek().find(({ id }) => id === twin?.[0]);
    if (upload !== undefined && isUnderWay(upload)) return; // chosen twice
    const record = known ?? newRecord(file, randomId(), Date.now());
    records.keep(record);
    put(newUpload(upload?.id ?? randomId(), file), newJob(file, record));
  }

  async function showInterrupted(): Promise<void> {
    const isElsewhere = await filesOfOtherTabs();
    for (const record of records.all()) {
      const isHere = [...jobs.values()].some((job) => job.record.idempotencyKey === record.idempotencyKey);
      if (isHere || isElsewhere(record)) continue;
      const upload = newUpload(randomId(), { name: record.fileName, size: record.size });
      put({ ...upload, phase: "interrupted", artifactHash: record.artifactHash }, newJob(null, record));
    }
  }

  void showInterrupted();
  ends.addEventListener("abort", () => jobs.forEach(({ stop }) => stop.abort())); // the records stay: it can go on later
  return {
    queue,
    add(files) {
      files.forEach(addFile);
      startNext();
    },
    retry(id) {
      step(id, { kind: "queued" });
      startNext();
    },
    async cancel(id) {
      const job = jobs.get(id);
      if (job === undefined) return;
      step(id, { kind: "cancelled" });
      job.stop.abort();
      await job.running; // it may just be learning what there is to abandon
      await abandon(door, job.record);
      records.drop(job.record.idempotencyKey);
      forget(id);
      startNext();
    },
    dismissDone: () =>
      queue
        .peek()
        .filter(({ phase }) => phase === "done")
        .forEach(({ id }) => forget(id)),
  };
}

function newJob(file: File | null, record: UploadRecord): Job {
  return { file, record, stop: new AbortController(), running: Promise.resolve() };
}

/** Tried once: what cannot be aborted now, the server gives up by itself after a while. */
async function abandon(door: UploadDoor, { artifactHash }: UploadRecord): Promise<void> {
  if (artifactHash !== null) await door.abort(artifactHash).catch(() => undefined);
}
