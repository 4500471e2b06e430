/** Signed addresses of parts: asked for in batches, shared by the parts on their way, forgotten when they expire. */
import type { PartAddress } from "./door";

const BATCH = 12;

export type AskAddresses = (numbers: readonly number[]) => Promise<readonly PartAddress[]>;

export class Addresses {
  readonly #ask: AskAddresses;
  readonly #urls: Map<number, string>;
  readonly #wanted: Set<number>;
  #asking: Promise<readonly PartAddress[]> | null = null;

  /** `wanted`: all parts that will be sent, in order, so that one question serves the next ones too. */
  constructor(ask: AskAddresses, wanted: readonly number[], known: readonly PartAddress[]) {
    this.#ask = ask;
    this.#wanted = new Set(wanted);
    this.#urls = new Map(known.map(({ number, url }) => [number, url]));
  }

  async of(number: number): Promise<string> {
    // Somebody else's question may be under way; its answer may or may not have what is wanted here.
    if (this.#asking !== null) await this.#asking;
    const url = this.#urls.get(number) ?? (await this.#askFrom(number));
    if (url === undefined) throw new Error(`no address came for part ${number}`);
    return url;
  }

  /** It has arrived: nobody will ask for it again. */
  done(number: number): void {
    this.#wanted.delete(number);
  }

  /** They were made together, so they expire together. */
  forget(): void {
    this.#urls.clear();
  }

  async #askFrom(number: number): Promise<string | undefined> {
    const next = [...this.#wanted].filter((other) => other > number && !this.#urls.has(other));
    const asking = this.#ask([number, ...next].slice(0, BATCH));
    this.#asking = asking;
    try {
      const parts = await asking;
      for (const part of parts) this.#urls.set(part.number, part.url);
      // Not read back from the map: another part may have found its address expired meanwhile.
      return parts.find((part) => part.number === number)?.url;
    } finally {
      if (this.#asking === asking) this.#asking = null;
    }
  }
}
