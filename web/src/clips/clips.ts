/**
 * The newest clips: read once, then kept current by events. Decisions are in rules.ts.
 * Invariant: bounded. The list is read again when an event speaks of more than it says itself, and, ever more rarely,
 * while what is read lags behind what was heard or a clip is still being made: nobody waits for an event that is lost.
 */
import { signal, type ReadonlySignal } from "@preact/signals";
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import { ClipsDocument, DeleteClipDocument } from "../api/generated";
import { hasCode } from "../kernel/problem";
import { createRefresh } from "../kernel/refresh";
import { delayBefore, type Wait } from "../kernel/waiting";
import type { Listener } from "../live/feed";
import type { ClipEvent } from "../live/socket";
import {
  applyEvent,
  isBehind,
  isBeingMade,
  mergePage,
  NO_CLIPS,
  withoutClip,
  withoutPoster,
  type Clip,
  type ClipPage,
} from "./rules";

export interface Clips extends Listener<ClipEvent> {
  readonly page: ReadonlySignal<ClipPage>;
  readonly load: () => Promise<void>;
  readonly remove: (clip: Clip) => Promise<void>;
  readonly posterFailed: (clip: Clip) => void;
}

export interface ClipParts {
  readonly request: Request;
  /** Null: of everything. */
  readonly streamId: string | null;
  readonly wait: Wait;
  readonly random: () => number;
  readonly ends: AbortSignal;
}

const MOST_SHOWN = 20;
const BACKOFF = { firstMs: 1000, mostMs: 15_000 };
/** What comes with these is not in the event: a title, a poster. */
const STAGES_TO_READ = new Set(["ready", "deleted"]);

export function createClips({ request, streamId, wait, random, ends }: ClipParts): Clips {
  const page = signal<ClipPage>(NO_CLIPS);
  let attempts = 0;
  let isWaiting = false;

  async function read(): Promise<void> {
    const found = await readClips(request, streamId).catch(() => null);
    if (found !== null) page.value = mergePage(page.peek(), found);
    if (found?.clips.some((clip) => isBeingMade(clip) || isBehind(page.peek(), clip)) === false) attempts = 0;
    else readLater();
  }

  function readLater(): void {
    if (isWaiting) return;
    isWaiting = true;
    attempts += 1;
    wait(delayBefore(attempts, BACKOFF, random), ends).then(refreshAgain, () => undefined); // or the page was left
  }

  const refresh = createRefresh({ read, wait, ends });

  function refreshAgain(): void {
    isWaiting = false;
    refresh();
  }

  return {
    page,
    load: read,
    onEvent(event) {
      const before = page.peek();
      page.value = applyEvent(before, event);
      const isNew = !before.clips.some(({ artifactHash }) => artifactHash === event.artifactHash);
      if (isNew || (page.peek() !== before && STAGES_TO_READ.has(event.stage))) refresh();
    },
    onGap: refresh,
    async remove(clip) {
      await deleteClip(request, clip);
      page.value = withoutClip(page.peek(), clip.artifactHash);
    },
    posterFailed: (clip) => (page.value = withoutPoster(page.peek(), clip)),
  };
}

async function readClips(request: Request, streamId: string | null): Promise<ClipPage> {
  const { edges, totalCount } = (await request(ClipsDocument, { streamId, first: MOST_SHOWN })).clipsConnection;
  return { clips: edges.map(({ node }) => node), totalCount };
}

async function deleteClip(request: Request, clip: Clip): Promise<void> {
  try {
    const answer = (await request(DeleteClipDocument, { artifactHash: clip.artifactHash })).deleteClip;
    expectAnswer(answer, "DeletedClip");
  } catch (error) {
    if (!hasCode(error, "not_found")) throw error; // somebody else was faster
  }
}
