/** How a file is cut into parts, and which of them are still to be sent. Pure; parts are numbered from 1. */

export interface Plan {
  readonly sizeBytes: number;
  readonly partSizeBytes: number;
  readonly partCount: number;
}

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export function rangeOf(plan: Plan, number: number): ByteRange {
  const start = (number - 1) * plan.partSizeBytes;
  return { start, end: Math.min(start + plan.partSizeBytes, plan.sizeBytes) };
}

export function bytesOf(plan: Plan, number: number): number {
  const { start, end } = rangeOf(plan, number);
  return end - start;
}

export function partNumbers(plan: Plan): number[] {
  return Array.from({ length: plan.partCount }, (_, index) => index + 1);
}

/** By number, what the store or the file says of each part. */
export type Checksums = ReadonlyMap<number, string>;

/** Parts that the store lacks, or has otherwise than the file. What is not known of the file counts as the same. */
export function partsToSend(plan: Plan, arrived: Checksums, own: Checksums): number[] {
  return partNumbers(plan).filter((number) => {
    const there = arrived.get(number);
    return there === undefined || (own.get(number) ?? there) !== there;
  });
}

/** What has been sent: whole parts, and what is on its way of the others. A part that is sent again starts at 0. */
export class Progress {
  readonly #plan: Plan;
  readonly #sent = new Map<number, number>();

  constructor(plan: Plan, arrived: Iterable<number>) {
    this.#plan = plan;
    for (const number of arrived) this.finish(number);
  }

  report(number: number, bytes: number): void {
    this.#sent.set(number, Math.min(bytes, bytesOf(this.#plan, number)));
  }

  finish(number: number): void {
    this.#sent.set(number, bytesOf(this.#plan, number));
  }

  get sentBytes(): number {
    return [...this.#sent.values()].reduce((sum, bytes) => sum + bytes, 0);
  }
}
