/**
 * All videos that the page has heard of, and how far down the list it has read. Pure.
 * Invariant: a deleted video stays known as deleted, so that an answer that was on its way does not bring it back.
 */
import type { LifecycleEvent } from "../live/socket";
import type { Video, VideoPage } from "./model";
import { compareVideos, mergeEvent, mergeRead } from "./rules";

export interface Catalogue {
  readonly videos: ReadonlyMap<string, Video>;
  readonly totalCount: number;
  /** Where the next page begins; null before the first one and after the last one. */
  readonly endCursor: string | null;
  readonly complete: boolean;
  /** The last video of the pages read: what is older has its place on a page that is not here yet. */
  readonly horizon: Video | null;
}

export const EMPTY: Catalogue = { videos: new Map(), totalCount: 0, endCursor: null, complete: false, horizon: null };

export function addPage(catalogue: Catalogue, page: VideoPage, after: string | null): Catalogue {
  if (after === null && catalogue.horizon !== null) return rereadFirstPage(catalogue, page);
  // The list has begun anew since this page was asked for: it would leave a hole above itself.
  if (after !== catalogue.endCursor) return refreshPage(catalogue, page);
  return { ...catalogue, ...pagingOf(page, catalogue.horizon), videos: merged(catalogue.videos, page) };
}

/** A page once more, for what was unknown the first time. */
export function refreshPage(catalogue: Catalogue, page: VideoPage): Catalogue {
  return { ...catalogue, videos: merged(catalogue.videos, page) };
}

/** The pages below are kept, unless so much is new that there is a hole between them and this one. */
function rereadFirstPage(catalogue: Catalogue, page: VideoPage): Catalogue {
  const videos = merged(catalogue.videos, page);
  for (const video of unlistedVideos(catalogue, page)) videos.delete(video.artifactHash);
  const last = page.edges.at(-1)?.node;
  const meetsKnown = last === undefined || catalogue.videos.has(last.artifactHash);
  const paging = meetsKnown && page.pageInfo.hasNextPage ? {} : pagingOf(page, null);
  return { ...catalogue, ...paging, videos, totalCount: page.totalCount };
}

/** What the page should list and does not was deleted while nobody told us. What is newer than the page may stay. */
function unlistedVideos(catalogue: Catalogue, page: VideoPage): Video[] {
  const listed = new Set(page.edges.map(({ node }) => node.artifactHash));
  const first = page.edges[0]?.node;
  const last = page.pageInfo.hasNextPage ? page.edges.at(-1)?.node : undefined;
  return [...catalogue.videos.values()].filter(
    (video) =>
      !listed.has(video.artifactHash) &&
      video.status !== "deleted" &&
      (first === undefined || compareVideos(video, first) > 0) &&
      (last === undefined || compareVideos(video, last) < 0),
  );
}

function merged(videos: ReadonlyMap<string, Video>, page: VideoPage): Map<string, Video> {
  const next = new Map(videos);
  for (const { node } of page.edges) next.set(node.artifactHash, mergeRead(videos.get(node.artifactHash), node));
  return next;
}

function pagingOf({ edges, pageInfo, totalCount }: VideoPage, horizon: Video | null) {
  const last = edges.at(-1)?.node ?? horizon;
  return { totalCount, endCursor: pageInfo.endCursor, complete: !pageInfo.hasNextPage, horizon: last };
}

export function addVideo(catalogue: Catalogue, video: Video): Catalogue {
  const known = catalogue.videos.get(video.artifactHash);
  const videos = new Map(catalogue.videos).set(video.artifactHash, mergeRead(known, video));
  const isNew = known === undefined && isAbove(video, catalogue.horizon);
  return { ...catalogue, videos, totalCount: catalogue.totalCount + (isNew ? 1 : 0) };
}

/** Events about videos that are not known change nothing: they are read first. */
export function applyEvent(catalogue: Catalogue, event: LifecycleEvent): Catalogue {
  const known = catalogue.videos.get(event.artifactHash);
  if (known === undefined) return catalogue;
  const next = mergeEvent(known, event);
  return next === known ? catalogue : replace(catalogue, known, next);
}

export function removeVideo(catalogue: Catalogue, artifactHash: string): Catalogue {
  const known = catalogue.videos.get(artifactHash);
  return known === undefined ? catalogue : replace(catalogue, known, { ...known, status: "deleted" });
}

/** Its signed address has expired or leads nowhere: the next read brings another one. */
export function dropPoster(catalogue: Catalogue, artifactHash: string): Catalogue {
  const known = catalogue.videos.get(artifactHash);
  return known === undefined ? catalogue : replace(catalogue, known, { ...known, posterUrl: null });
}

export function shownVideos({ videos, complete, horizon }: Catalogue): Video[] {
  return [...videos.values()]
    .filter((video) => video.status !== "deleted" && (complete || isAbove(video, horizon)))
    .sort(compareVideos);
}

function isAbove(video: Video, horizon: Video | null): boolean {
  return horizon === null || compareVideos(video, horizon) <= 0 || video.artifactHash === horizon.artifactHash;
}

function replace(catalogue: Catalogue, known: Video, next: Video): Catalogue {
  const gone = known.status !== "deleted" && next.status === "deleted";
  return {
    ...catalogue,
    videos: new Map(catalogue.videos).set(next.artifactHash, next),
    totalCount: catalogue.totalCount - (gone ? 1 : 0),
  };
}
