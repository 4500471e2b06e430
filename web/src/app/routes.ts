/** Addresses of the page and what they mean. Pure. */

export type Route =
  | { readonly page: "library" }
  | { readonly page: "watch"; readonly playbackId: string }
  | { readonly page: "jobs" }
  | { readonly page: "job"; readonly jobId: string }
  | { readonly page: "sign-in" }
  | { readonly page: "unknown" };

/** As the database has them; matched without case. */
const PLAYBACK_ID = /^[a-z0-9]{16}$/;
const JOB_ID = /^\/jobs\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

export function routeOf(path: string): Route {
  if (path === "/") return { page: "library" };
  if (path === "/sign-in") return { page: "sign-in" };
  if (path === "/jobs") return { page: "jobs" };
  const jobId = JOB_ID.exec(path)?.[1];
  if (jobId !== undefined) return { page: "job", jobId };
  const playbackId = /^\/watch\/([^/]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return PLAYBACK_ID.test(playbackId) ? { page: "watch", playbackId } : { page: "unknown" };
}

export function watchPath(playbackId: string): string {
  return `/watch/${playbackId}`;
}

export function jobPath(jobId: string): string {
  return `/jobs/${jobId}`;
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
