/** Addresses of the page and what they mean. Pure. */

export type Route =
  | { readonly page: "library" }
  | { readonly page: "matches"; readonly query: string }
  | { readonly page: "search"; readonly query: string } // as it stands behind the question mark
  | { readonly page: "watch"; readonly playbackId: string; readonly startMs: number }
  | { readonly page: "jobs"; readonly query: string }
  | { readonly page: "job"; readonly jobId: string }
  | { readonly page: "sessions"; readonly query: string }
  | { readonly page: "session"; readonly sessionId: string }
  | { readonly page: "storage"; readonly query: string }
  | { readonly page: "stored"; readonly artifactHash: string }
  | { readonly page: "live" }
  | { readonly page: "stream"; readonly streamId: string }
  | { readonly page: "sign-in" }
  | { readonly page: "unknown" };

/** As the database has them; matched without case. */
const PLAYBACK_ID = /^\/watch\/([a-z0-9]{16})$/i;
const JOB_ID = /^\/jobs\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const STREAM_ID = /^\/live\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const SESSION_ID = /^\/sessions\/([^/]+)$/;
const STORED = /^\/storage\/([0-9a-f]{32})$/;
export const MATCHES_PATH = "/matches";
export const SEARCH_PATH = "/search";
export const SESSIONS_PATH = "/sessions";
export const LIVE_PATH = "/live";
export const STORAGE_PATH = "/storage";

/** Addresses that say all by themselves. */
const PLAIN = new Map<string, Route>([
  ["/", { page: "library" }],
  ["/sign-in", { page: "sign-in" }],
  [LIVE_PATH, { page: "live" }],
]);

export function routeOf(address: string): Route {
  const [path = "", query = ""] = address.split(/[?#]/, 2);
  const plain = PLAIN.get(path);
  if (plain !== undefined) return plain;
  switch (path) {
    case MATCHES_PATH:
      return { page: "matches", query };
    case SEARCH_PATH:
      return { page: "search", query };
    case "/jobs":
      return { page: "jobs", query };
    case SESSIONS_PATH:
      return { page: "sessions", query };
    case STORAGE_PATH:
      return { page: "storage", query };
    default:
      return thing(path, query);
  }
}

function thing(path: string, query: string): Route {
  const playbackId = PLAYBACK_ID.exec(path)?.[1];
  if (playbackId !== undefined) return { page: "watch", playbackId: playbackId.toLowerCase(), startMs: startOf(query) };
  const found = thingById(path);
  if (found !== null) return found;
  const sessionId = decoded(SESSION_ID.exec(path)?.[1] ?? "");
  return sessionId === "" ? { page: "unknown" } : { page: "session", sessionId };
}

function thingById(path: string): Route | null {
  const jobId = JOB_ID.exec(path)?.[1];
  if (jobId !== undefined) return { page: "job", jobId };
  const streamId = STREAM_ID.exec(path)?.[1];
  if (streamId !== undefined) return { page: "stream", streamId };
  const artifactHash = STORED.exec(path)?.[1];
  return artifactHash === undefined ? null : { page: "stored", artifactHash };
}

/** Any text can be an id. One that is not written as addresses are is none. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** Where a link wants the video to start; what is no number of milliseconds is the beginning. */
function startOf(query: string): number {
  const start = new URLSearchParams(query).get("t") ?? "";
  return /^\d{1,10}$/.test(start) ? Number(start) : 0;
}

export function watchPath(playbackId: string, startMs = 0): string {
  const start = Math.round(startMs);
  return `/watch/${playbackId}${start > 0 ? `?t=${start}` : ""}`;
}

export function jobPath(jobId: string): string {
  return `/jobs/${jobId}`;
}

export function streamPath(streamId: string): string {
  return `${LIVE_PATH}/${streamId}`;
}

export function storedPath(artifactHash: string): string {
  return `${STORAGE_PATH}/${artifactHash}`;
}

export function sessionPath(sessionId: string): string {
  return `${SESSIONS_PATH}/${encodeURIComponent(sessionId)}`;
}

/** Where to sign in, and where to go on afterwards. */
export function signInPath(wanted: string): string {
  return wanted === "/" || wanted.startsWith("/sign-in") ? "/sign-in" : `/sign-in?next=${encodeURIComponent(wanted)}`;
}

/** Only addresses of this page: a link must not send anybody elsewhere after they signed in. */
export function nextPath(search: string): string {
  const next = new URLSearchParams(search).get("next") ?? "/";
  const route = next.startsWith("/") ? routeOf(next.replace(/\?.*$/, "")) : { page: "unknown" };
  return route.page === "unknown" || route.page === "sign-in" ? "/" : next;
}
