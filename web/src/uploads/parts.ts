/**
 * Sends the missing parts of one file, several at a time.
 * Invariant: each part is tried a bounded number of times; the first one that cannot be sent ends all others.
 */
import { patiently } from "../kernel/patience";
import { ProblemError, type Problem } from "../kernel/problem";
import { delayBefore } from "../kernel/waiting";
import { Addresses } from "./addresses";
import type { PartAddress } from "./door";
import { missingParts, Progress, rangeOf, type Plan } from "./plan";
import type { Sending } from "./send";

const LANES = 3;
const MOST_FAILURES = 8;
const MOST_REFUSALS = 3;

const INTERRUPTED: Problem = {
  code: "unreachable",
  message: "The connection to the object store was lost",
  hint: "Check your connection, and that the file was not moved or changed. Then try again: what has arrived is kept.",
};
const REFUSED: Problem = {
  code: "forbidden",
  message: "The object store refused the file",
  hint: "Check that this computer's clock is right, then try again.",
};
const GONE: Problem = {
  code: "not_found",
  message: "The server ended the upload",
  hint: "Try again: it starts from the beginning.",
};

export interface PlannedUpload {
  readonly artifactHash: string;
  readonly plan: Plan;
  readonly arrived: readonly number[];
  readonly addresses: readonly PartAddress[];
}

export async function sendParts(file: Blob, upload: PlannedUpload, sending: Sending): Promise<void> {
  const { artifactHash, plan, arrived } = upload;
  const queue = missingParts(plan, arrived);
  const progress = new Progress(plan, arrived);
  const failed = new AbortController();
  const lane = new Lane(file, plan, progress, {
    ...sending,
    signal: AbortSignal.any([sending.signal, failed.signal]),
    addresses: new Addresses(
      (numbers) => patiently(() => sending.door.addresses(artifactHash, numbers), sending.patience),
      queue,
      upload.addresses,
    ),
  });
  sending.onProgress(progress.sentBytes);
  try {
    await Promise.all(Array.from({ length: LANES }, () => lane.run(queue)));
  } catch (error) {
    failed.abort(error);
    throw error;
  }
}

class Lane {
  readonly #file: Blob;
  readonly #plan: Plan;
  readonly #progress: Progress;
  readonly #sending: Sending & { readonly addresses: Addresses };

  constructor(file: Blob, plan: Plan, progress: Progress, sending: Sending & { readonly addresses: Addresses }) {
    this.#file = file;
    this.#plan = plan;
    this.#progress = progress;
    this.#sending = sending;
  }

  async run(queue: number[]): Promise<void> {
    for (let number = queue.shift(); number !== undefined; number = queue.shift()) await this.#send(number);
  }

  async #send(number: number): Promise<void> {
    const { addresses, patience, signal } = this.#sending;
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
        await patience.wait(delayBefore(failures, patience.backoff, patience.random), signal);
      }
    }
  }

  /** The address is fetched when it is the part's turn, so that it is not old before it is used. */
  #put(number: number) {
    const { slots, addresses, put, signal } = this.#sending;
    return slots.run(async () => {
      signal.throwIfAborted();
      const url = await addresses.of(number);
      const { start, end } = rangeOf(this.#plan, number);
      const outcome = await put(url, this.#file.slice(start, end), (bytes) => this.#report(number, bytes), signal);
      if (outcome === "sent") {
        this.#report(number, end - start);
        addresses.done(number);
      }
      return outcome;
    });
  }

  #report(number: number, bytes: number): void {
    this.#progress.report(number, bytes);
    this.#sending.onProgress(this.#progress.sentBytes);
  }
}
