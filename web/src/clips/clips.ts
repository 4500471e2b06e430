/**
 * The newest clips, read again while some are on their way.
 * Invariant: bounded. What rests is not asked for, and what takes long is asked for ever more rarely.
 */
import type { Signal } from "@preact/signals";
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import { ClipsDocument, DeleteClipDocument, type ClipFieldsFragment, type ClipsQuery } from "../api/generated";
import { hasCode } from "../kernel/problem";
import { delayBefore, type Wait } from "../kernel/waiting";

export type Clip = ClipFieldsFragment;

export interface ClipPage {
  readonly clips: readonly Clip[];
  readonly totalCount: number;
}

export const NO_CLIPS: ClipPage = { clips: [], totalCount: 0 };
const MOST_SHOWN = 20;
const PATIENCE = { firstMs: 1000, mostMs: 15_000 };
const UNDER_WAY = new Set<string | null>(["requested", "processing", null]);

export interface ClipReads {
  read(): Promise<ClipPage>;
  readonly wait: Wait;
  readonly random: () => number;
}

export async function readClips(request: Request): Promise<ClipPage> {
  return pageOf((await request(ClipsDocument, { first: MOST_SHOWN })).clipsConnection);
}

function pageOf({ edges, totalCount }: ClipsQuery["clipsConnection"]): ClipPage {
  return { clips: edges.map(({ node }) => node), totalCount };
}

/** Until none is on its way, or the page is left. */
export async function followClips(page: Signal<ClipPage>, reads: ClipReads, ends: AbortSignal): Promise<void> {
  const isOver = () => ends.aborted;
  for (let attempt = 1; !isOver(); attempt += 1) {
    const found = await reads.read().catch(() => null);
    if (isOver()) return;
    if (found !== null) page.value = found;
    if (found !== null && !found.clips.some(({ status }) => UNDER_WAY.has(status))) return;
    await reads.wait(delayBefore(attempt, PATIENCE, reads.random), ends).catch(() => undefined);
  }
}

export async function deleteClip(request: Request, clip: Clip): Promise<void> {
  try {
    const answer = (await request(DeleteClipDocument, { artifactHash: clip.artifactHash })).deleteClip;
    expectAnswer(answer, "DeletedClip");
  } catch (error) {
    if (!hasCode(error, "not_found")) throw error; // somebody else was faster
  }
}

export function withoutClip(page: ClipPage, gone: Clip): ClipPage {
  const clips = page.clips.filter(({ artifactHash }) => artifactHash !== gone.artifactHash);
  return { clips, totalCount: page.totalCount - (page.clips.length - clips.length) };
}

/** Its signed address has expired: the next read brings another one. */
export function withoutPoster(page: ClipPage, { artifactHash }: Clip): ClipPage {
  const clips = page.clips.map((clip) => (clip.artifactHash === artifactHash ? { ...clip, posterUrl: null } : clip));
  return { ...page, clips };
}
