/**
 * What of two reports about one video is true.
 * Invariant: states never go back. The highest revision has the say over the lifecycle, and that of the title over the
 * title, whichever way and in whichever order reports come; null in a report is "not said", never "no longer".
 */
import type { LifecycleEvent } from "../live/socket";
import type { Video } from "./model";

/** The stage of an event that tells of a new title, and of nothing else. */
export const RENAMED = "renamed";

export function mergeRead(known: Video | undefined, read: Video): Video {
  if (known === undefined) return read;
  if (staysDeleted(known, read.revision)) return known;
  const business = { ...read, ...latestTitle(known, read), posterUrl: known.posterUrl ?? read.posterUrl };
  if (!read.lifecycleKnown || read.revision < revisionOf(known)) return { ...business, ...lifecycleOf(known) };
  return {
    ...business,
    sizeBytes: read.sizeBytes ?? known.sizeBytes,
    durationMs: read.durationMs ?? known.durationMs,
    progressPercent: read.revision === known.revision ? furthest(read, known) : read.progressPercent,
  };
}

export function mergeEvent(known: Video, event: LifecycleEvent): Video {
  const titled = withTitle(known, event);
  return event.stage === RENAMED ? titled : withStage(titled, event);
}

function withTitle(known: Video, { title, titleRevision }: LifecycleEvent): Video {
  if (title === null || titleRevision === null || titleRevision <= known.titleRevision) return known;
  return { ...known, title, titleRevision };
}

function withStage(known: Video, event: LifecycleEvent): Video {
  if (event.revision < revisionOf(known) || staysDeleted(known, event.revision)) return known;
  const reported = { status: event.stage, progressPercent: event.progressPercent };
  return {
    ...known,
    ...reported,
    // Reports of one revision differ in progress only, and may overtake what was read from the list.
    progressPercent: event.revision === known.revision ? furthest(reported, known) : event.progressPercent,
    sizeBytes: event.sizeBytes ?? known.sizeBytes,
    durationMs: event.durationMs ?? known.durationMs,
    errorCode: event.errorCode,
    errorMessage: event.error,
    revision: event.revision,
    lifecycleKnown: true,
  };
}

function latestTitle(known: Video, read: Video): Pick<Video, "title" | "titleRevision"> {
  const { title, titleRevision } = read.titleRevision < known.titleRevision ? known : read;
  return { title, titleRevision };
}

/** Whose lifecycle is unknown has nothing to defend. */
function revisionOf(known: Video): number {
  return known.lifecycleKnown ? known.revision : -1;
}

/** A late report does not revive what was deleted; only a newer one could. */
function staysDeleted(known: Video, revision: number): boolean {
  return known.status === "deleted" && revision <= known.revision;
}

function lifecycleOf(video: Video): Partial<Video> {
  const { status, progressPercent, sizeBytes, durationMs, errorCode, errorMessage, revision, lifecycleKnown } = video;
  return { status, progressPercent, sizeBytes, durationMs, errorCode, errorMessage, revision, lifecycleKnown };
}

type Progress = Pick<Video, "status" | "progressPercent">;

function furthest(one: Progress, other: Progress): number | null {
  if (one.status !== other.status || other.progressPercent === null) return one.progressPercent;
  return Math.max(one.progressPercent ?? 0, other.progressPercent);
}

/** Newest first, the order of the list; the hash decides between equals, so that rows do not jump. */
export function compareVideos(one: Video, other: Video): number {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt ? 1 : -1;
  return one.artifactHash < other.artifactHash ? 1 : -1;
}

export function isPlayable(video: Video): boolean {
  return video.status === "ready";
}

/** Nothing more is to come of it by itself. Whose life is unknown may be anywhere in it. */
export function isSettled({ status, lifecycleKnown }: Video): boolean {
  return lifecycleKnown && (status === "ready" || status === "failed" || status === "deleted");
}

export function isUnfinishedUpload(video: Video): boolean {
  return video.status === "uploading";
}
