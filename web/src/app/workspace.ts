/**
 * All that belongs to one person in one tenant: their library, their search, their uploads, their live connection.
 * Invariant: it ends with them. Whoever signs in next gets a new one, with nothing of the old one in it.
 */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ReadonlySignal } from "@preact/signals";
import { createRequest, type Request } from "../api/client";
import { createDownload, type Download } from "../api/download";
import { post } from "../api/http";
import { wait } from "../kernel/waiting";
import { createLibrary, type Library } from "../library/library";
import type { LiveState } from "../live/follow";
import { createFeed, type Feed } from "../live/feed";
import { goLive } from "../live/live";
import {
  CLIPS,
  JOBS,
  MATCHES,
  RECORDINGS,
  STORAGE,
  STREAMS,
  type ClipEvent,
  type JobEvent,
  type MatchEvent,
  type RecordingEvent,
  type StorageEvent,
  type StreamEvent,
} from "../live/socket";
import { mayChange, type Identity } from "../session/model";
import type { Session } from "../session/session";
import { createClipping, type Clipping } from "../search/clipping";
import { createSearch, type Search } from "../search/search";
import { createUploadDoor } from "../uploads/door";
import { UploadRecords } from "../uploads/records";
import { createUploads, type Uploads } from "../uploads/uploads";
import { tell, tellProblem } from "./messages";

export interface Workspace {
  readonly identity: Identity;
  readonly mayChange: boolean;
  readonly request: Request;
  readonly download: Download;
  readonly library: Library;
  readonly search: Search;
  readonly clipping: Clipping;
  readonly uploads: Uploads;
  readonly live: ReadonlySignal<LiveState>;
  readonly clipFeed: Feed<ClipEvent>;
  readonly jobFeed: Feed<JobEvent>;
  readonly matchFeed: Feed<MatchEvent>;
  readonly storageFeed: Feed<StorageEvent>;
  readonly streamFeed: Feed<StreamEvent>;
  readonly recordingFeed: Feed<RecordingEvent>;
  readonly end: () => void;
}

export function createWorkspace(session: Session, identity: Identity): Workspace {
  const life = new AbortController();
  const request = createRequest(session, post);
  const pace = { wait, random: Math.random, ends: life.signal };
  const library = createLibrary({ request, ...pace });
  const records = new UploadRecords(localStorage, `${identity.tenant.id}.${identity.user.id}`, Date.now);
  const door = createUploadDoor(request);
  const uploads = createUploads({ door, records, ends: life.signal, onVideo: library.add });
  const live = goLive(session, library, life.signal);
  void library.loadFirst();
  const clipFeed = createFeed(session, life.signal, CLIPS);
  const jobFeed = createFeed(session, life.signal, JOBS);
  const matchFeed = createFeed(session, life.signal, MATCHES);
  const storageFeed = createFeed(session, life.signal, STORAGE);
  const streamFeed = createFeed(session, life.signal, STREAMS);
  const recordingFeed = createFeed(session, life.signal, RECORDINGS);
  const search = createSearch(request);
  const clipping = createClipping({ request, feed: clipFeed, tell, tellProblem, ...pace });
  const download = createDownload(session);
  const parts = {
    request,
    download,
    library,
    search,
    clipping,
    uploads,
    live,
    clipFeed,
    jobFeed,
    matchFeed,
    storageFeed,
    streamFeed,
    recordingFeed,
  };
  return { ...parts, identity, mayChange: mayChange(identity), end: () => life.abort() };
}

export const WorkspaceContext = createContext<Workspace | null>(null);

export function useWorkspace(): Workspace {
  const workspace = useContext(WorkspaceContext);
  if (workspace === null) throw new Error("there is no workspace outside of a signed-in page");
  return workspace;
}
