/**
 * Sends the missing parts of one file, several at a time.
 * Invariant: each part is tried a bounded number of times; the first one that cannot be sent ends all others.
 */
import { withRetries } from "../kernel/retry";
import { ProblemError, type Problem } from "../kernel/problem";
import { delayBefore } from "../kernel/waiting";
import { Addresses } from "./addresses";
import type { PartAddress } from "./door";
import { partNumbers, partsToSend, Progress, rangeOf, type Checksums, type Plan } from "./plan";
import type { Sending } from "./send";
import type { PutOutcome } from "./transfer";

const PARTS_AT_ONCE = 3;
const MOST_FAILURES = 8;
const MOST_REFUSALS = 3;

const INTERRUPTED: Problem = {
  code: "unreachable",
  message: "The connection to the object store was lost",
  hint: "Check your connection, and that the file was not moved or changed. Then try again: the parts that have arrived are kept.",
};
const REFUSED: Problem = {
  code: "forbidden",
  message: "The object store refused the file",
  hint: "Check that this computer's clock is right, then try again.",
};
const GONE: Problem = {
  code: "not_found",
  message: "The server cancelled the upload",
  hint: "Try again: the upload starts from the beginning.",
};

export interface PlannedUpload {
  readonly artifactHash: string;
  readonly plan: Plan;
  readonly arrived: Checksums;
  readonly checksums: Map<number, string>; // of the file's own parts, as they become known
  readonly addresses: readonly PartAddress[];
}

export async function sendParts(file: Blob, upload: PlannedUpload, sending: Sending): Promise<void> {
  const { artifactHash, plan, arrived, checksums } = upload;
  const queue = [...partNumbers(plan)].sort((a, b) => Number(arrived.has(a)) - Number(arrived.has(b)));
  const progress = new Progress(plan, arrived.keys());
  const failed = new AbortController();
  const sender = new PartSender(file, upload, progress, {
    ...sending,
    signal: AbortSignal.any([sending.signal, failed.signal]),
    addresses: new Addresses(
      (numbers) => withRetries(() => sending.door.addresses(artifactHash, numbers), sending.retryPolicy),
      partsToSend(plan, arrived, checksums),
      upload.addresses,
    ),
  });
  sending.onProgress(progress.sentBytes);
  try {
    await Promise.all(Array.from({ length: PARTS_AT_ONCE }, () => sender.run(queue)));
  } catch (error) {
    failed.abort(error);
    throw error;
  }
}

class PartSender {
  readonly #file: Blob;
  readonly #plan: Plan;
  readonly #upload: PlannedUpload;
  readonly #progress: Progress;
  readonly #sending: Sending & { readonly addresses: Addresses };

  constructor(
    file: Blob,
    upload: PlannedUpload,
    progress: Progress,
    sending: Sending & { readonly addresses: Addresses },
  ) {
    this.#file = file;
    this.#plan = upload.plan;
    this.#upload = upload;
    this.#progress = progress;
    this.#sending = sending;
  }

  async run(queue: number[]): Promise<void> {
    for (let number = queue.shift(); number !== undefined; number = queue.shift()) {
      if (!(await this.#isThere(number))) await this.#send(number);
    }
  }

  /** What has arrived in an earlier visit must be what the file has there now. */
  async #isThere(number: number): Promise<boolean> {
    const { arrived, checksums } = this.#upload;
    const there = arrived.get(number);
    if (there === undefined) return false;
    const own = checksums.get(number) ?? (await this.#sending.checksum(this.#bytes(number)));
    this.#sending.signal.throwIfAborted();
    if (own === null) throw new ProblemError(INTERRUPTED);
    checksums.set(number, own);
    return own === there;
  }

  #bytes(number: number): Blob {
    const { start, end } = rangeOf(this.#plan, number);
    return this.#file.slice(start, end);
  }

  async #send(number: number): Promise<void> {
    const { addresses, retryPolicy, signal } = this.#sending;
    let failures = 0;
    let refusals = 0;
    for (;;) {
      const outcome = await this.#put(number);
      if (outcome === "sent") return;
      this.#report(number, 0);
      if (outcome === "gone") throw new ProblemError(GONE);
      if (outcome === "expired") {
        refusals += 1;
        if (refusals >= MOST_REFUSALS) throw new ProblemError(REFUSED);
        addresses.forget();
      } else {
        failures += 1;
        if (failures >= MOST_FAILURES) throw new ProblemError(INTERRUPTED);
        await retryPolicy.wait(delayBefore(failures, retryPolicy.backoff, retryPolicy.random), signal);
      }
    }
  }

  /** The address is fetched when it is the part's turn, so that it is not old before it is used. */
  #put(number: number): Promise<PutOutcome> {
    const { slots, addresses, put, checksum, signal } = this.#sending;
    return slots.run(async () => {
      signal.throwIfAborted();
      const url = await addresses.of(number);
      const bytes = this.#bytes(number);
      const [outcome, own] = await Promise.all([
        put(url, bytes, (sentBytes) => this.#report(number, sentBytes), signal),
        checksum(bytes),
      ]);
      if (outcome !== "sent") return outcome;
      if (own === null) return "again";
      this.#upload.checksums.set(number, own);
      this.#report(number, bytes.size);
      addresses.done(number);
      return outcome;
    });
  }

  #report(number: number, bytes: number): void {
    this.#progress.report(number, bytes);
    this.#sending.onProgress(this.#progress.sentBytes);
  }
}
