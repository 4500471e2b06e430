/**
 * Reads single videos that events speak of: new ones, and those that have more to show since they are ready.
 * Invariant: bounded, however many events come. Many at once are one read of the list; the lifecycle that is read may
 * lag behind the event that told of it, so a video is read again until both agree, a few times at most.
 */
import type { Wait } from "../kernel/waiting";
import type { Video } from "./model";

export interface ReaderParts {
  read(artifactHash: string): Promise<Video | null>;
  readList(): Promise<void>;
  onVideo(video: Video): void;
  readonly wait: Wait;
  readonly ends: AbortSignal;
}

const GATHER_MS = 100;
const MOST_SINGLE_READS = 6;
const MOST_ATTEMPTS = 6;
const FIRST_PAUSE_MS = 400;

export function createReader(parts: ReaderParts) {
  const wanted = new Map<string, number>();
  let gathering = false;

  async function readUntil(artifactHash: string, revision: number): Promise<void> {
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
      const video = await parts.read(artifactHash).catch(() => undefined);
      if (video === null) return; // deleted meanwhile
      if (video !== undefined) parts.onVideo(video);
      if (video !== undefined && video.revision >= revision) return;
      await parts.wait(FIRST_PAUSE_MS * 2 ** (attempt - 1), parts.ends);
    }
  }

  async function readGathered(): Promise<void> {
    await parts.wait(GATHER_MS, parts.ends);
    gathering = false;
    const batch = [...wanted];
    wanted.clear();
    if (batch.length > MOST_SINGLE_READS) await parts.readList();
    else await Promise.all(batch.map(([artifactHash, revision]) => readUntil(artifactHash, revision)));
  }

  return {
    /** Wants the video as it is at this revision or later. */
    want(artifactHash: string, revision: number): void {
      wanted.set(artifactHash, Math.max(revision, wanted.get(artifactHash) ?? 0));
      if (gathering) return;
      gathering = true;
      readGathered().catch(() => undefined); // only the end of the page interrupts it
    },
  };
}
