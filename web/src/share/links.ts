/** The share links of one video: read once, then kept by what is done here. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import {
  CreateShareLinkDocument,
  RevokeShareLinkDocument,
  ShareLinksDocument,
  type ShareLinkFieldsFragment,
} from "../api/generated";
import { problemOf, type Problem } from "../kernel/problem";

export type ShareLink = ShareLinkFieldsFragment;

export interface ShareLinks {
  /** Null until they were read. */
  readonly links: ReadonlySignal<readonly ShareLink[] | null>;
  /** The address of the one that was made last: nobody can show it again. */
  readonly url: ReadonlySignal<string | null>;
  readonly problem: ReadonlySignal<Problem | null>;
  readonly load: () => Promise<void>;
  readonly create: (days: number) => Promise<void>;
  readonly revoke: (link: ShareLink) => Promise<void>;
}

export const LIFETIMES = [1, 7, 30, 365] as const;
const DAY_MS = 24 * 60 * 60 * 1000;
const LONGEST_DAYS = 365;

export function createShareLinks(request: Request, artifactHash: string, now: () => number): ShareLinks {
  const links = signal<readonly ShareLink[] | null>(null);
  const url = signal<string | null>(null);
  const problem = signal<Problem | null>(null);

  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      problem.value = null;
    } catch (error) {
      problem.value = problemOf(error);
    }
  }

  return {
    links,
    url,
    problem,
    load: () =>
      attempt(async () => {
        links.value = (await request(ShareLinksDocument, { artifactHash })).shareLinks;
      }),
    create: (days) =>
      attempt(async () => {
        const input = { artifactHash, expiresAt: endAfter(days, now()) };
        const made = expectAnswer(
          (await request(CreateShareLinkDocument, { input })).createShareLink,
          "CreatedShareLink",
        );
        url.value = made.url;
        links.value = [made.shareLink, ...(links.peek() ?? [])];
      }),
    revoke: (link) =>
      attempt(async () => {
        const answer = (await request(RevokeShareLinkDocument, { id: link.id })).revokeShareLink;
        const { shareLink } = expectAnswer(answer, "RevokedShareLink");
        links.value = (links.peek() ?? []).map((one) => (one.id === shareLink.id ? shareLink : one));
        if (links.peek()?.[0]?.id === link.id) url.value = null; // what is shown plays no more
      }),
  };
}

/** A minute less than the longest: this clock may be ahead of the server's. */
export function endAfter(days: number, now: number): string {
  const spare = days >= LONGEST_DAYS ? 60_000 : 0;
  return new Date(now + days * DAY_MS - spare).toISOString();
}

export type LinkState = "valid" | "expired" | "revoked";

export function stateOf({ expiresAt, revokedAt }: ShareLink, now: number): LinkState {
  if (revokedAt !== null) return "revoked";
  return Date.parse(expiresAt) <= now ? "expired" : "valid";
}
