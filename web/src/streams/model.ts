/** What the live page shows, as the API says it. */
import type { RecordingFieldsFragment, StreamFieldsFragment } from "../api/generated";

export type Stream = StreamFieldsFragment;
export type Health = NonNullable<Stream["health"]>;
export type Recording = RecordingFieldsFragment;

const PUBLISHED = new Set(["starting", "live", "interrupted"]);
const PLAYABLE = new Set(["live", "interrupted"]);
// Null: it is so new that no event has told of it yet.
const RECORDED = new Set<string | null>([null, "starting", "recording", "stopping"]);

/** An encoder is there, or may come back. */
export function isPublished({ state }: Pick<Stream, "state">): boolean {
  return PUBLISHED.has(state);
}

export function isPlayable({ state }: Pick<Stream, "state">): boolean {
  return PLAYABLE.has(state);
}

/** Those that are live first, the one that began last before the others; then the newest first. */
export function ordered(streams: readonly Stream[]): Stream[] {
  const began = ({ liveSince, createdAt }: Stream) => Date.parse(liveSince ?? createdAt);
  return [...streams].sort(
    (one, other) => Number(isPublished(other)) - Number(isPublished(one)) || began(other) - began(one),
  );
}

/** The recording that goes on, if any: a stream has one at a time. */
export function runningOf(recordings: readonly Recording[]): Recording | null {
  return recordings.find(({ status, endedAt }) => endedAt === null && RECORDED.has(status)) ?? null;
}

/** What an encoder asks for, under the names that OBS has for it. */
export interface PublishSettings {
  readonly protocol: "RTMP" | "SRT";
  readonly server: string;
  /** Null: the server's address carries it. */
  readonly streamKey: string | null;
}

/** Without a key the places that want one keep a word for it. */
export function publishSettings(urls: readonly string[], key: string | null): PublishSettings[] {
  return urls.flatMap((url): PublishSettings[] => {
    if (url.startsWith("rtmp://")) return [{ protocol: "RTMP", server: url, streamKey: key }];
    if (url.startsWith("srt://"))
      return [{ protocol: "SRT", server: `${url}?streamid=${key ?? "KEY"}`, streamKey: null }];
    return [];
  });
}
