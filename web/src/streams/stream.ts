/** One stream with its recordings: read when something happens to either, and every few seconds while it is published. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { StreamDocument } from "../api/generated";
import { attempt, type Loading } from "../kernel/loading";
import { createRefresh } from "../kernel/refresh";
import { wait } from "../kernel/waiting";
import type { Listener } from "../live/feed";
import type { StreamEvent } from "../live/socket";
import { isPublished, type Recording, type Stream } from "./model";
import { repeatWhile } from "./repeat";

export interface StreamView {
  /** Null: there is none under this id. */
  readonly stream: Stream | null;
  readonly recordings: readonly Recording[];
  readonly recordingCount: number;
}

export interface StreamSource extends Listener<StreamEvent> {
  readonly view: ReadonlySignal<StreamView | null>;
  readonly loading: ReadonlySignal<Loading>;
  readonly load: () => Promise<void>;
  readonly refresh: () => void;
}

const MOST_RECORDINGS = 20;

export function createStream(request: Request, streamId: string, ends: AbortSignal): StreamSource {
  const view = signal<StreamView | null>(null);
  const loading = signal<Loading>({ kind: "loading" });

  async function read(): Promise<void> {
    const found = await request(StreamDocument, { streamId, recordings: MOST_RECORDINGS });
    const { edges, totalCount } = found.dvrRecordingsConnection;
    view.value = { stream: found.stream, recordings: edges.map(({ node }) => node), recordingCount: totalCount };
  }

  const refresh = createRefresh({ read, wait, ends });
  repeatWhile(() => isPublishedNow(view.peek()), refresh, ends);
  return {
    view,
    loading,
    load: () => attempt(loading, read),
    refresh,
    onEvent: (event) => event.streamId === streamId && refresh(),
    onGap: refresh,
  };
}

function isPublishedNow(view: StreamView | null): boolean {
  const stream = view?.stream ?? null;
  return stream !== null && isPublished(stream);
}
