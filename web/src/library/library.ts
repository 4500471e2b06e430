/**
 * The list of videos: read by pages, kept current by events. Decisions are in catalogue.ts and rules.ts.
 * Invariant: what is read may lag behind the log, and events are told from the moment of listening on. A page with a
 * video that is still on its way is therefore read again, ever more rarely: its end may be in neither.
 */
import { computed, signal, type ReadonlySignal } from "@preact/signals";
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import {
  AbortUploadDocument,
  DeleteVideoDocument,
  UndeleteArtifactDocument,
  VideoDocument,
  VideosDocument,
} from "../api/generated";
import { attempt, type Loading } from "../kernel/loading";
import { withRetries } from "../kernel/retry";
import { hasCode } from "../kernel/problem";
import { delayBefore, type Wait } from "../kernel/waiting";
import type { LiveListener } from "../live/live";
import type { LifecycleEvent } from "../live/socket";
import { addPage, addVideo, applyEvent, dropPoster, EMPTY, refreshPage, removeVideo, shownVideos } from "./catalogue";
import type { Video, VideoPage } from "./model";
import { createReader } from "./reader";
import { isSettled, isUnfinishedUpload } from "./rules";

export interface Library extends LiveListener {
  readonly videos: ReadonlySignal<readonly Video[]>;
  readonly totalCount: ReadonlySignal<number>;
  readonly complete: ReadonlySignal<boolean>;
  /** The list as a whole, while there is nothing to show yet. */
  readonly first: ReadonlySignal<Loading>;
  /** The next page. */
  readonly more: ReadonlySignal<Loading>;
  /** Rises whenever some video has become ready or has failed. */
  readonly settled: ReadonlySignal<number>;
  readonly loadFirst: () => Promise<void>;
  readonly loadMore: () => Promise<void>;
  readonly video: (artifactHash: string) => Video | undefined;
  readonly add: (video: Video) => void;
  /** Reads this one video again. */
  readonly refresh: (artifactHash: string) => void;
  readonly posterFailed: (video: Video) => void;
  readonly remove: (video: Video) => Promise<void>;
  /** Events bring it back onto the page, as they do to everybody. */
  readonly undelete: (video: Video) => Promise<void>;
}

export interface LibraryParts {
  readonly request: Request;
  readonly wait: Wait;
  readonly random: () => number;
  readonly ends: AbortSignal;
}

const PAGE_SIZE = 50;
const UNSETTLED = { firstMs: 5_000, mostMs: 60_000 };
/** One for an address that expired, one more for luck. */
const MOST_POSTER_FAILURES = 3;
/** Lifecycle facts that come with these stages are worth reading: poster, size, pictures. */
const STAGES_TO_READ = new Set(["ready", "failed"]);

export function createLibrary({ request, wait, random, ends }: LibraryParts): Library {
  const catalogue = signal(EMPTY);
  const first = signal<Loading>({ kind: "loading" });
  const more = signal<Loading>({ kind: "idle" });
  const settled = signal(0);
  const videos = computed(() => shownVideos(catalogue.value));
  const unsettledPages = new Set<string | null>();
  const posterFailures = new Map<string, number>();

  const retryPolicy = { attempts: 5, backoff: { firstMs: 1000, mostMs: 15_000 }, wait, random, signal: ends };

  async function fetchPage(after: string | null): Promise<VideoPage> {
    return (await request(VideosDocument, { page: { first: PAGE_SIZE, after } })).vodsConnection;
  }

  async function readPage(after: string | null): Promise<void> {
    const page = await fetchPage(after);
    catalogue.value = addPage(catalogue.peek(), page, after);
    if (isUnsettled(page)) readAgain(after).catch(ignore);
  }

  /** Until every state is known and none is on its way. One loop a page, however often the page is read. */
  async function readAgain(after: string | null): Promise<void> {
    if (unsettledPages.has(after)) return;
    unsettledPages.add(after);
    for (let attempt = 1; unsettledPages.has(after); attempt += 1) {
      await wait(delayBefore(attempt, UNSETTLED, random), ends);
      const page = await fetchPage(after).catch(() => null);
      if (page === null) continue;
      catalogue.value = refreshPage(catalogue.peek(), page);
      if (!isUnsettled(page)) unsettledPages.delete(after);
    }
  }

  const reader = createReader({
    read: async (artifactHash) => (await request(VideoDocument, { artifactHash })).vod,
    readList: () => readPage(null),
    onVideo: add,
    wait,
    ends,
  });

  function add(video: Video): void {
    catalogue.value = addVideo(catalogue.peek(), video);
  }

  function onEvent(event: LifecycleEvent): void {
    const before = catalogue.peek();
    const isNew = !before.videos.has(event.artifactHash);
    catalogue.value = applyEvent(before, event);
    if (!isNew && catalogue.peek() === before) return; // known better already
    const isSettled = STAGES_TO_READ.has(event.stage);
    if (isSettled) settled.value += 1;
    if (isSettled || (isNew && event.stage !== "deleted")) reader.want(event.artifactHash, event.revision);
  }

  return {
    videos,
    totalCount: computed(() => (catalogue.value.complete ? videos.value.length : catalogue.value.totalCount)),
    complete: computed(() => catalogue.value.complete),
    first,
    more,
    settled,
    loadFirst: () => attempt(first, () => readPage(null)),
    async loadMore() {
      const { endCursor, complete } = catalogue.peek();
      if (complete || endCursor === null || more.peek().kind === "loading") return;
      await attempt(more, () => readPage(endCursor));
    },
    video: (artifactHash) => catalogue.value.videos.get(artifactHash),
    add,
    refresh: (artifactHash) => reader.want(artifactHash, 0),
    posterFailed(video) {
      const failures = (posterFailures.get(video.artifactHash) ?? 0) + 1;
      posterFailures.set(video.artifactHash, failures);
      catalogue.value = dropPoster(catalogue.peek(), video.artifactHash);
      if (failures < MOST_POSTER_FAILURES) reader.want(video.artifactHash, 0);
    },
    async remove(video) {
      await removeFrom(request, video);
      catalogue.value = removeVideo(catalogue.peek(), video.artifactHash);
    },
    async undelete({ artifactHash }) {
      const answer = (await request(UndeleteArtifactDocument, { artifactHash })).undeleteArtifact;
      expectAnswer(answer, "UndeletedArtifact");
    },
    onEvent,
    // The list that is there already may be older than the stream: what happened between the two is in neither.
    onGap: () =>
      void withRetries(() => readPage(null), retryPolicy).then(() => (first.value = { kind: "idle" }), ignore),
  };
}

/** An upload that nobody finishes is aborted, which frees its parts; everything else is deleted. */
async function removeFrom(request: Request, video: Video): Promise<void> {
  const { artifactHash } = video;
  try {
    if (isUnfinishedUpload(video)) {
      expectAnswer((await request(AbortUploadDocument, { artifactHash })).abortVodUpload, "DeletedVod");
    } else {
      expectAnswer((await request(DeleteVideoDocument, { artifactHash })).deleteVod, "DeletedVod");
    }
  } catch (error) {
    if (!hasCode(error, "not_found")) throw error; // somebody else was faster
  }
}

function isUnsettled(page: VideoPage): boolean {
  return page.edges.some(({ node }) => !isSettled(node));
}

function ignore(): void {
  // The failure shows elsewhere: as the state of the connection, or with the next thing that is asked for.
}
