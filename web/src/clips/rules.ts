/**
 * What of two reports about one clip is true. Pure.
 * Invariant: states never go back. The highest revision has the say, whichever way reports come.
 */
import type { ClipFieldsFragment } from "../api/generated";
import type { ClipEvent } from "../live/socket";

export type Clip = ClipFieldsFragment;

export interface ClipPage {
  readonly clips: readonly Clip[];
  readonly totalCount: number;
}

export const NO_CLIPS: ClipPage = { clips: [], totalCount: 0 };

/** The page that was read, with what is known better already. Pictures keep their addresses, so they do not flicker. */
export function mergePage(known: ClipPage, read: ClipPage): ClipPage {
  return { ...read, clips: read.clips.map((clip) => merge(find(known, clip.artifactHash), clip)) };
}

function merge(known: Clip | undefined, read: Clip): Clip {
  if (known === undefined) return read;
  const posterUrl = known.posterUrl ?? read.posterUrl;
  if (read.lifecycleKnown && read.revision >= revisionOf(known)) return { ...read, posterUrl };
  const { status, progressPercent, durationMs, errorCode, errorMessage, revision, lifecycleKnown } = known;
  return { ...read, posterUrl, status, progressPercent, durationMs, errorCode, errorMessage, revision, lifecycleKnown };
}

/** An event about a clip that is not here changes nothing: it is read first. */
export function applyEvent(page: ClipPage, event: ClipEvent): ClipPage {
  const known = find(page, event.artifactHash);
  if (known === undefined || event.revision <= revisionOf(known)) return page;
  if (event.stage === "deleted") return withoutClip(page, event.artifactHash);
  const next = {
    ...known,
    status: event.stage,
    progressPercent: event.progressPercent,
    durationMs: event.durationMs ?? known.durationMs,
    errorCode: event.errorCode,
    errorMessage: event.error,
    revision: event.revision,
    lifecycleKnown: true,
  };
  return { ...page, clips: page.clips.map((clip) => (clip === known ? next : clip)) };
}

/** Whether what was read of it lags behind what is shown, or says nothing of its life at all. */
export function isBehind(shown: ClipPage, read: Clip): boolean {
  return !read.lifecycleKnown || read.revision < (find(shown, read.artifactHash)?.revision ?? 0);
}

export function isBeingMade({ status }: Clip): boolean {
  return status !== "ready" && status !== "failed";
}

export function withoutClip(page: ClipPage, gone: string): ClipPage {
  const clips = page.clips.filter(({ artifactHash }) => artifactHash !== gone);
  return { clips, totalCount: page.totalCount - (page.clips.length - clips.length) };
}

/** Its signed address has expired: the next read brings another one. */
export function withoutPoster(page: ClipPage, { artifactHash }: Clip): ClipPage {
  const clips = page.clips.map((clip) => (clip.artifactHash === artifactHash ? { ...clip, posterUrl: null } : clip));
  return { ...page, clips };
}

function find(page: ClipPage, wanted: string): Clip | undefined {
  return page.clips.find(({ artifactHash }) => artifactHash === wanted);
}

/** Whose lifecycle is unknown has nothing to defend. */
function revisionOf(known: Clip): number {
  return known.lifecycleKnown ? known.revision : -1;
}
